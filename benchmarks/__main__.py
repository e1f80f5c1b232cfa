"""`python -m benchmarks`: the studies; without a command, the table of workloads."""

import os
from pathlib import Path
from typing import Annotated

import typer

from fairlead.cli.bench import Jobs, Processes, Rounds, Seconds, StoreUrl, run
from fairlead.cli.options import Json

ROOT = Path(__file__).resolve().parent.parent

app = typer.Typer(help=__doc__, pretty_exceptions_enable=False, add_completion=False)


@app.callback(invoke_without_command=True)
def main(context: typer.Context) -> None:
    """Let worker processes find this package; measure the workloads where nothing else is asked for."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    if context.invoked_subcommand is None:
        workloads()


@app.command()
def workloads(store: StoreUrl = None, jobs: Jobs = 200_000, rounds: Rounds = 3, as_json: Json = False) -> None:
    """The workloads that users see, with 1 and 2 worker processes; start-up time, memory, idle transactions."""
    from benchmarks.workloads import workloads

    run(store, as_json, lambda scratch: workloads(scratch, jobs, rounds))


@app.command()
def footprint(store: StoreUrl = None, rounds: Rounds = 5, seconds: Seconds = 30.0, as_json: Json = False) -> None:
    """What a worker costs before it works: start-up time, memory, idle transactions."""
    from benchmarks.footprint import footprint

    run(store, as_json, lambda scratch: footprint(scratch, rounds, seconds))


@app.command()
def floor(store: StoreUrl = None, jobs: Jobs = 200_000, as_json: Json = False) -> None:
    """The bare SQL loop on this store: insert, claim + settle, and all three."""
    from benchmarks.floor.report import floor

    run(store, as_json, lambda scratch: floor(scratch, jobs))


@app.command()
def shares(
    store: StoreUrl = None,
    jobs: Jobs = 200_000,
    processes: Processes = 2,
    concurrency: Annotated[int, typer.Option(min=1)] = 500,
    rounds: Rounds = 3,
    seconds: Seconds = 5.0,
    as_json: Json = False,
) -> None:
    """Drain, bulk submission and idle start beside the bare loop, as shares of it."""
    from benchmarks.shares import shares

    run(store, as_json, lambda scratch: shares(scratch, jobs, processes, concurrency, rounds, seconds))


@app.command()
def flow(
    store: StoreUrl = None,
    seconds: Seconds = 60.0,
    processes: Processes = 2,
    concurrency: Annotated[int, typer.Option(min=1)] = 500,
    as_json: Json = False,
) -> None:
    """Producers and workers at the same time: the sustained rate, and how long jobs wait."""
    from benchmarks.flow import flow

    run(store, as_json, lambda scratch: flow(scratch, seconds, processes, concurrency))


@app.command()
def growth(
    store: StoreUrl = None,
    jobs: Jobs = 100_000,
    large: Annotated[int, typer.Option(min=1, help="The size of backlog, history and closed lane.")] = 1_000_000,
    tenants: Annotated[int, typer.Option(min=1, help="Over how many tenants the jobs are spread.")] = 10_000,
    rounds: Rounds = 3,
    as_json: Json = False,
) -> None:
    """What a job costs with a large backlog, many tenants, a long history, or an idle transaction."""
    from benchmarks.growth import growth

    run(store, as_json, lambda scratch: growth(scratch, jobs, large, tenants, rounds))


@app.command()
def herd(
    store: StoreUrl = None,
    jobs: Jobs = 100_000,
    takes: Annotated[float, typer.Option(min=0.0, help="Seconds that each job of the other tenant takes.")] = 0.1,
    seconds: Seconds = 30.0,
    interval: Annotated[float, typer.Option(min=0.001, help="Seconds between two jobs of the small tenant.")] = 0.05,
    as_json: Json = False,
) -> None:
    """How soon a small tenant's jobs start beside a flood of another tenant's, ready or due at once."""
    from benchmarks.herd import herd

    run(store, as_json, lambda scratch: herd(scratch, jobs, takes, seconds, interval))


@app.command()
def lateness(
    store: StoreUrl = None,
    seconds: Seconds = 30.0,
    rate: Annotated[float, typer.Option(min=0.1, max=1_000, help="How many jobs are due a second.")] = 100.0,
    as_json: Json = False,
) -> None:
    """How late scheduled jobs start."""
    from benchmarks.herd import lateness

    run(store, as_json, lambda scratch: lateness(scratch, seconds, rate))


@app.command()
def poison(
    store: StoreUrl = None,
    jobs: Jobs = 300_000,
    poison_jobs: Annotated[int, typer.Option(min=1, help="How many jobs of a type that always fails.")] = 100_000,
    rounds: Rounds = 3,
    as_json: Json = False,
) -> None:
    """How much a job type that always fails slows a healthy one."""
    from benchmarks.poison import poison

    run(store, as_json, lambda scratch: poison(scratch, jobs, poison_jobs, rounds))


@app.command()
def fairness(
    store: StoreUrl = None,
    seconds: Seconds = 30.0,
    tenants: Annotated[int, typer.Option(min=2, max=10_000, help="How many tenants want all slots.")] = 12,
    weights: Annotated[str, typer.Option(help="The weights that tenants have in turn.")] = "1,2,3,5",
    processes: Processes = 2,
    concurrency: Annotated[int, typer.Option(min=1)] = 20,
    as_json: Json = False,
) -> None:
    """What each tenant gets of the slots against what it is entitled to."""
    from benchmarks.fairness import fairness

    given = [float(weight) for weight in weights.split(",")]
    run(store, as_json, lambda scratch: fairness(scratch, seconds, tenants, given, processes, concurrency))


@app.command()
def windows(
    store: StoreUrl = None,
    seconds: Seconds = 100.0,
    takes: Annotated[str, typer.Option(help="Seconds that each tenant's jobs take.")] = "2,0.2,0.02",
    weights: Annotated[str, typer.Option(help="The tenants' weights.")] = "10,100,1000",
    processes: Processes = 2,
    concurrency: Annotated[int, typer.Option(min=1)] = 20,
    as_json: Json = False,
) -> None:
    """What tenants get in every 10 s, where the jobs of one type take longer for some of them."""
    from benchmarks.fairness import windows

    lengths, given = ([float(value) for value in values.split(",")] for values in (takes, weights))
    run(store, as_json, lambda scratch: windows(scratch, seconds, lengths, given, processes, concurrency))


@app.command()
def chart() -> None:
    """Write the table and the chart of docs/performance.md from benchmarks/figures.json."""
    from benchmarks.chart import write_all

    write_all(ROOT)


if __name__ == "__main__":
    app()
