"""`fairlead bench`: measure this machine and store."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fairlead.cli import output
from fairlead.cli.options import Json

if TYPE_CHECKING:
    from fairlead.bench.report import Report
    from fairlead.bench.scratch import Scratch

app = typer.Typer(help="Measure this machine and store in a scratch database.", no_args_is_help=True)

StoreUrl = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help="The store to measure on; else a temporary SQLite file."),
]
Jobs = Annotated[int, typer.Option(min=1, help="How many jobs.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="For how long.")]
Payload = Annotated[int, typer.Option(min=30, max=60_000, help="Bytes of payload for each job.")]
Tenants = Annotated[int, typer.Option(min=1, max=100_000, help="Over how many tenants the jobs are spread.")]
Priorities = Annotated[int, typer.Option(min=1, max=3, help="Over how many priorities the jobs are spread.")]
Processes = Annotated[int, typer.Option(min=1, max=64, help="How many worker processes.")]
Concurrency = Annotated[int, typer.Option(min=1, max=10_000, help="How many jobs each process runs at once.")]
Rounds = Annotated[int, typer.Option(min=1, max=100, help="How often to measure; the median counts.")]


class HandlerKind(StrEnum):
    """What the handler of the drained jobs does."""

    RESULT = "result"
    NONE = "none"
    AWAIT = "await"
    THREAD = "thread"
    FLAKY = "flaky"


Kind = Annotated[
    HandlerKind,
    typer.Option(
        help="result: returns a result at once; none: returns nothing; await: awaits once; thread: a plain `def`; "
        "flaky: fails once in 5 % of the jobs."
    ),
]


@app.command()
def drain(
    store: StoreUrl = None,
    jobs: Jobs = 200_000,
    processes: Processes = 1,
    concurrency: Concurrency = 50,
    handler: Kind = HandlerKind.RESULT,
    tenants: Tenants = 1,
    priorities: Priorities = 1,
    payload: Payload = 64,
    rounds: Rounds = 3,
    as_json: Json = False,
) -> None:
    """How fast workers empty a backlog."""
    from fairlead.bench.drain import Drain, drain

    wanted = Drain(jobs, processes, concurrency, handler.value, tenants, priorities, payload)
    run(store, as_json, lambda scratch: drain(scratch, wanted, rounds))


@app.command()
def enqueue(
    store: StoreUrl = None,
    seconds: Seconds = 5.0,
    callers: Annotated[int, typer.Option(min=1, max=10_000, help="How many callers submit at the same time.")] = 50,
    payload: Payload = 64,
    as_json: Json = False,
) -> None:
    """How fast jobs are accepted: by one caller, by many, and in bulk."""
    from fairlead.bench.enqueue import enqueue

    run(store, as_json, lambda scratch: enqueue(scratch, seconds, callers, payload))


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

    run(store, as_json, lambda scratch: latency(scratch, seconds, interval, concurrency))


@app.command()
def http(
    store: StoreUrl = None,
    seconds: Seconds = 5.0,
    clients: Annotated[int, typer.Option(min=1, max=1_000, help="How many clients post at the same time.")] = 50,
    payload: Payload = 64,
    as_json: Json = False,
) -> None:
    """How many single jobs one server process accepts over HTTP."""
    from fairlead.bench.http import http

    run(store, as_json, lambda scratch: http(scratch, seconds, clients, payload))


def run(store: str | None, as_json: bool, measure: "Callable[[Scratch], Coroutine[Any, Any, Report]]") -> None:
    """Measure on a scratch database, which is removed whatever ends the measuring, and print the report."""
    import uvloop

    from fairlead.bench.scratch import scratch_database

    loops = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    with _termination_as_interrupt(), scratch_database(store) as scratch, loops as runner:
        report = runner.run(measure(scratch))
    show(report, as_json)


def show(report: "Report", as_json: bool) -> None:
    """Print a report as a table or as JSON."""
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


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, also in the background of a script, where Ctrl-C is ignored."""

    def interrupt(number: int, frame: object) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
