"""Connections to PostgreSQL: how they are made, how long they may take, and what their errors mean."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from fairlead.errors import ConfigError, SchemaMismatch, StoreError, StoreRefused, StoreUnavailable
from fairlead.stores.sql import Statements, pyformat

FOLDER = Path(__file__).parent
DEADLINE = 30.0
POOL_SIZE = 8
CANCEL_AGAIN = 0.1  # seconds
# A request that finds no connection starts a new try to connect; one that waits longer keeps the pool from trying.
POOL_PATIENCE = 3.0

query = Statements(FOLDER / "sql", pyformat)

# A peer that vanished without a word is noticed by the kernel in about ten seconds, on every connection.
SOCKET = {
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def conninfo(url: str) -> str:
    """The connection string of a database URL, with our socket deadlines where the URL names none."""
    try:
        given = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise ConfigError(
            f"{hide_password(url)!r} is not a PostgreSQL URL ({_without_secrets(str(error).strip(), url)}); write it "
            "like postgresql://user@host:5432/database, with %40 for @, %2F for / and %25 for % in a password"
        ) from None
    settings: dict[str, Any] = {"application_name": "fairlead", **SOCKET, **given}
    return psycopg.conninfo.make_conninfo("", **settings)


def hide_password(url: str) -> str:
    """The URL as it may be shown."""
    head, at, tail = url.rpartition("@")
    scheme, _, rest = head.partition("://")
    user = rest.partition(":")[0]
    shown = f"{scheme}://{user}{':***' if ':' in rest else ''}@{tail}" if at else url
    return re.sub(r"(password=)[^&]*", r"\1***", shown)


def _without_secrets(text: str, url: str) -> str:
    """The driver's words without the parts of a password that it quotes."""
    secrets = url.rpartition("@")[0].partition("://")[2].partition(":")[2] + url.partition("?")[2]
    return re.sub(r'"([^"]+)"', lambda quoted: '"***"' if quoted[1] in secrets else quoted[0], text)


class Stack(deque[psycopg.AsyncConnection[Any]]):
    """Idle connections, of which a pool takes the one that was given back last.

    Its session still has in the processor's caches what the next statement needs; going round all of them took a drain
    a twentieth of its rate. The library has no setting for the order.
    """

    append = deque.appendleft


class CancellablePool(AsyncConnectionPool[psycopg.AsyncConnection[Any]]):
    """A pool whose background tasks end when they are cancelled, also while they connect.

    The library takes such a cancellation for a connection that failed and goes on, so that a program which ends without
    closing its pool would wait for it without end.
    """

    @classmethod
    async def worker(cls, q: Any) -> None:
        """Do the pool's tasks until it is closed or this is cancelled."""
        working = asyncio.create_task(super().worker(q))
        try:
            await asyncio.wait([working])
        finally:
            while not working.done():
                working.cancel()
                await asyncio.wait([working], timeout=CANCEL_AGAIN)


class Pool(CancellablePool):
    """A pool that says why it has no connection to give, and keeps none that leads to a server that takes no writes."""

    def __init__(self, conninfo: str, **settings: Any) -> None:
        pool = self

        class Watched(psycopg.AsyncConnection[Any]):
            @classmethod
            async def connect(cls, *given: Any, **more: Any) -> Any:
                try:
                    connection = await super().connect(*given, **more)
                except psycopg.Error as error:
                    pool.why_none = error
                    raise
                pool.why_none = None
                return connection

        self.why_none: psycopg.Error | None = None
        super().__init__(conninfo, connection_class=Watched, **settings)
        self._pool = Stack()

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A connection for one call, within our deadline and with our errors.

        After a failover one to the former primary is closed, so that the next may find the new one. All of this is in
        one place, and without the pool's own context manager, since a call goes through it at each end.
        """
        with heeding(), translating():
            async with asyncio.timeout(DEADLINE):
                connection = await self._take()
                try:
                    yield connection
                except pg.ReadOnlySqlTransaction:
                    await connection.close()
                    raise
                finally:
                    await self.putconn(connection)

    async def _take(self) -> psycopg.AsyncConnection[Any]:
        try:
            return await self.getconn()
        except PoolTimeout as error:
            raise self.why_none or error from None


def make_pool(url: str, size: int = POOL_SIZE) -> Pool:
    """A pool that connects lazily and replaces broken connections by itself."""
    return Pool(
        conninfo(url),
        kwargs={"autocommit": True},
        min_size=1,
        max_size=size,
        timeout=POOL_PATIENCE,
        reconnect_timeout=POOL_PATIENCE,
        max_idle=60,
        open=False,
        configure=_settle_in,
        name="fairlead",
    )


async def _settle_in(connection: psycopg.AsyncConnection[Any]) -> None:
    """What a new connection is told first."""
    if await is_direct(connection):
        await connection.execute(query("settle_session"))


async def is_direct(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Whether a new connection leads to the server itself; what a pooler may mix up is left off where it does not.

    Behind a pooler each transaction may have another session of the server. What was prepared or set in one is missing
    in the next, and there for strangers.
    """
    cursor = await connection.execute(query("is_direct"), {"pid": connection.info.backend_pid})
    return _heed_pooler(connection, await cursor.fetchone())


