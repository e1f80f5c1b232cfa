"""Statements on the thread of a caller that blocks, past the event loop and its pool.

To hand a statement over to another thread and to be woken again takes longer than the statement. So there is one
connection for such callers, which one at a time may use; whoever finds it taken goes the common way, where many share a
commit. It is opened in the background when the first could use it, and closed after a minute in which nobody did.
"""

import threading
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg_pool import ConnectionPool, PoolTimeout

from fairlead.errors import StoreUnavailable
from fairlead.stores.postgres.connection import (
    DEADLINE,
    POOL_PATIENCE,
    conninfo,
    is_direct_blocking,
    query,
    translating,
)

AT_ONCE = 0.001  # seconds to wait for a connection that nobody uses
CANCEL_PATIENCE = 5.0


class Punctual(psycopg.Connection[Any]):
    """A connection on which nothing takes longer than the deadline."""

    def wait(self, gen: Generator[Any, Any, Any], *given: Any, **more: Any) -> Any:
        """Do what the driver does to wait for the server, but not for ever."""
        return super().wait(_until(time.monotonic() + DEADLINE, gen), *given, **more)


class OwnThread:
    """Runs statements on the calling thread, one at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._turn = threading.Lock()
        self._pool: ConnectionPool[Punctual] | None = None
        self._closed = False

    def run(self, name: str, given: Mapping[str, Any]) -> bool:
        """Run a statement of which nothing comes back; False where somebody else has the turn, or no connection is
        there yet."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            with translating():
                return self._execute(name, given)
        finally:
            self._turn.release()

    def close(self) -> None:
        """Give back the connection, once nobody uses it."""
        with self._turn:
            pool, self._pool, self._closed = self._pool, None, True
        if pool is not None:
            pool.close(timeout=5)

    def _execute(self, name: str, given: Mapping[str, Any]) -> bool:
        pool = self._opened()
        try:
            connection = pool.getconn(AT_ONCE)
        except PoolTimeout:
            return False
        try:
            connection.execute(query(name).encode(), given)
        except pg.ReadOnlySqlTransaction:  # the next one may find the new primary
            connection.close()
            raise
        except TimeoutError:
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=CANCEL_PATIENCE)
            raise
        finally:
            pool.putconn(connection)
        return True

    def _opened(self) -> ConnectionPool[Punctual]:
        if self._closed:
            raise StoreUnavailable("the store is closed; open it first")
        if self._pool is None:
            self._pool = ConnectionPool(
                conninfo(self._url),
                connection_class=Punctual,
                kwargs={"autocommit": True},
                min_size=0,
                max_size=1,
                max_idle=60,
                reconnect_timeout=POOL_PATIENCE,
                num_workers=1,
                configure=_settle_in,
                open=True,
                name="fairlead-callers",
            )
        return self._pool


def _settle_in(connection: Punctual) -> None:
    if is_direct_blocking(connection):
        connection.execute(query("no_jit").encode())


def _until(deadline: float, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The same steps; TimeoutError once the deadline is over and nothing has come from the server."""
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise TimeoutError
            wanted = steps.send(ready)
    except StopIteration as end:
        return end.value
