"""The store for threads that block: the same verbs on a small pool of blocking connections.

A verb's coroutine runs its statements on the calling thread and never waits for an event loop, so that whoever calls it
can run it through at once. Handing a statement over to another thread takes longer than the statement.

A signal handler may raise anywhere in the calling thread. A connection that was interrupted is closed and replaced.
"""

import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from threading import Lock
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool, PoolTimeout

from fairlead.errors import StoreUnavailable
from fairlead.ports.database import Rows, Run, Script
from fairlead.records.lanes import KnownLanes
from fairlead.stores.postgres.connection import (
    DEADLINE,
    POOL_PATIENCE,
    explain,
    is_direct_blocking,
    query,
    translating,
)
from fairlead.stores.postgres.database import drive, perform
from fairlead.stores.postgres.migrate import check_schema
from fairlead.stores.postgres.store import PostgresStore

POOL_SIZE = 8
IDLE = 60.0  # seconds without use, after which a connection is closed
CANCEL_PATIENCE = 5.0

Value = TypeVar("Value")


class DeadlineOver(Exception):
    """The server has not answered in time; not a TimeoutError, which may be the caller's own."""


class DeadlineConnection(psycopg.Connection[Any]):
    """A connection on which no statement takes longer than the deadline."""

    def wait(self, gen: Generator[Any, Any, Any], *given: Any, **more: Any) -> Any:
        """Wait for the server as the driver does, but not for ever."""
        return super().wait(_until(time.monotonic() + DEADLINE, gen), *given, **more)


class BlockingPool:
    """Up to POOL_SIZE connections, opened at the first use and closed after a minute without use."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._lock = Lock()
        self._pool: ConnectionPool[DeadlineConnection] | None = None
        self._why_none: Exception | None = None

    def open(self) -> None:
        """Let connections be made."""
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._conninfo,
                    connection_class=self._watched(),
                    kwargs={"autocommit": True},
                    min_size=0,
                    max_size=POOL_SIZE,
                    timeout=POOL_PATIENCE,
                    reconnect_timeout=POOL_PATIENCE,
                    max_idle=IDLE,
                    num_workers=1,
                    configure=_settle_in,
                    open=True,
                    name="fairlead-blocking",
                )

    def close(self) -> None:
        """Close all connections; one in use is closed when it comes back."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(timeout=POOL_PATIENCE)

    def check(self) -> None:
        """Replace the connections that broke while nobody used them."""
        if self._pool is not None:
            self._pool.check()

    @contextmanager
    def lend(self) -> Iterator[DeadlineConnection]:
        """A connection for one call, within our deadline and with our errors."""
        pool = self._pool
        if pool is None:
            raise StoreUnavailable("the store is closed; open it first")
        connection = self._taken(pool)
        try:
            yield connection
        except pg.ReadOnlySqlTransaction as error:
            connection.close()  # the next one may find the new primary
            raise explain(error) from error
        except psycopg.Error as error:
            raise explain(error) from error
        except DeadlineOver:
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=CANCEL_PATIENCE)
            connection.close()
            raise explain(TimeoutError()) from None
        finally:
            pool.putconn(connection)

    def _taken(self, pool: ConnectionPool[DeadlineConnection]) -> DeadlineConnection:
        try:
            return pool.getconn()
        except PoolTimeout as error:
            raise explain(self._why_none or error) from error
        except psycopg.Error as error:
            raise explain(error) from error

    def _watched(self) -> type[DeadlineConnection]:
        """A class of connections that notes why one could not be made."""
        pool = self

        class Watched(DeadlineConnection):
            @classmethod
            def connect(cls, *given: Any, **more: Any) -> Any:
                try:
                    connection = super().connect(*given, **more)
                except psycopg.Error as error:
                    pool._why_none = error
                    raise
                except DeadlineOver:
                    raise psycopg.OperationalError(f"no connection within {DEADLINE:.0f} s") from None
                pool._why_none = None
                return connection

        return Watched


class BlockingConnection:
    """A blocking connection as the verbs use one: what they await is done when they ask for it."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    async def execute(self, statement: str, parameters: Mapping[str, Any] | None = None, binary: bool = False) -> Any:
        """Run a statement."""
        cursor = psycopg.Cursor(self._connection, row_factory=tuple_row)
        return FetchedRows(cursor.execute(statement.encode(), parameters, binary=binary))


class FetchedRows:
    """The rows of a statement that has run."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor
        self.description = cursor.description
        self.rowcount = cursor.rowcount

    async def fetchall(self) -> list[Any]:
        """All rows."""
        return self._cursor.fetchall()

    async def fetchone(self) -> Any:
        """The next row; None if there is none."""
        return self._cursor.fetchone()


class BlockingPostgresStore(PostgresStore):
    """All verbs on the calling thread; their coroutines never wait."""

    def __init__(self, url: str, lanes: KnownLanes) -> None:
        super().__init__(url, lanes)
        self._connections = BlockingPool(self._conninfo)

    async def open(self) -> None:
        """Connect, and check that the schema is the one this version needs."""
        with translating(), psycopg.connect(self._conninfo, autocommit=True) as connection:
            await check_schema(BlockingConnection(connection))
        self._connections.open()

    async def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection of the pool."""
        with self._connections.lend() as connection:
            yield BlockingConnection(connection)

    async def transact(self, make_script: Callable[[], Script[Value]]) -> Value:
        """Run the script in a transaction and return its value."""
        with self._connections.lend() as connection, connection.transaction():
            return await drive(BlockingConnection(connection), make_script())

    async def run(self, name: str, **parameters: Any) -> Rows:
        """Run one statement."""
        with self._connections.lend() as connection:
            return await perform(BlockingConnection(connection), Run(name, parameters))

    async def pause(self, seconds: float) -> None:
        """Wait before the next try, on the calling thread."""
        time.sleep(seconds)  # noqa: ASYNC251, this thread has no event loop to hold up

    async def ask(self, name: str, **parameters: Any) -> Rows:
        """Reading can be repeated, so connections that broke while they lay in the pool are nobody's concern."""
        try:
            return await self.run(name, **parameters)
        except StoreUnavailable:
            self._connections.check()
            return await self.run(name, **parameters)


def _settle_in(connection: psycopg.Connection[Any]) -> None:
    """What a new connection is told first."""
    if is_direct_blocking(connection):
        connection.execute(query("settle_session").encode())


def _until(deadline: float, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The same steps; DeadlineOver once the deadline has passed and nothing has come from the server."""
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise DeadlineOver
            wanted = steps.send(ready)
    except StopIteration as end:
        return end.value
