"""How soon a bare worker has a job: it waits for a hint, claims, and notes the time.

The hint is a notification with the commit on PostgreSQL, and a datagram after it beside a SQLite file. Run as a program
this module is the worker, and answers with the instants at which it had its jobs.
"""

import asyncio
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

import psycopg

from benchmarks.floor.loops import Loop, PostgresLoop, SqliteLoop, create_tables, postgres_connection
from benchmarks.floor.measure import PAYLOAD
from benchmarks.subprocesses import opened_helpers, serve
from fairlead.errors import StoreUnavailable

CHANNEL = "fairlead_bench"
POLL = 0.5  # seconds after which a worker looks without a hint
PATIENCE = 60.0  # seconds after the last job for which a worker waits
MOST = 50


class Part(NamedTuple):
    """What the worker does: take so many jobs; beside a SQLite file it is told of them at an address."""

    url: str
    jobs: int
    address: str


class Wire(Protocol):
    """How a bare producer reaches a bare worker."""

    @property
    def loop(self) -> Loop:
        """Where the jobs are."""

    def submit(self, payload: str) -> None:
        """Store a job and wake the worker."""

    def listen(self) -> None:
        """Begin to hear of jobs."""

    def wait(self) -> None:
        """Wait for a hint, but not for ever."""

    def close(self) -> None:
        """Disconnect."""


class PostgresWire:
    """The notification leaves with the commit, and is heard on a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.loop = PostgresLoop(url)
        self._listener: psycopg.Connection[object] | None = None

    def submit(self, payload: str) -> None:
        """Store a job and wake the worker."""
        self.loop.insert([payload], "insert_waking")

    def listen(self) -> None:
        """Begin to hear of jobs."""
        self._listener = postgres_connection(self._url)
        self._listener.execute(f"LISTEN {CHANNEL}")

    def wait(self) -> None:
        """Wait for a hint, but not for ever."""
        assert self._listener is not None
        list(self._listener.notifies(timeout=POLL, stop_after=1))

    def close(self) -> None:
        """Disconnect."""
        self.loop.close()
        if self._listener is not None:
            self._listener.close()


class SqliteWire:
    """A datagram after the commit."""

    def __init__(self, url: str, address: str) -> None:
        self.loop = SqliteLoop(url)
        self._address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def submit(self, payload: str) -> None:
        """Store a job and wake the worker."""
        self.loop.insert([payload])
        with suppress(OSError):  # it is not there yet, and will look
            self._socket.sendto(b"1", socket.MSG_DONTWAIT, self._address)

    def listen(self) -> None:
        """Begin to hear of jobs."""
        self._socket.bind(self._address)
        self._socket.settimeout(POLL)

    def wait(self) -> None:
        """Wait for a hint, but not for ever."""
        with suppress(TimeoutError):
            self._socket.recv(16)

    def close(self) -> None:
        """Disconnect."""
        self.loop.close()
        self._socket.close()


def open_wire(url: str, address: str) -> Wire:
    """A wire of the store behind a URL."""
    return PostgresWire(url) if url.startswith("postgres") else SqliteWire(url, address)


async def measure_starts(url: str, seconds: float, interval: float, settle_down: float) -> list[float]:
    """The seconds from the return of each insert until the bare worker had the job."""
    with tempfile.TemporaryDirectory(prefix="fairlead-") as folder:
        part = Part(url, max(1, int(seconds / interval)), str(Path(folder, "hints")))
        create_tables(url)
        async with opened_helpers(__name__, 1) as (helper,):
            worker = asyncio.create_task(helper.ask(part))
            await asyncio.sleep(settle_down)
            returned = await _submit(part, interval)
            started = await worker
    if len(started) < len(returned):
        raise StoreUnavailable(f"the bare worker had only {len(started)} of {len(returned)} jobs; see its log above")
    return [max(0.0, start - moment) for start, moment in zip(started, returned, strict=True)]


async def _submit(part: Part, interval: float) -> list[float]:
    """When the insert of each job returned."""
    wire, returned = open_wire(part.url, part.address), list[float]()
    try:
        began = time.monotonic()
        for number in range(part.jobs):
            await asyncio.sleep(max(0.0, began + number * interval - time.monotonic()))
            wire.submit(PAYLOAD)
            returned.append(time.time())
    finally:
        wire.close()
    return returned


def take(part: Part) -> list[float]:
    """The worker: when it had each job, in the order in which they came."""
    wire, started = open_wire(part.url, part.address), list[float]()
    try:
        wire.listen()
        give_up = time.monotonic() + PATIENCE
        while len(started) < part.jobs and time.monotonic() < give_up:
            taken = wire.loop.claim(MOST)
            if taken:
                started += [time.time()] * len(taken)
                give_up = time.monotonic() + PATIENCE
            else:
                wire.wait()
    finally:
        wire.close()
    return started


if __name__ == "__main__":
    serve(lambda given: take(Part(*given)))
