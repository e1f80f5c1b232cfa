"""Transactions of handlers: their writes and the settlement of their job, committed together.

Each has a connection of its own for as long as its handler runs, from pools of a bounded size that nothing else uses:
handlers that wait for each other never take a connection from claims and settlements. The connection is handed out
inside a psycopg transaction block, which refuses a commit or rollback by the handler itself. The job's row is touched
only at the end, so that nobody waits for a handler that hangs or a process that was stopped. After a failover a
connection to a server that takes no writes is closed with its transaction, so that the next may find the new primary.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from threading import Lock
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from psycopg_pool import ConnectionPool, PoolTimeout

from fairlead.core.jobs.checkpoints import LastCheckpoint, NewCheckpoint
from fairlead.core.jobs.model import Hold, Settlement
from fairlead.errors import StoreRefused, StoreUnavailable
from fairlead.records.checkpoints import Checkpoints
from fairlead.records.rows import hold_of
from fairlead.stores.postgres.connection import (
    DEADLINE,
    CancellablePool,
    conninfo,
    heeding,
    is_direct,
    is_direct_blocking,
    takes_no_writes,
    translating,
)
from fairlead.stores.postgres.database import OpenDatabase
from fairlead.stores.postgres.settling import settle_script

MOST = 8
PATIENCE = 30.0
ROLLBACK = psycopg.Rollback
BUSY = (
    f"all {MOST} connections for transactions of handlers are taken, or PostgreSQL gave none for {PATIENCE:g} s; "
    "make these handlers short, or run more workers with fewer slots"
)


class HandlerTransaction:
    """What both kinds share: how a transaction ends well."""

    connection: Any
    _database: OpenDatabase

    async def holds(self, job_id: str, hold: Hold) -> bool:
        """Whether the job is still in this situation, as far as this transaction sees."""
        self._require_sound(job_id)
        found = await self._database.ask_each("held", [{"id": job_id}])
        return any(hold_of(row)._replace(cancelled=hold.cancelled) == hold for row in found)

    async def settle(self, settlement: Settlement) -> bool:
        """Settle the job and commit, both or neither."""
        self._require_sound(settlement.id)
        with translating():
            async with asyncio.timeout(DEADLINE):
                if settlement.id not in await self._database.transact(lambda: settle_script([settlement])):
                    await self.abandon()
                    return False
                await self._commit()
                return True

    async def save(self, checkpoint: NewCheckpoint) -> LastCheckpoint | None:
        """Save a checkpoint and commit, both or neither."""
        self._require_sound(checkpoint.id)
        with translating():
            async with asyncio.timeout(DEADLINE):
                saved = await Checkpoints(self._database).save([checkpoint])
                if not saved:
                    await self.abandon()
                    return None
                await self._commit()
                return saved[checkpoint.id]

    async def abandon(self) -> None:
        """Roll back, if it has not ended, and give back the connection."""
        raise NotImplementedError

    async def _commit(self) -> None:
        raise NotImplementedError

    def _require_sound(self, job_id: str) -> None:
        if self.connection.info.transaction_status is TransactionStatus.INERROR:
            raise StoreRefused(
                f"a statement in the transaction of job {job_id} had failed, so PostgreSQL keeps nothing of it; let "
                "the database's error pass out of the handler, or run what may fail in connection.transaction()"
            )


class AsyncTransaction(HandlerTransaction):
    """A transaction of a coroutine."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], opened: AsyncExitStack) -> None:
        self.connection = connection
        self._opened = opened
        self._database = OpenDatabase(PlainConnection(connection))
        self._over = False

    async def abandon(self) -> None:
        """Roll back, if it has not ended, and give back the connection."""
        if not self._over:
            self._over = True
            with suppress(psycopg.Error):  # a connection that is gone has rolled back
                if takes_no_writes(self.connection):
                    await self.connection.close()
                await self._opened.__aexit__(ROLLBACK, ROLLBACK(), None)

    async def _commit(self) -> None:
        self._over = True
        await self._opened.__aexit__(None, None, None)


