"""The program of one worker process; only a supervisor starts it."""

import asyncio
import gc
import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path

import uvloop

from fairlead.app import App
from fairlead.cli.loading import load_app
from fairlead.errors import FairleadError
from fairlead.telemetry.log import EventLog, configure_logging
from fairlead.telemetry.tracebacks import Tracebacks
from fairlead.wiring import make_store
from fairlead.worker.child import SupervisorLink, SupervisorSocket, open_store, run_child
from fairlead.worker.service import Worker

SWITCH_EVERY = 0.00005
SLACK = Path("/proc/self/timerslack_ns")  # Linux only


async def work(
    app: App, supervisor: SupervisorSocket, concurrency: int, pools: tuple[str, ...], reserve: tuple[str, ...]
) -> int:
    """Run one worker until the supervisor or a signal ends it."""
    store = make_store(app.settings.database_url, listen_url=app.settings.listen_url)
    if not await open_store(store, app.telemetry, supervisor):
        await store.close()
        return 0
    link = SupervisorLink(supervisor)
    worker = Worker(
        app.registry, store, app.settings, pools, concurrency, link.keep, app.telemetry, recycles=True, reserve=reserve
    )
    try:
        code = await run_child(worker, link)
    finally:
        await store.close()
    if worker.has_stuck_handlers:
        os._exit(code)  # they cannot be stopped, and their jobs were settled
    return code


def _spare_the_collector() -> None:
    """What is loaded stays loaded, and jobs make no cycles: look for garbage less often, and not among the code."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _switch_soon() -> None:
    """Let a thread that needs the interpreter have it within a twentieth of a millisecond.

    That of SQLite needs it between two statements, when it holds the lock for which all other processes wait; handlers
    in threads that compute keep the event loop from it as long. Linux lets a thread sleep for as long again if it is
    not told to be precise; threads that are made from here on are so as well.
    """
    sys.setswitchinterval(SWITCH_EVERY)
    with suppress(OSError):
        SLACK.write_text("1000")


def main(arguments: list[str]) -> int:
    """Load the app and work; the supervisor names what `worker` was told."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group; the supervisor tells us
    supervisor = SupervisorSocket()
    try:
        return _load_and_work(_parser().parse_args(arguments), supervisor)
    except FairleadError:
        if supervisor.runs():
            raise
        return 1  # the supervisor could not start either, and has said why


def _load_and_work(options: Namespace, supervisor: SupervisorSocket) -> int:
    output = configure_logging(None if options.log_format == "auto" else options.log_format == "json")
    app = load_app(options.app, options.include)
    app.on_event(EventLog(output, Tracebacks(options.tracebacks), options.log_jobs), jobs=options.log_jobs)
    _spare_the_collector()
    _switch_soon()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        pools, reserve = tuple(options.pools.split(",")), tuple(options.reserve)
        return runner.run(work(app, supervisor, options.concurrency, pools, reserve))


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="fairlead.cli.child")
    parser.add_argument("app")
    parser.add_argument("concurrency", type=int)
    parser.add_argument("pools")
    parser.add_argument("--reserve", action="append", default=[])
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--tracebacks", default=Tracebacks.LAST.value)
    parser.add_argument("--log-format", default="auto")
    parser.add_argument("--log-jobs", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
