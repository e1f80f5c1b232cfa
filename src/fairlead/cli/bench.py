"""Measuring: `fairlead bench`, the same figures for us and for users, each beside the floor of the store."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fairlead.cli import output
from fairlead.cli.options import Json
from fairlead.core.durations import seconds as duration
from fairlead.core.fairness.tenancy import LEAST_WEIGHT, MOST_WEIGHT

if TYPE_CHECKING:
    from fairlead.bench.place import Place
    from fairlead.bench.report import Report

MOST_DURATIONS = 20

app = typer.Typer(help="Measure this machine and store; nothing is left behind.", no_args_is_help=True)

StoreUrl = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help="The store to measure on; else a temporary SQLite file."),
]
Jobs = Annotated[int, typer.Option(min=1, help="How many jobs.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="For how long.")]
Payload = Annotated[int, typer.Option(min=11, max=60_000, help="Bytes of payload a job.")]
Tenants = Annotated[int, typer.Option(min=1, max=100_000, help="Over how many tenants the jobs are spread.")]
Types = Annotated[int, typer.Option(min=1, max=1_000, help="Over how many job types the jobs are spread.")]
Concurrency = Annotated[int, typer.Option(min=1, max=10_000, help="How many jobs each process runs at once.")]
FloorJobs = Annotated[int, typer.Option(min=1, help="How many jobs the floor is measured with.")]


@app.command()
def floor(store: StoreUrl = None, jobs: Jobs = 200_000, payload: Payload = 64, as_json: Json = False) -> None:
    """The bare SQL loop on this store: insert, claim + settle, and all three."""
    from fairlead.bench.floor.report import floor
    from fairlead.bench.supply import Mix

    _run(store, as_json, lambda place: floor(place, jobs, Mix(payload)))


@app.command()
def drain(
    store: StoreUrl = None,
    jobs: Jobs = 200_000,
    processes: Annotated[str, typer.Option(help="How many worker processes; `best` tries 1 and 2.")] = "1",
    concurrency: Concurrency = 500,
    tenants: Tenants = 1,
    types: Types = 1,
    payload: Payload = 64,
    failing: Annotated[float, typer.Option(min=0.0, max=1.0, help="Which share of the jobs fails.")] = 0.0,
    memory: Annotated[bool, typer.Option("--memory", help="Also watch the memory of the workers.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Let so many jobs of each type run at once.")] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often to measure; the median share counts.")] = 3,
    as_json: Json = False,
) -> None:
    """How fast workers empty a backlog, from the first claim to the last settlement."""
    from fairlead.bench.drain import drain
    from fairlead.bench.supply import Mix

    counts, mix = _process_counts(processes), Mix(payload, tenants, types, failing)
    _run(store, as_json, lambda place: drain(place, jobs, counts, concurrency, mix, memory, limit, rounds))


@app.command()
def flow(
    store: StoreUrl = None,
    seconds: Seconds = 60.0,
    processes: Annotated[int, typer.Option(min=1, max=64, help="How many worker processes.")] = 1,
    concurrency: Concurrency = 500,
    batch: Annotated[int, typer.Option(min=1, max=10_000, help="How many jobs a producer submits at once.")] = 1000,
    producers: Annotated[int, typer.Option(min=1, max=64, help="How many producers submit at a time.")] = 2,
    payload: Payload = 64,
    tenants: Tenants = 1,
    floor_jobs: FloorJobs = 100_000,
    as_json: Json = False,
) -> None:
    """Producers and workers at the same time: the sustained rate, and how long jobs wait."""
    from fairlead.bench.flow import flow
    from fairlead.bench.supply import Mix

    mix = Mix(payload, tenants)
    _run(
        store,
        as_json,
        lambda place: flow(place, seconds, processes, concurrency, batch, producers, mix, floor_jobs),
    )


@app.command()
def enqueue(
    store: StoreUrl = None,
    seconds: Seconds = 5.0,
    callers: Annotated[int, typer.Option(min=1, max=10_000, help="How many callers submit at the same time.")] = 50,
    payload: Payload = 64,
    floor_jobs: FloorJobs = 100_000,
    as_json: Json = False,
) -> None:
    """How fast jobs are accepted: one caller, many callers, bulk; each durable."""
    from fairlead.bench.enqueue import enqueue
    from fairlead.bench.supply import Mix

    _run(store, as_json, lambda place: enqueue(place, seconds, callers, Mix(payload), floor_jobs))


@app.command()
def http(
    store: StoreUrl = None,
    seconds: Seconds = 5.0,
    clients: Annotated[int, typer.Option(min=1, max=1_000, help="How many clients post at the same time.")] = 50,
    payload: Payload = 64,
    as_json: Json = False,
) -> None:
    """How many single jobs one server process accepts over HTTP; each durable when it is answered."""
    from fairlead.bench.http import http
    from fairlead.bench.supply import Mix

    _run(store, as_json, lambda place: http(place, seconds, clients, Mix(payload)))


@app.command()
def latency(
    store: StoreUrl = None,
    seconds: Seconds = 10.0,
    interval: Annotated[float, typer.Option(min=0.001, help="Seconds between two jobs.")] = 0.02,
    concurrency: Concurrency = 50,
    as_json: Json = False,
) -> None:
    """How soon a job starts on an idle system."""
    from fairlead.bench.latency import latency

    _run(store, as_json, lambda place: latency(place, seconds, interval, concurrency))


@app.command()
def poison(
    store: StoreUrl = None,
    jobs: Jobs = 300_000,
    poison_jobs: Annotated[int, typer.Option(min=1, help="How many jobs of a type that always fails.")] = 100_000,
    processes: Annotated[int, typer.Option(min=1, max=64, help="How many worker processes.")] = 1,
    concurrency: Concurrency = 500,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often each of both is measured.")] = 3,
    payload: Payload = 64,
    as_json: Json = False,
) -> None:
    """How much a job type that always fails slows the others."""
    from fairlead.bench.poison import poison
    from fairlead.bench.supply import Mix

    _run(store, as_json, lambda place: poison(place, jobs, poison_jobs, processes, concurrency, rounds, Mix(payload)))


@app.command()
def lateness(
    store: StoreUrl = None,
    seconds: Seconds = 30.0,
    rate: Annotated[float, typer.Option(min=0.1, max=10_000, help="How many jobs are due a second.")] = 100.0,
    concurrency: Concurrency = 50,
    as_json: Json = False,
) -> None:
    """How late scheduled jobs start, when they are due at scattered instants."""
    from fairlead.bench.lateness import lateness

    _run(store, as_json, lambda place: lateness(place, seconds, rate, concurrency))


@app.command()
def herd(
    store: StoreUrl = None,
    jobs: Jobs = 100_000,
    seconds: Seconds = 30.0,
    interval: Annotated[float, typer.Option(min=0.001, help="Seconds between two jobs of the small tenant.")] = 0.05,
    takes: Annotated[float, typer.Option(min=0.0, max=60.0, help="Seconds that each job of the other takes.")] = 0.0,
    concurrency: Concurrency = 50,
    as_json: Json = False,
) -> None:
    """How soon a small tenant's jobs start while very many of another are due, or ready, at once."""
    from fairlead.bench.herd import Pace, herd

    _run(store, as_json, lambda place: herd(place, jobs, takes, Pace(seconds, interval, concurrency)))