class ThreadTransaction(HandlerTransaction):
    """A transaction of a handler in a thread, which may go on after its run is over."""

    def __init__(self, connection: psycopg.Connection[Any], opened: ExitStack) -> None:
        self.connection = connection
        self._opened = opened
        self._database = OpenDatabase(ThreadConnection(connection))
        self._lock = Lock()
        self._over = False
        self._has_ended = False  # committed or rolled back
        self._in_use = True  # until the thread has left its block

    def release(self, keep: bool) -> bool:
        """The thread has left its block; rolled back here unless it is kept and its run goes on."""
        with self._lock:
            self._in_use = False
            kept = keep and not self._over
            self._over = not kept
        if not kept:
            self._roll_back()
        return kept

    async def abandon(self) -> None:
        """Roll back and give back the connection; a thread that still uses it does that when it leaves its block."""
        with self._lock:
            over, in_use, self._over = self._over, self._in_use, True
        if not over:
            await asyncio.to_thread(self._interrupt if in_use else self._roll_back)

    async def _commit(self) -> None:
        self._over = self._has_ended = True
        await asyncio.to_thread(self._opened.__exit__, None, None, None)

    def _interrupt(self) -> None:
        """End the statement that runs now, if one does."""
        with suppress(psycopg.Error):
            self.connection.cancel_safe(timeout=5)

    def _roll_back(self) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        with suppress(psycopg.Error):
            if takes_no_writes(self.connection):
                self.connection.close()
            self._opened.__exit__(ROLLBACK, ROLLBACK(), None)


class PlainConnection:
    """A handler's connection as the verbs use one: rows are tuples, whatever the handler has set."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def execute(
        self, statement: str, parameters: Mapping[str, Any], binary: bool = False
    ) -> psycopg.AsyncCursor[Any]:
        """Run a statement."""
        cursor = psycopg.AsyncCursor(self._connection, row_factory=tuple_row)
        return await cursor.execute(statement.encode(), parameters, binary=binary)


class ThreadConnection:
    """A blocking one, whose statements run in a thread."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    async def execute(self, statement: str, parameters: Mapping[str, Any], binary: bool = False) -> "ThreadRows":
        """Run a statement."""
        cursor = psycopg.Cursor(self._connection, row_factory=tuple_row)
        await asyncio.to_thread(cursor.execute, statement.encode(), parameters, binary=binary)
        return ThreadRows(cursor)


class ThreadRows:
    """The rows of a statement that has run."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor
        self.description = cursor.description
        self.rowcount = cursor.rowcount

    async def fetchall(self) -> list[Any]:
        """All rows, which are here already."""
        return self._cursor.fetchall()


class Transactions:
    """The pools, made when the first transaction needs one."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = Lock()
        self._pool: CancellablePool | None = None
        self._threads_pool: ConnectionPool[psycopg.Connection[Any]] | None = None

    async def begin(self) -> AsyncTransaction:
        """Open a transaction; waits for a connection if too many are open."""
        if self._pool is None:
            self._pool = CancellablePool(conninfo(self._url), configure=_settle_in, reset=_reset, **_SIZES)
        with heeding(), _explaining():
            await self._pool.open()
            async with AsyncExitStack() as opening:
                connection = await opening.enter_async_context(self._pool.connection(PATIENCE))
                await opening.enter_async_context(connection.transaction())
                return AsyncTransaction(connection, opening.pop_all())

    def begin_blocking(self) -> ThreadTransaction:
        """Open one for the thread that asks; it waits by itself, so that nobody else's thread is kept waiting."""
        with self._lock:
            if self._threads_pool is None:
                self._threads_pool = ConnectionPool(
                    conninfo(self._url), configure=_settle_in_blocking, reset=_reset_blocking, **_SIZES
                )
            pool = self._threads_pool
        with _explaining(), ExitStack() as opening:
            pool.open()
            connection = opening.enter_context(pool.connection(PATIENCE))
            opening.enter_context(connection.transaction())
            return ThreadTransaction(connection, opening.pop_all())

    async def close(self) -> None:
        """Give back all connections."""
        if self._pool is not None:
            await self._pool.close(timeout=5)
        if self._threads_pool is not None:
            await asyncio.to_thread(self._threads_pool.close, timeout=5)
        self._pool = self._threads_pool = None


async def _settle_in(connection: psycopg.AsyncConnection[Any]) -> None:
    await is_direct(connection)
    await connection.rollback()


def _settle_in_blocking(connection: psycopg.Connection[Any]) -> None:
    is_direct_blocking(connection)
    connection.rollback()


async def _reset(connection: psycopg.AsyncConnection[Any]) -> None:
    connection.row_factory = tuple_row


def _reset_blocking(connection: psycopg.Connection[Any]) -> None:
    connection.row_factory = tuple_row


@contextmanager
def _explaining() -> Iterator[None]:
    try:
        with translating():
            yield
    except StoreUnavailable as error:
        if isinstance(error.__cause__, PoolTimeout):
            raise StoreUnavailable(BUSY) from error
        raise


_SIZES: dict[str, Any] = {
    "open": False,
    "min_size": 0,
    "max_size": MOST,
    "max_idle": 60,
    "name": "fairlead-transactions",
}
