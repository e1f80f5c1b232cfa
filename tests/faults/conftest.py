"""Fixtures for fault tests: an app on each shared store, and its journal."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

import fairlead
from fairlead.handlers.options import Options
from tests.faults import app as declared
from tests.support.processes import Line, WorkerProcess, read_journal


class Scene:
    """A store, a client on it, and the journal of all its workers."""

    def __init__(self, url: str, folder: Path, client_app: fairlead.App) -> None:
        self.url = url
        self.folder = folder
        self.app = client_app

    def worker(self, name: str = "worker", *options: str) -> WorkerProcess:
        """Start a worker with its supervisor."""
        return WorkerProcess(self.url, self.folder, name, *options)

    async def freeze(self, process: WorkerProcess) -> None:
        """Stop a process group where it holds no lock: one on a SQLite file would stop everybody else too."""
        while True:
            process.signal_group(signal.SIGSTOP)
            if not self.url.startswith("sqlite") or await asyncio.to_thread(takes_writes, self.url):
                return
            process.signal_group(signal.SIGCONT)
            await asyncio.sleep(0.05)

    def journal(self, what: str | None = None) -> list[Line]:
        """What handlers wrote."""
        return [line for line in read_journal(self.folder / "journal") if what is None or line.what == what]

    async def enqueue(self, name: str, count: int = 1, **arguments: object) -> list[fairlead.Job]:
        """Submit jobs of the fault app."""
        client = await self.app.client()
        return await client.enqueue(declared.app.registry[name], [arguments] * count, Options())

    async def unfinished(self) -> int:
        """How many jobs have not ended."""
        return sum((await (await self.app.store()).reader.count_jobs()).values())

    async def drained(self, patience: float = 60.0) -> None:
        """Wait until every job has ended."""
        deadline = time.monotonic() + patience
        while left := await self.unfinished():
            assert time.monotonic() < deadline, f"{left} jobs have not ended"
            await asyncio.sleep(0.1)


def takes_writes(url: str) -> bool:
    """Whether nobody holds the write lock of a SQLite file for long."""
    connection = apsw.Connection(url.removeprefix("sqlite:///"))
    connection.set_busy_timeout(1000)
    try:
        connection.execute("BEGIN IMMEDIATE; ROLLBACK")
    except apsw.BusyError:
        return False
    finally:
        connection.close()
    return True


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def scene(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Scene]:
    """A scene on a SQLite file and on PostgreSQL."""
    url = str(request.getfixturevalue(f"{request.param}_url"))
    async with fairlead.App(url) as app:
        yield Scene(url, tmp_path, app)