@app.command()
def growth(
    store: StoreUrl = None,
    jobs: Annotated[int, typer.Option(min=200, help="How many jobs are measured at each size.")] = 200_000,
    hold: Annotated[float, typer.Option(min=0.0, help="Seconds that a transaction is held open (PostgreSQL).")] = 60.0,
    quick: Annotated[bool, typer.Option("--quick", help="A hundredth of every size, and a short hold.")] = False,
    series: Annotated[str, typer.Option(help="Which of `backlog`, `lanes`, `history` and `closed`.")] = "",
    as_json: Json = False,
) -> None:
    """What a job costs with a large backlog, many lanes, a long history, and beside a transaction left open."""
    from fairlead.bench.growth import SERIES, growth

    wanted = tuple(series.split(",")) if series else SERIES
    if set(wanted) - set(SERIES):
        raise typer.BadParameter(f"--series is {series!r}; it must be some of {', '.join(SERIES)}, with commas between")
    scale, measured, held = (100, min(jobs, 1_000), min(hold, 3.0)) if quick else (1, jobs, hold)
    _run(store, as_json, lambda place: growth(place, scale, measured, held, wanted))


@app.command()
def fairness(
    store: StoreUrl = None,
    seconds: Seconds = 30.0,
    tenants: Annotated[int, typer.Option(min=2, max=10_000, help="How many tenants want all slots.")] = 12,
    durations: Annotated[str, typer.Option(help="How long jobs take, by tenant in turn.")] = "10ms,100ms,1s",
    weights: Annotated[str, typer.Option(help="The weights that tenants have in turn.")] = "1,2,3,5",
    processes: Annotated[int, typer.Option(min=1, max=64, help="How many worker processes.")] = 2,
    concurrency: Concurrency = 20,
    as_json: Json = False,
) -> None:
    """What each tenant gets of the slots against what it is entitled to, when all of them want all of them."""
    from fairlead.bench.fairness import fairness

    takes, weighs = _durations(durations), _weights(weights)
    _run(store, as_json, lambda place: fairness(place, seconds, tenants, takes, weighs, processes, concurrency))


