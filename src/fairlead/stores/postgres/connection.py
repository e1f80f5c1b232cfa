"""Connections to PostgreSQL: how they are made, how long they may take, and what their errors mean."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from fairlead.errors import ConfigError, SchemaMismatch, StoreError, StoreRefused, StoreUnavailable
from fairlead.stores.sql import pyformat, queries

FOLDER = Path(__file__).parent
DEADLINE = 30.0
POOL_SIZE = 8
# A request that finds no connection starts a new try to connect; one that waits longer keeps the pool from trying.
POOL_PATIENCE = 3.0

query = queries(FOLDER / "queries", pyformat)

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
            f"{hide_password(url)!r} is not a PostgreSQL URL ({str(error).strip()}); "
            "write it like postgresql://user@host:5432/database"
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


def make_pool(url: str, size: int = POOL_SIZE) -> AsyncConnectionPool[psycopg.AsyncConnection[Any]]:
    """A pool that connects lazily and replaces broken connections by itself."""
    return AsyncConnectionPool(
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
    await connection.execute(query("no_jit"))


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
