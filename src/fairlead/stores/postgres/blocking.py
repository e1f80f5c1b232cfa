"""Statements on the thread of a caller that blocks, past the event loop and its pool.

To hand a statement over to another thread and to be woken again takes longer than the statement. So there is one
connection for such callers, which one at a time may use; whoever finds it taken goes the common way, where many share a
commit. It is opened in the background when the first could use it, and closed after a minute in which nobody did.

A signal handler may raise anywhere in a caller's own thread. Nothing is held therefore that would have to be let go: a
connection that is in use belongs to its user alone, and one that does not come back is replaced.
"""

import json
import threading
import time
import weakref
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg.pq import TransactionStatus

from fairlead.core.jobs.model import Lane
from fairlead.errors import StoreUnavailable
from fairlead.ports.database import RunEach, Statement
from fairlead.records.lanes import ensure_lanes
from fairlead.stores.postgres.connection import DEADLINE, conninfo, explain, is_direct_blocking, query, translating
from fairlead.stores.within import drive

IDLE = 60.0  # seconds without use, after which the connection is closed
LOOK = 5.0  # seconds between two looks whether it is used
PAUSE = 1.0  # seconds after a try to connect, within which there is no other
CANCEL_PATIENCE = 5.0


class _Late(Exception):
    """The server has not answered in time; not a TimeoutError, which may be the caller's own."""


class Punctual(psycopg.Connection[Any]):
    """A connection on which nothing takes longer than the deadline."""

    def wait(self, gen: Generator[Any, Any, Any], *given: Any, **more: Any) -> Any:
        """Do what the driver does to wait for the server, but not for ever."""
        return super().wait(_until(time.monotonic() + DEADLINE, gen), *given, **more)


class OwnThread:
    """Runs statements on the calling thread, one at a time."""

    def __init__(self, url: str) -> None:
        self._conninfo = conninfo(url)
        self._free: list[Punctual] = []  # the connection, unless somebody uses it
        self._known: weakref.ref[Punctual] | None = None
        self._used_at = 0.0
        self._opened_at = 0.0
        self._keepers: list[threading.Thread] = []
        self._ended = threading.Event()

    def run(self, name: str, given: Mapping[str, Any]) -> bool:
        """Run a statement of which nothing comes back; False where somebody else has the connection, or there is none
        yet."""
        if self._ended.is_set():
            raise StoreUnavailable("the store is closed; open it first")
        try:
            connection = self._free.pop()
        except IndexError:
            self._want()
            return False
        try:
            self._used_at = time.monotonic()
            connection.execute(query(name).encode(), given)
            return True
        except pg.ReadOnlySqlTransaction as error:
            connection.close()  # the next one may find the new primary
            raise explain(error) from error
        except psycopg.Error as error:
            raise explain(error) from error
        except _Late:
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=CANCEL_PATIENCE)
            raise explain(TimeoutError()) from None
        finally:
            self._take_back(connection)

    def close(self) -> None:
        """Close the connection; one that is in use is closed when it comes back."""
        self._ended.set()
        for keeper in self._keepers:
            keeper.join(LOOK)

    def _take_back(self, connection: Punctual) -> None:
        if self._ended.is_set() or connection.pgconn.transaction_status != TransactionStatus.IDLE:
            connection.close()
        else:
            self._free.append(connection)

    def _want(self) -> None:
        """Have a connection opened, unless there is one or it was tried just now."""
        now = time.monotonic()
        if not _is_open(self._known) and now > self._opened_at + PAUSE:
            self._opened_at = now
            self._keepers = [keeper for keeper in self._keepers if keeper.is_alive()]
            self._keepers.append(threading.Thread(target=self._keep, name="fairlead-callers", daemon=True))
            self._keepers[-1].start()

    def _keep(self) -> None:
        """Open a connection, and close it when nobody uses it."""
        try:
            own = self._opened()
        except (psycopg.Error, _Late):  # whoever goes the common way is told
            return
        while _is_open(own) and not self._ended.wait(LOOK) and time.monotonic() < self._used_at + IDLE:
            pass
        connection = own()
        if connection is not None:
            with suppress(ValueError):  # it is in use, and closed when it comes back
                self._free.remove(connection)
                connection.close()

    def _opened(self) -> "weakref.ref[Punctual]":
        connection = Punctual.connect(self._conninfo, autocommit=True)
        if is_direct_blocking(connection):
            connection.execute(query("settle_session").encode())
        self._used_at = time.monotonic()
        self._known = weakref.ref(connection)
        self._free.append(connection)
        return self._known


def write_lanes(conninfo: str, lanes: Iterable[Lane]) -> None:
    """Write lanes for a submission in somebody else's transaction, on a connection of our own, and commit.

    A lane that was written in the caller's transaction would be locked until that ends: every other submission to it
    would wait, and two transactions could wait for each other.
    """
    try:
        with translating(), Punctual.connect(conninfo, autocommit=True) as connection, connection.transaction():
            drive(ensure_lanes(lanes), lambda statement: _perform(connection, statement))
    except _Late:
        raise explain(TimeoutError()) from None


def _perform(connection: Punctual, statement: Statement) -> list[Any]:
    assert isinstance(statement, RunEach)
    cursor = connection.execute(query(statement.query).encode(), {"rows": json.dumps(statement.rows)})
    return cursor.fetchall() if cursor.description else []


def _is_open(connection: "weakref.ref[Punctual] | None") -> bool:
    """Whether the connection is there, free or in use."""
    known = None if connection is None else connection()
    return known is not None and not known.closed


def _until(deadline: float, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """The same steps; _Late once the deadline is over and nothing has come from the server."""
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                raise _Late
            wanted = steps.send(ready)
    except StopIteration as end:
        return end.value
