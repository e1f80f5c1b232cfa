"""Starting things: a whole system with `up`, workers with `worker`, the services alone with `scheduler`."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from fairlead.app import App
from fairlead.cli.loading import load_app
from fairlead.cli.serve import AppPath, Served, served_beside
from fairlead.core.names import check_name
from fairlead.errors import ConfigError
from fairlead.handlers.options import Options
from fairlead.scheduler.host import hosted_services
from fairlead.telemetry.log import EventLog, configure_logging
from fairlead.wiring import is_in_memory, make_lease_book, make_store, migrate, shown
from fairlead.worker.probe import parse_place, probed
from fairlead.worker.supervisor import Supervisor

Pools = Annotated[list[str] | None, typer.Option("--pool", help="A pool to work for; repeat it for more.")]
Concurrency = Annotated[int, typer.Option(min=1, max=10_000, help="How many jobs each process runs at once.")]
Processes = Annotated[int, typer.Option(min=1, max=256, help="How many worker processes to run.")]
Reserve = Annotated[
    list[str] | None,
    typer.Option(metavar="TENANT", help="Serve this tenant only, with slots nobody else can take; may be repeated."),
]
LogJobs = Annotated[bool, typer.Option("--log-jobs", help="Write a log line for every job that ends.")]

Health = Annotated[
    str | None,
    typer.Option(metavar="[HOST:]PORT", help="Answer /healthz and /readyz there, for Kubernetes and the like."),
]

Place = tuple[str, int] | None

app = typer.Typer()

DEFAULT_POOLS = ("short", "medium", "long")


@app.command()
def worker(
    path: AppPath,
    pool: Pools = None,
    concurrency: Concurrency = 50,
    processes: Processes = 1,
    reserve: Reserve = None,
    log_jobs: LogJobs = False,
    health: Health = None,
) -> None:
    """Run workers for an app, and the services if no other process leads them."""
    place = None if health is None else parse_place(health)
    loaded = load_app(path)
    configure_logging()
    loaded.on_event(EventLog(), jobs=log_jobs)
    command = child_command(path, tuple(pool or DEFAULT_POOLS), concurrency, log_jobs, tuple(reserve or ()))
    raise typer.Exit(asyncio.run(_supervise(loaded, command, processes, place)))


@app.command()
def up(
    path: AppPath,
    pool: Pools = None,
    concurrency: Concurrency = 50,
    processes: Processes = 1,
    start: Annotated[
        list[str] | None, typer.Option(help="A job type to enqueue once at the start, without arguments.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port of the HTTP API on this machine, 8377 if it is free.")
    ] = None,
) -> None:
    """Run everything for an app: services, workers and the HTTP API on this machine; a SQLite file is set up too."""
    loaded = load_app(path)
    configure_logging()
    loaded.on_event(EventLog())
    command = child_command(path, tuple(pool or DEFAULT_POOLS), concurrency, log_jobs=True)
    raise typer.Exit(asyncio.run(_up(loaded, path, command, processes, start or [], port)))


@app.command()
def scheduler(path: AppPath, health: Health = None) -> None:
    """Run the services alone: promotion, expiry, recurring jobs, recovery, pruning."""
    place = None if health is None else parse_place(health)
    loaded = load_app(path)
    configure_logging()
    loaded.on_event(EventLog(), jobs=False)
    asyncio.run(_run_services(loaded, place))


def child_command(
    path: str, pools: tuple[str, ...], concurrency: int, log_jobs: bool, reserve: tuple[str, ...] = ()
) -> list[str]:
    """How the supervisor starts a worker process."""
    command = [sys.executable, "-m", "fairlead.cli.child", path, str(concurrency), ",".join(pools)]
    command += [f"--reserve={check_name('tenant', tenant)}" for tenant in reserve]
    return [*command, "--log-jobs"] if log_jobs else command


async def _up(app: App, path: str, command: list[str], processes: int, start: list[str], port: int | None) -> int:
    url = app.settings.database_url
    _refuse_memory(url)
    if url.startswith("sqlite"):
        await migrate(url)
    try:
        client = await app.client()
        for name in start:
            await client.enqueue(app.registry[name], [{}], Options())
    finally:
        await app.close()
    async with served_beside(app, port) as served:
        _say_hello(url, path, app, processes, served)
        return await _supervise(app, command, processes, None, served)


async def _supervise(
    app: App, command: list[str], processes: int, place: Place = None, served: Served | None = None
) -> int:
    """Run the services here, where no handler can get in their way, and workers in processes of their own."""
    url, settings = app.settings.database_url, app.settings
    _refuse_memory(url)
    store = make_store(url, listen_url=settings.listen_url)
    await store.open()
    supervisor = Supervisor(command, processes, make_lease_book(url), settings.heartbeat, app.telemetry)
    if served is not None:
        served.why_not_ready = supervisor.why_not_ready
    _on_signals(supervisor.stop)
    try:
        async with (
            probed(place, supervisor.why_not_ready),
            hosted_services(store, settings, app.telemetry, app.registry),
        ):
            return await supervisor.run()
    finally:
        await store.close()


async def _run_services(app: App, place: Place) -> None:
    store = make_store(app.settings.database_url, listen_url=app.settings.listen_url)
    await store.open()
    stopped = asyncio.Event()
    _on_signals(stopped.set)
    try:
        async with (
            probed(place, lambda: "stopping" if stopped.is_set() else None),
            hosted_services(store, app.settings, app.telemetry, app.registry),
        ):
            await stopped.wait()
    finally:
        await store.close()


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)


def _refuse_memory(url: str) -> None:
    if is_in_memory(url):
        raise ConfigError("a database in memory cannot be shared with worker processes; use sqlite:///jobs.db")


def _say_hello(url: str, path: str, app: App, processes: int, served: Served | None) -> None:
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(f"[bold]Fairlead[/bold] runs [cyan]{escape(path)}[/cyan] on [cyan]{escape(shown(url))}[/cyan]")
    console.print(escape(f"  job types: {', '.join(sorted(app.registry)) or 'none'}; processes: {processes}"))
    tool = os.path.relpath(sys.argv[0]) if os.path.isabs(sys.argv[0]) else sys.argv[0]
    console.print("  in another terminal:")
    for command in ("jobs list", "workers", "doctor"):
        console.print(escape(f"    {tool} {command} --database {shown(url)}"))
    if served:
        address, key = served.address, served.key
        console.print(escape(f"  dashboard: {address}/dashboard/#key={key}"))
        console.print(escape(f"  HTTP API: {address}/v1, with the same key, which ends with this process:"))
        console.print(escape(f"    curl -H 'Authorization: Bearer {key}' {address}/v1/jobs"))
    else:
        console.print(escape("  no HTTP API: pip install 'fairlead[server]' adds it"))
    console.print("  stop with Ctrl-C: running jobs finish first; a second Ctrl-C stops at once\n")