@app.command()
def layers(payload: Payload = 64, as_json: Json = False) -> None:
    """What each step of a job costs on our side of the database, in microseconds."""
    from fairlead.bench.layers import layers
    from fairlead.bench.supply import Mix

    _show(layers(Mix(payload)), as_json)


def _run(store: str | None, as_json: bool, measure: Callable[["Place"], Coroutine[Any, Any, "Report"]]) -> None:
    """Measure in a place of its own, which is removed whatever ends the measuring."""
    import uvloop

    from fairlead.bench.place import own_place

    loops = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    with _termination_as_interrupt(), own_place(store) as place, loops as runner:
        report = runner.run(measure(place))
    _show(report, as_json)


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """A polite kill cleans up as Ctrl-C does, also in the background of a script, where that one is ignored."""

    def interrupt(number: int, frame: object) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _process_counts(text: str) -> tuple[int, ...]:
    if text == "best":
        return (1, 2)
    if not text.isdigit() or not 1 <= int(text) <= 64:
        raise typer.BadParameter(f"--processes is {text!r}; it must be a number from 1 to 64, or `best`")
    return (int(text),)


def _durations(text: str) -> list[float]:
    found = [duration(part) for part in text.split(",")]
    if not all(0.001 <= one <= 600 for one in found) or len(found) > MOST_DURATIONS:
        raise typer.BadParameter(f"--durations is {text!r}; it must be up to {MOST_DURATIONS} from 1ms to 10m")
    return found


def _weights(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(LEAST_WEIGHT <= one <= MOST_WEIGHT for one in found):
        raise typer.BadParameter(f"--weights is {text!r}; it must be numbers from {LEAST_WEIGHT} to {MOST_WEIGHT:,.0f}")
    return found


def _show(report: "Report", as_json: bool) -> None:
    if as_json:
        return output.show_document(report.document())
    columns = dict.fromkeys(name for row in report.rows for name in row)
    table = output.table(**dict.fromkeys(columns, True))
    for row in report.rows:
        table.add_row(*(output.cell(_shown(row.get(name))) for name in columns))
    output.show(table)
    for name, value in report.figures.items():
        if not isinstance(value, dict):
            output.show(Text.assemble((f"{name}: ", "bold"), _shown(value)))
    output.show(Text("; ".join(f"{name} {_shown(value)}" for name, value in report.setup.items()), "dim"))
    for note in report.notes:
        output.show(Text(f"- {note}", "dim"))


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