def is_direct_blocking(connection: psycopg.Connection[Any]) -> bool:
    """The same for a blocking connection."""
    cursor = connection.execute(query("is_direct").encode(), {"pid": connection.info.backend_pid})
    return _heed_pooler(connection, cursor.fetchone())


def is_pooled(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Whether one of our connections was found to lead to a pooler when it was opened."""
    return connection.prepare_threshold is None


def takes_no_writes(connection: psycopg.AsyncConnection[Any] | psycopg.Connection[Any]) -> bool:
    """Whether the server has told that it takes none, as it does by itself since PostgreSQL 14."""
    told = connection.info.parameter_status
    return "on" in (told("in_hot_standby"), told("default_transaction_read_only"))


def _heed_pooler(connection: psycopg.AsyncConnection[Any] | psycopg.Connection[Any], answer: Any) -> bool:
    direct = bool(answer[0])
    if not direct:
        connection.prepare_threshold = None
    return direct


@contextmanager
def translating() -> Iterator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, TimeoutError) as error:
        raise explain(error) from error


@contextmanager
def heeding() -> Iterator[None]:
    """Pass on a cancellation that the driver or its pool has answered with an error, or with a result.

    The pool waits with asyncio.wait_for, which before Python 3.12 forgets a cancellation that comes in the moment of
    success; a statement that is cancelled may fail as if the server were away. A loop that goes on then never ends.
    """
    task = asyncio.current_task()
    asked = 0 if task is None else task.cancelling()
    try:
        yield
    except (StoreError, psycopg.Error):
        if task is not None and task.cancelling() > asked:
            raise asyncio.CancelledError from None
        raise
    if task is not None and task.cancelling() > asked:
        raise asyncio.CancelledError


def explain(error: Exception) -> StoreError:
    """What a driver's error means and what to do about it."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, pg.UndefinedTable | pg.UndefinedColumn):
        return SchemaMismatch(f"PostgreSQL lacks a table or column ({text}); run `fairlead migrate`")
    if isinstance(error, pg.InvalidCatalogName) or _refuses(text, r'database ".*" does not exist'):
        return StoreRefused(f"PostgreSQL has no such database ({text}); create it, for example with createdb")
    if isinstance(error, pg.InvalidPassword | pg.InvalidAuthorizationSpecification) or _refuses(
        text, r"authentication failed|role .* does not exist|no pg_hba.conf entry|no password supplied"
    ):
        return StoreRefused(f"PostgreSQL does not let us in ({text}); check user and password of the database URL")
    if isinstance(error, pg.InsufficientPrivilege):
        return StoreRefused(f"PostgreSQL refused ({text}); grant this user rights on Fairlead's tables")
    if isinstance(error, pg.ReadOnlySqlTransaction):
        return StoreRefused(f"PostgreSQL is read-only ({text}); this is a replica or in recovery: use the primary")
    if isinstance(error, pg.QueryCanceled | pg.LockNotAvailable):
        return StoreUnavailable(
            f"PostgreSQL ended a statement that took too long ({text}); if it does so often, look for locks that are "
            "held long, or raise statement_timeout and lock_timeout of this user"
        )
    if isinstance(error, pg.DuplicatePreparedStatement | pg.InvalidSqlStatementName):
        return StoreRefused(
            f"a prepared statement was mixed up ({text}): a pooler in transaction mode stands before PostgreSQL; give "
            "connections of your own prepare_threshold=None"
        )
    if "unsupported startup parameter" in text:
        return StoreRefused(
            f"the pooler before PostgreSQL does not pass on what the database URL sets ({text}); leave `options` out "
            "of the URL, and set it for the user: ALTER ROLE ... SET search_path = ..."
        )
    if isinstance(error, pg.TooManyConnections) or _refuses(
        text, r"too many|remaining connection slots|no more connections allowed"
    ):
        return StoreUnavailable(
            f"PostgreSQL has no connection left for us ({text}); raise max_connections, run fewer processes, or put a "
            "pooler in front"
        )
    if isinstance(error, pg.CannotConnectNow) or _refuses(text, r"the database system is"):
        return StoreUnavailable(f"PostgreSQL starts, stops or recovers just now ({text}); it is tried again")
    if isinstance(error, pg.DiskFull):
        return StoreUnavailable(f"PostgreSQL has no disk space left ({text}); nothing was stored: free some space")
    if isinstance(error, PoolTimeout):
        return StoreUnavailable(f"PostgreSQL gave no connection in time ({text}); is the server running?")
    if isinstance(error, pg.IdleInTransactionSessionTimeout):
        return StoreUnavailable(f"PostgreSQL ended a transaction that stood still ({text}); nothing of it was stored")
    if isinstance(error, TimeoutError):
        return StoreUnavailable(f"PostgreSQL did not answer within {DEADLINE:.0f} s; it is overloaded or cut off")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreUnavailable(f"PostgreSQL cannot be reached or broke off ({text})")
    return StoreRefused(f"PostgreSQL refused a statement ({text}); this is a defect in Fairlead: please report it")


def _refuses(text: str, pattern: str) -> bool:
    """Whether the server refused the connection for this reason; the driver gives no code for it, only words."""
    return "FATAL" in text and re.search(pattern, text) is not None
