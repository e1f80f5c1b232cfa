"""Starting things: a whole system with `up`, workers with `worker`, the services alone with `scheduler`.

What the commands need is imported when they run, and after `worker` has started its processes: these import their own
meanwhile.
"""

from typing import Annotated

import typer

from fairlead.cli.terms import FORMATS, AppPath, Workers
from fairlead.telemetry.tracebacks import Tracebacks
from fairlead.worker.spawn import spawned

Pools = Annotated[list[str] | None, typer.Option("--pool", help="A pool to work for; repeat it for more.")]
Concurrency = Annotated[int, typer.Option(min=1, max=10_000, help="How many jobs each process runs at once.")]
Processes = Annotated[int, typer.Option(min=1, max=256, help="How many worker processes to run.")]
Reserve = Annotated[
    list[str] | None,
    typer.Option(metavar="TENANT", help="Serve this tenant only, with slots nobody else can take; may be repeated."),
]
Include = Annotated[
    list[str] | None,
    typer.Option(metavar="MODULE", help="Import this module with handlers too; repeat it for more."),
]
LogJobs = Annotated[bool, typer.Option("--log-jobs", help="Write a log line for every job that ends.")]
LogFormat = Annotated[str, typer.Option(help="auto (text on a terminal, else JSON), text or json.")]
Traceback = Annotated[
    Tracebacks,
    typer.Option("--tracebacks", help="Tracebacks in the log: of the last attempt, of each, none."),
]
Health = Annotated[
    str | None,
    typer.Option(metavar="[HOST:]PORT", help="Answer /healthz and /readyz there, for Kubernetes and the like."),
]
Start = Annotated[list[str] | None, typer.Option(help="A job type to enqueue once at the start, without arguments.")]
UpPort = Annotated[
    int | None, typer.Option(min=0, max=65535, help="The port of the HTTP API on this machine, 8377 if it is free.")
]

DEFAULT_POOLS = ("short", "medium", "long")

app = typer.Typer()


@app.command()
def worker(
    path: AppPath, pool: Pools = None, concurrency: Concurrency = 50, processes: Processes = 1,
    reserve: Reserve = None, include: Include = None, log_jobs: LogJobs = False,
    tracebacks: Traceback = Tracebacks.LAST, log_format: LogFormat = "auto", health: Health = None,
) -> None:  # fmt: skip
    """Run workers for an app, and the services if no other process leads them."""
    _check_format(log_format)
    workers = Workers(
        path, tuple(pool or DEFAULT_POOLS), concurrency, processes, tuple(reserve or ()), tuple(include or ()),
        log_jobs, log_format, tracebacks,
    )  # fmt: skip
    with spawned(workers.command(), processes) as started:
        from fairlead.cli.supervise import run_workers

        raise typer.Exit(run_workers(workers, health, started))


@app.command()
def up(
    path: AppPath, pool: Pools = None, concurrency: Concurrency = 50, processes: Processes = 1,
    include: Include = None, start: Start = None, tracebacks: Traceback = Tracebacks.LAST,
    log_format: LogFormat = "auto", port: UpPort = None,
) -> None:  # fmt: skip
    """Run everything for an app: services, workers and the HTTP API on this machine; a SQLite file is set up too."""
    from fairlead.cli.supervise import run_everything

    _check_format(log_format)
    workers = Workers(
        path, tuple(pool or DEFAULT_POOLS), concurrency, processes, include=tuple(include or ()), log_jobs=True,
        log_format=log_format, tracebacks=tracebacks,
    )  # fmt: skip
    raise typer.Exit(run_everything(workers, start or [], port))


@app.command()
def scheduler(path: AppPath, include: Include = None, log_format: LogFormat = "auto", health: Health = None) -> None:
    """Run the services alone: promotion, expiry, recurring jobs, recovery, pruning."""
    from fairlead.cli.supervise import run_services

    _check_format(log_format)
    raise typer.Exit(run_services(path, tuple(include or ()), FORMATS[log_format], health))


def _check_format(name: str) -> None:
    if name not in FORMATS:
        raise typer.BadParameter(f"--log-format must be one of {', '.join(FORMATS)}, not {name!r}")
