"""The processes of a campaign on one store: workers, producers, an HTTP server, and the network before PostgreSQL."""

import asyncio
import contextlib
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import psutil

import fairlead
from fairlead.core.web.api_keys import Grant
from fairlead.operate.api_keys import create_key
from fairlead.runtime.operator import Operator
from fairlead.wiring import migrate
from tests.support.pooler import Pooler, PoolerMissing
from tests.support.postgres import PrivateServer, free_port
from tests.support.processes import WorkerProcess
from tests.support.proxy import CuttingProxy, cutting_proxy
from tests.torture.campaign.journal import record_changes

WORKERS = ("worker-0", "worker-1", "worker-2")
CLIENTS = ("client-0", "client-1", "client-2")
SERVER = "server"
PATH = "tests.torture.campaign.app:app"
WORKER = ("-m", "fairlead", "worker", PATH, "--pool", "short", "--processes", "2", "--concurrency", "32")
AHEAD = 7200
CLOCK = f"import time, time_machine\ntime_machine.travel(time.time() + {AHEAD}, tick=True).start()\n"
DISK_BYTES, DISK_BYTES_PER_MINUTE = 64 << 20, 48 << 20
END_SECONDS = 60.0
EXIT_AWAY = 4


class Actor(WorkerProcess):
    """A process in a group of its own, and when it was started."""

    def __init__(self, program: tuple[str, ...], url: str, folder: Path, name: str, **variables: str) -> None:
        self._program = program
        super().__init__(url, folder, name, **variables)

    def program(self) -> list[str]:
        """What it runs."""
        return list(self._program)

    def children(self) -> list[int]:
        """The processes that it has started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return [child.pid for child in psutil.Process(self.process.pid).children()]
        return []


class World:
    """Starts the processes, knows all of them, and ends all of them."""

    def __init__(self, url: str, folder: Path, server: PrivateServer | None, disk: Path | None, seed: str) -> None:
        self.url = url
        self.folder = folder
        self.server = server
        self.disk = disk  # the small file system that a SQLite file is on
        self.proxies: dict[str, CuttingProxy] = {}
        self.actors: dict[str, Actor] = {}
        self.gave_up: list[str] = []
        self.found_no_database = 0
        self.notes: list[str] = []
        self._urls: dict[str, str] = {}
        self._variables: dict[str, dict[str, str]] = {}
        self._past: list[Actor] = []
        self._address = f"http://127.0.0.1:{free_port()}"
        self._key = ""
        self._random = Random(seed)

    async def start_all(self) -> None:
        """Make the key of the HTTP server and start every process."""
        async with fairlead.App(self.url) as app:
            made = await create_key(await app.store(), Operator("campaign"), "campaign", [Grant.ADMIN])
            self._key = made.text
        for name in (*WORKERS, SERVER, *CLIENTS):
            self.start(name)

    def start(self, name: str) -> None:
        """Start a process; one of the same name is over."""
        if name in self.actors:
            self._past.append(self.actors[name])
        log = f"{name}.{sum(actor.log.name.startswith(name) for actor in self._past)}"
        url, variables = self._urls.get(name, self.url), self._variables.get(name, {})
        self.actors[name] = Actor(self._program(name), url, self.folder, log, **variables)

    def replace_ended(self) -> None:
        """Start again what has ended by itself, as a service manager does, and remember that it has.

        What finds no database when it starts ends with a code of its own, which is right.
        """
        for name, actor in list(self.actors.items()):
            code = actor.process.poll()
            if code == EXIT_AWAY:
                self.found_no_database += 1
            elif code is not None:
                self.gave_up.append(f"{actor.log.name}: exit {code}")
            if code is not None:
                self.start(name)

    def route(self, name: str, url: str, proxy: CuttingProxy | None = None, **variables: str) -> None:
        """The way that a process goes to the database, and what else is in its environment."""
        self._urls[name] = url
        self._variables.setdefault(name, {}).update(variables)
        if proxy is not None:
            self.proxies[name] = proxy

    def set_clock_ahead(self, name: str) -> None:
        """Let all processes of a worker believe that it is two hours later."""
        place = self.folder / "ahead"
        place.mkdir()
        (place / "sitecustomize.py").write_text(CLOCK)
        self._variables.setdefault(name, {})["PYTHONPATH"] = f"{place}:{Path.cwd()}"

    async def stop(self, names: tuple[str, ...]) -> None:
        """Ask processes to end, and wait until they have."""
        for name in names:
            self.actors[name].process.send_signal(signal.SIGTERM)
        for name in names:
            try:
                code = await asyncio.to_thread(self.actors[name].process.wait, END_SECONDS)
            except subprocess.TimeoutExpired:
                self.gave_up.append(f"{self.actors[name].log.name}: did not end within {END_SECONDS:g} s of SIGTERM")
                continue
            if code != 0:
                self.gave_up.append(f"{self.actors[name].log.name}: exit {code} after SIGTERM")

    async def drained(self, patience: float) -> float | None:
        """The seconds until no job was left to run; None if some are left after `patience` seconds."""
        began = time.monotonic()
        async with fairlead.App(self.url) as app:
            store = await app.store()
            while time.monotonic() < began + patience:
                if not sum((await store.reader.count_jobs()).values()):
                    return time.monotonic() - began
                await asyncio.sleep(0.2)
        return None

    def end(self) -> None:
        """Kill whatever is left of the processes that were started."""
        for actor in [*self._past, *self.actors.values()]:
            actor.__exit__()

    def count_in_logs(self, event: str) -> int:
        """How many lines of all logs have this text."""
        return sum(path.read_text(errors="replace").count(event) for path in self.folder.glob("*.log"))

    def _program(self, name: str) -> tuple[str, ...]:
        if name in WORKERS:
            return WORKER
        if name == SERVER:
            return ("-m", "fairlead", "serve", PATH, "--port", self._address.rpartition(":")[2])
        over_http = (self._address, self._key) if name == CLIENTS[-1] else ("", "")
        seed = str(self._random.random())
        return ("-m", "tests.torture.campaign.producer", name, seed, *over_http)


@contextlib.asynccontextmanager
async def sqlite_world(folder: Path, minutes: float, seed: str) -> AsyncIterator[World]:
    """A world on a SQLite file, on a small file system of its own where that can be mounted."""
    place = folder / "disk"
    place.mkdir()
    mounted = await asyncio.to_thread(mount, place, DISK_BYTES + int(minutes * DISK_BYTES_PER_MINUTE))
    url = f"sqlite:///{place / 'jobs.db'}"
    world = World(url, folder, None, place if mounted else None, seed)
    if not mounted:
        world.notes.append("no full disk: a small file system could not be mounted (that takes root)")
    try:
        await _prepare(world)
        yield world
    finally:
        world.end()
        if mounted:
            await asyncio.to_thread(unmount, place)


def mount(place: Path, size: int) -> bool:
    """Make a folder a file system of so many bytes; False where that is not allowed or not possible."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "fairlead-campaign", str(place)]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def unmount(place: Path) -> None:
    """Give the file system back."""
    subprocess.run(["umount", str(place)], check=True)


@contextlib.asynccontextmanager
async def postgres_world(folder: Path, minutes: float, seed: str) -> AsyncIterator[World]:
    """A world on a PostgreSQL server of its own: some processes come directly, others through proxies or a pooler."""
    async with contextlib.AsyncExitStack() as stack:
        server = stack.enter_context(PrivateServer(fsync=True))
        url = server.create_database("campaign")
        world = World(url, folder, server, None, seed)
        stack.callback(world.end)
        for name in (WORKERS[1], CLIENTS[1]):
            proxy, through = await stack.enter_async_context(cutting_proxy(url))
            world.route(name, through, proxy)
        world.set_clock_ahead(WORKERS[2])
        try:
            pooler = stack.enter_context(Pooler(url))
            world.route(WORKERS[2], pooler.url(url), FAIRLEAD_LISTEN_URL=url)
        except PoolerMissing:
            world.notes.append("not through PgBouncer: it is not installed")
        await _prepare(world)
        yield world


async def _prepare(world: World) -> None:
    await migrate(world.url)
    await asyncio.to_thread(record_changes, world.url)
    await world.start_all()


WORLDS = {"sqlite": sqlite_world, "postgres": postgres_world}
