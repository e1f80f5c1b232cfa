"""A SQLite database in this process: one line for writers, one for readers, and no way around them.

Functions given to it run in transactions (transactions.py) on threads of its own (lines.py), or on that of a blocking
caller while nobody else writes. Readers have their own connection and see the last commit, so that they never wait for
writers. A database in memory has only one connection.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TypeVar

import apsw

from fairlead.errors import SchemaMismatch, StoreRefused, StoreUnavailable
from fairlead.stores.sqlite.address import Address
from fairlead.stores.sqlite.connection import LARGEST_WAL, connect, translating, wait_for_locks
from fairlead.stores.sqlite.lines import Line
from fairlead.stores.sqlite.openfiles import enter, leave
from fairlead.stores.sqlite.statistics import forget_statistics
from fairlead.stores.sqlite.transactions import Transactions

GROUP = 100
CHECK_INTERVAL = 5.0
PATIENCE = 0.25  # seconds that tidying up waits for others

Value = TypeVar("Value")


class DatabaseFile:
    """Runs works: functions of a connection and the transaction's now."""

    def __init__(self, address: Address, clock: Callable[[], float] = time.time, reads: bool = True) -> None:
        self.address = address
        self._clock = clock
        self._reads = reads and not address.in_memory
        self._pid = 0
        self._identity: tuple[int, int] | None = None
        self._writer: Line | None = None
        self._reader: Line | None = None
        self._next_check = 0.0

    def open(self, create: bool = False) -> None:
        """Connect and start the threads; a missing file is created only on demand."""
        if self._writer is not None and self._pid == os.getpid():
            return
        if not self.address.in_memory:
            self._enter(create)
        self._pid = os.getpid()
        try:
            self._writer = self._open_line("writer", "BEGIN IMMEDIATE", GROUP, create)
            self._identity = self._file_identity()
            if self._reads:
                self._reader = self._open_line("reader", "BEGIN", 1, create=False)
        except BaseException:
            self._end()
            raise

    def close(self) -> None:
        """Finish what waits and disconnect; in a forked child, which owns none of it, this does nothing."""
        if self._writer is not None and self._pid == os.getpid():
            self._end()

    async def start(self) -> None:
        """The same as `open`, without holding up the event loop."""
        await asyncio.to_thread(self.open)

    async def stop(self) -> None:
        """The same as `close`, without holding up the event loop."""
        await asyncio.to_thread(self.close)

    async def run(self, work: Callable[[apsw.Connection, float], Value]) -> Value:
        """The work's result, after its transaction has been committed."""
        answer: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
        self._writing().submit(work, answer)
        return await answer

    def call(self, work: Callable[[apsw.Connection, float], Value], writes: bool = True) -> Value:
        """Run a work from a thread that may block: on that thread, where nobody else uses the connection."""
        line = self._writing() if writes else self._reading()
        result = line.run_here(work)
        if result is None:
            answer: Future[Value] = Future()
            line.submit(work, answer)
            return answer.result()
        if result.error is not None:
            raise result.error
        value: Value = result.value
        return value

    async def read(self, work: Callable[[apsw.Connection, float], Value]) -> Value:
        """The result of a work that only reads; it never waits for writers."""
        answer: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
        self._reading().submit(work, answer)
        return await answer

    def _writing(self) -> Line:
        if self._writer is None:
            raise StoreUnavailable("the store is closed; open it first")
        if self._pid != os.getpid():
            raise StoreRefused(
                "this process was forked after the store was opened; a SQLite connection does not survive a fork: "
                "open the store in the child process"
            )
        return self._writer

    def _reading(self) -> Line:
        """The reader; a database in memory has one connection for all."""
        writer = self._writing()
        return self._reader or writer

    def _enter(self, create: bool) -> None:
        path = self.address.path
        if not create and not os.path.exists(path) and os.path.isdir(os.path.dirname(path)):
            raise SchemaMismatch(
                f"there is no database {path} yet; create it with `fairlead migrate`, `fairlead up` or app.migrate(), "
                "or name another one (--database, FAIRLEAD_DATABASE_URL)"
            )
        enter(path)

    def _end(self) -> None:
        lines, self._reader, self._writer = (self._reader, self._writer), None, None
        for line in lines:
            if line is not None:
                line.end()
        if not self.address.in_memory:
            leave(self.address.path)

    def _open_line(self, role: str, begin: str, group: int, create: bool) -> Line:
        def connected() -> apsw.Connection:
            with translating(self.address.path):
                connection = connect(self.address, create)
                if role == "reader":
                    connection.pragma("query_only", True)
                elif not connection.readonly("main"):
                    _forget_statistics(connection)
                return connection

        def transactions(connection: apsw.Connection) -> Transactions:
            return Transactions(connection, begin, self.address.path, self._clock, self._check_file)

        name = f"fairlead-sqlite-{role}"
        if role == "reader" or self.address.in_memory:
            line = Line(name, connected, transactions, group)
        else:
            line = Line(name, connected, transactions, group, self._tidy_up, _truncate_wal)
        line.open()
        return line

    def _check_file(self) -> None:
        """Refuse to go on with a file that was deleted or replaced: what is written to it would be lost."""
        if self._identity is not None and self._file_identity() != self._identity:
            raise StoreRefused(
                f"{self.address.path} was moved, deleted or replaced while it was open; start this process again"
            )

    def _file_identity(self) -> tuple[int, int] | None:
        if self.address.in_memory:
            return None
        try:
            found = os.stat(self.address.path)
        except OSError:
            return (0, 0)
        return (found.st_dev, found.st_ino)

    def _tidy_up(self, connection: apsw.Connection) -> None:
        """Once in a while: give back the space of a WAL that a long reader let grow, and forget statistics."""
        if time.monotonic() < self._next_check:
            return
        self._next_check = time.monotonic() + CHECK_INTERVAL
        if wal_bytes(self.address.path) > LARGEST_WAL:
            _truncate_wal(connection)
        _forget_statistics(connection)


class CallingThread(DatabaseFile):
    """A file as threads that block use it: its coroutines do the work where they are called and never wait."""

    def __init__(self, database: DatabaseFile) -> None:
        self._lines = database
        self.address = database.address

    async def start(self) -> None:
        """Connect."""
        self._lines.open()

    async def stop(self) -> None:
        """Disconnect; a database in memory is left to its owner."""
        if not self._lines.address.in_memory:
            self._lines.close()

    async def run(self, work: Callable[[apsw.Connection, float], Value]) -> Value:
        """The work's result, after its transaction has been committed."""
        return self._lines.call(work)

    async def read(self, work: Callable[[apsw.Connection, float], Value]) -> Value:
        """The result of a work that only reads."""
        return self._lines.call(work, writes=False)


def wal_bytes(path: str) -> int:
    """The size of a database's write-ahead log."""
    with suppress(OSError):
        return os.path.getsize(f"{path}-wal")
    return 0


def _truncate_wal(connection: apsw.Connection) -> None:
    """Best effort: a reader in the way is waited for only a moment."""
    with _little_patience(connection), suppress(apsw.Error):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def _forget_statistics(connection: apsw.Connection) -> None:
    """Best effort: a writer in the way is waited for only a moment."""
    with _little_patience(connection), suppress(apsw.Error):
        forget_statistics(connection)


@contextmanager
def _little_patience(connection: apsw.Connection) -> Iterator[None]:
    wait_for_locks(connection, PATIENCE)
    try:
        yield
    finally:
        wait_for_locks(connection)
