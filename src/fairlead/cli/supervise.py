"""What `fairlead up`, `worker` and `scheduler` do: services, the supervisor of worker processes, messages to people."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

import typer

from fairlead.app import App
from fairlead.cli.loading import load_app
from fairlead.cli.terms import Workers
from fairlead.core.durations import humanize
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.states import State
from fairlead.core.web.callbacks import TYPE as DELIVERY
from fairlead.errors import ConfigError, StoreError
from fairlead.handlers.options import Options
from fairlead.records.store import Store
from fairlead.scheduler.host import hosted_services
from fairlead.telemetry.log import EventLog, LogOutput, configure_logging
from fairlead.version import __version__
from fairlead.wiring import database_file, is_in_memory, make_lease_book, make_store, migrate, shown
from fairlead.worker.leftovers import Leftovers
from fairlead.worker.probe import parse_place, probed
from fairlead.worker.spawn import Spawned
from fairlead.worker.supervisor import Supervisor

if TYPE_CHECKING:
    from fairlead.cli.serve import Served

Place = tuple[str, int] | None

LOOK_EVERY = 1.0
TELL_EVERY = 5.0
MOST_TOLD = 5
MOST_LISTED = 500


def run_workers(workers: Workers, health: str | None, started: Sequence[Spawned]) -> int:
    """`fairlead worker`, whose processes were started already; returns the exit code."""
    place = _place(health)
    loaded, output = _prepared(workers.path, workers.include, workers.as_json)
    return asyncio.run(_supervise(loaded, output, workers, place, started=started))


def run_everything(workers: Workers, start: list[str], port: int | None) -> int:
    """`fairlead up`; returns the exit code."""
    loaded, output = _prepared(workers.path, workers.include, workers.as_json)
    return asyncio.run(_up(loaded, output, workers, start, port))


def run_services(path: str, include: Sequence[str], as_json: bool | None, health: str | None) -> int:
    """`fairlead scheduler`; returns the exit code."""
    place = _place(health)
    loaded, output = _prepared(path, include, as_json)
    return asyncio.run(_run_services(loaded, output, place))


def _place(health: str | None) -> Place:
    return None if health is None else parse_place(health)


def _prepared(path: str, include: Sequence[str], as_json: bool | None) -> tuple[App, LogOutput]:
    output = configure_logging(as_json)
    loaded = load_app(path, include)
    loaded.on_event(EventLog(output), jobs=False)
    return loaded, output


async def _up(loaded: App, output: LogOutput, workers: Workers, start: list[str], port: int | None) -> int:
    url = loaded.settings.database_url
    _refuse_memory(url)
    if url.startswith("sqlite"):
        await migrate(url)
    try:
        client = await loaded.client()
        for name in start:
            await client.enqueue(loaded.registry[name], [{}], Options())
    finally:
        await loaded.close()
    from fairlead.cli.serve import served_beside  # `worker` does without the API

    async with served_beside(loaded, port) as served:
        return await _supervise(loaded, output, workers, None, served)


async def _supervise(
    loaded: App,
    output: LogOutput,
    workers: Workers,
    place: Place = None,
    served: "Served | None" = None,
    started: Sequence[Spawned] = (),
) -> int:
    """Run the services here, where no handler can get in their way, and workers in processes of their own."""
    url, settings = loaded.settings.database_url, loaded.settings
    _refuse_memory(url)
    _say_hello(loaded, output, workers, served)
    store = make_store(url, listen_url=settings.listen_url)
    await store.open()
    supervisor = Supervisor(
        workers.command(),
        workers.processes,
        make_lease_book(url),
        settings.heartbeat,
        loaded.telemetry,
        started,
        Leftovers(),
    )
    if served is not None:
        served.why_not_ready = supervisor.why_not_ready
    stopping = asyncio.Event()

    def stop() -> None:
        stopping.set()
        supervisor.stop()

    _on_signals(stop)
    tasks = [
        _tell_missing_types(store, loaded, output, workers),
        _tell_drain(store, supervisor, stopping, settings.drain, output),
    ]
    if served is not None:
        tasks.append(_tell_link(supervisor, served, output))
    try:
        async with (
            _beside(tasks),
            _bound_to_file(url, output, stop) as replaced,
            probed(place, supervisor.why_not_ready),
            asyncio.TaskGroup() as group,
        ):
            running = group.create_task(supervisor.run())
            async with hosted_services(store, settings, loaded.telemetry, loaded.registry):
                code = await running
        return code or (1 if replaced.is_set() else 0)
    finally:
        await store.close()


async def _run_services(loaded: App, output: LogOutput, place: Place) -> int:
    url = loaded.settings.database_url
    store = make_store(url, listen_url=loaded.settings.listen_url)
    await store.open()
    stopped = asyncio.Event()
    _on_signals(stopped.set)
    try:
        async with (
            _bound_to_file(url, output, stopped.set) as replaced,
            probed(place, lambda: "stopping" if stopped.is_set() else None),
            hosted_services(store, loaded.settings, loaded.telemetry, loaded.registry),
        ):
            await stopped.wait()
        return 1 if replaced.is_set() else 0
    finally:
        await store.close()


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)


def _refuse_memory(url: str) -> None:
    if is_in_memory(url):
        raise ConfigError("a database in memory cannot be shared with worker processes; use sqlite:///jobs.db")


@contextlib.asynccontextmanager
async def _beside(work: Sequence[object]) -> AsyncIterator[None]:
    """Run coroutines until the block ends."""
    tasks = [asyncio.ensure_future(item) for item in work]  # type: ignore[call-overload]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def _bound_to_file(url: str, output: LogOutput, stop: Callable[[], None]) -> AsyncIterator[asyncio.Event]:
    """Stop when a SQLite file is moved, deleted or replaced, so that a service manager can start the process again."""
    path, replaced = database_file(url), asyncio.Event()

    async def watch(path: str) -> None:
        before = _identity(path)
        while _identity(path) == before:  # noqa: ASYNC110 a file tells nobody that it was replaced
            await asyncio.sleep(LOOK_EVERY)
        replaced.set()
        output.write(
            "error", "database_replaced", {"path": path},
            f"{path} was moved, deleted or replaced while it was open; this process ends, start it again",
        )  # fmt: skip
        stop()
        stop()  # nothing that runs could be settled: do not wait for it

    async with _beside([] if path is None else [watch(path)]):
        yield replaced


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _say_hello(loaded: App, output: LogOutput, workers: Workers, served: "Served | None") -> None:
    """Log what starts; to a person with the link last."""
    types, where = sorted(loaded.registry), shown(loaded.settings.database_url)
    values = {
        "version": __version__, "app": workers.path, "database": where, "types": types, "pools": list(workers.pools),
        "slots": workers.concurrency, "processes": workers.processes, "reserve": list(workers.reserve) or None,
    }  # fmt: skip
    if output.as_json:
        output.write("info", "starting", values)
    else:
        for line in _banner(workers, types, where, served):
            typer.echo(line, err=True)
    if not types:
        output.write(
            "error", "no_types", {"app": workers.path},
            f"{workers.path} declares no job types, so its workers run nothing: import the modules of its handlers "
            "with App(include=[...]) or --include MODULE",
        )  # fmt: skip


def _banner(workers: Workers, types: Sequence[str], where: str, served: "Served | None") -> list[str]:
    slots = f"{workers.concurrency} slots" + (f" in each of {workers.processes} processes" * (workers.processes > 1))
    near = os.path.relpath(sys.argv[0])
    tool = "fairlead" if near.startswith("..") else near
    lines = [
        f"Fairlead {__version__}: {workers.path} on {where}",
        f"  types   {', '.join(types) or 'none'}",
        f"  pools   {', '.join(workers.pools)}; {slots}",
        f"  look    {tool} status --database {where}; and: jobs list, jobs groups, settings list",
        "  stop    Ctrl-C lets running jobs finish; a second Ctrl-C stops at once",
    ]
    return lines if served is None else [*lines, *_link(served)]


def _link(served: "Served") -> list[str]:
    return [
        f"  API     {served.address}/v1, with the key {served.key} while this process runs",
        f"  page    {served.address}/dashboard/#key={served.key}",
    ]


async def _tell_link(supervisor: Supervisor, served: "Served", output: LogOutput) -> None:
    """Log the link again when work begins, since the lines of the start have moved it away."""
    while supervisor.why_not_ready() is not None:  # noqa: ASYNC110 it is looked at by probes too
        await asyncio.sleep(LOOK_EVERY / 10)
    await asyncio.sleep(LOOK_EVERY)
    link = f"{served.address}/dashboard/#key={served.key}"
    values = {"api": f"{served.address}/v1", "key": served.key, "dashboard": link}
    output.write("info", "serving", values, f"all runs; the dashboard: {link}")


async def _tell_missing_types(store: Store, loaded: App, output: LogOutput, workers: Workers) -> None:
    """Warn of types whose jobs wait in the pools of these workers, though the app does not declare them."""
    try:
        waiting = {item.lane.type for item in await store.reader.active_lanes() if item.lane.pool in workers.pools}
    except StoreError:
        return
    missing = sorted(waiting - set(loaded.registry) - {DELIVERY})
    if missing:
        named = ", ".join(missing[:MOST_TOLD]) + (", …" if len(missing) > MOST_TOLD else "")
        output.write(
            "warning", "types_not_declared", {"types": missing},
            f"jobs wait that {workers.path} does not declare: {named}; if no other app runs them, import their modules "
            "with App(include=[...]) or --include MODULE",
        )  # fmt: skip


async def _tell_drain(
    store: Store, supervisor: Supervisor, stopping: asyncio.Event, drain: float, output: LogOutput
) -> None:
    """After the first signal, log every few seconds which jobs are waited for."""
    await stopping.wait()
    while True:
        try:
            running = (await store.reader.list_jobs(JobFilter((State.RUNNING,)), MOST_LISTED)).jobs
        except StoreError:
            return
        ids = supervisor.worker_ids()
        jobs = [job for job in running if job.worker in ids]
        if jobs:
            named = ", ".join(f"{job.type} {job.id}" for job in jobs[:MOST_TOLD])
            more = f" and {len(jobs) - MOST_TOLD} more" if len(jobs) > MOST_TOLD else ""
            output.write(
                "info", "draining", {"jobs": [job.id for job in jobs], "at_most": drain},
                f"stopping: waits for {named}{more}, at most {humanize(drain)}; Ctrl-C stops at once",
            )  # fmt: skip
        await asyncio.sleep(TELL_EVERY)
