"""The connections of a store, as the server sees them."""

import socket
import subprocess
import sys
import uuid
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, cast

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from fairlead.core.jobs.workers import WorkerInfo
from fairlead.errors import StoreError, StoreRefused, StoreUnavailable
from fairlead.records.store import Store
from fairlead.stores.postgres import connection as connections
from fairlead.stores.postgres.connection import POOL_SIZE, explain
from fairlead.stores.postgres.store import PostgresStore
from fairlead.wiring import make_store

pytestmark = pytest.mark.postgres


def lent(store: Store) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]:
    """A connection of the store's pool."""
    return cast(PostgresStore, store.jobs).connection()


async def test_statements_are_not_compiled(postgres_url: str) -> None:
    """Compiling took more than half of the server's time whenever its guesses about a claim were wrong."""
    store = make_store(postgres_url)
    await store.open()
    try:
        async with lent(store) as connection:
            cursor = await connection.execute("show jit")
            assert await cursor.fetchone() == ("off",)
    finally:
        await store.close()


async def test_who_asks_gets_the_session_that_was_given_back_last(postgres_url: str) -> None:
    """Its caches are warm; a pool that goes round all of its sessions keeps none of them so."""
    store = make_store(postgres_url)
    await store.open()
    try:
        async with (
            lent(store) as first,
            lent(store) as second,
            lent(store),
        ):
            assert first is not second
        async with lent(store) as again:
            assert again is first
            async with lent(store) as other:
                assert other is second
    finally:
        await store.close()


def new_worker() -> WorkerInfo:
    return WorkerInfo(str(uuid.uuid4()), "host", 1, ("short",), ("mail",), 1, "1")


async def test_a_connection_to_a_former_primary_is_not_kept(postgres_url: str) -> None:
    """After a failover pooled connections may lead to a server that takes no writes any more."""
    database = postgres_url.rpartition("/")[2].partition("?")[0]
    store = make_store(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as operator:
        operator.execute(f'alter database "{database}" set default_transaction_read_only = on')
        try:
            await store.open()
            with pytest.raises(StoreRefused, match="read-only"):
                await store.workers.register(new_worker(), 60.0)
        finally:
            operator.execute("set default_transaction_read_only = off")
            operator.execute(f'alter database "{database}" reset default_transaction_read_only')
    try:
        for _ in range(POOL_SIZE):  # at worst all that were open
            with suppress(StoreRefused):
                await store.workers.register(new_worker(), 60.0)
        await store.workers.register(new_worker(), 60.0)
    finally:
        await store.close()


async def test_a_pool_without_connections_says_why(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "POOL_PATIENCE", 0.5)
    store = make_store(postgres_url)
    await store.open()
    database = postgres_url.rpartition("/")[2].partition("?")[0]
    try:
        with psycopg.connect(postgres_url.replace(f"/{database}", "/postgres"), autocommit=True) as operator:
            operator.execute(f'alter database "{database}" allow_connections false')
            operator.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [database])
            try:
                with pytest.raises(StoreError):
                    await store.jobs.facts()  # the connection that was in the pool broke off
                with pytest.raises(StoreError, match="not currently accepting connections"):
                    await store.jobs.facts()
            finally:
                operator.execute(f'alter database "{database}" allow_connections true')
        await store.jobs.facts()
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (psycopg.errors.QueryCanceled("canceling statement due to statement timeout"), "statement_timeout"),
        (psycopg.errors.LockNotAvailable("canceling statement due to lock timeout"), "lock_timeout"),
        (psycopg.OperationalError("FATAL:  sorry, too many clients already"), "max_connections"),
        (psycopg.OperationalError("FATAL:  remaining connection slots are reserved"), "max_connections"),
        (psycopg.OperationalError("FATAL:  the database system is in recovery mode"), "tried again"),
        (PoolTimeout("couldn't get a connection after 3.00 sec"), "is the server running"),
    ],
)
def test_what_passes_says_what_to_do(error: Exception, words: str) -> None:
    explained = explain(error)
    assert isinstance(explained, StoreUnavailable)
    assert words in str(explained)


ENDS_WHILE_CONNECTING = """
import asyncio, sys
from fairlead.stores.postgres.connection import make_pool

async def main():
    await make_pool(sys.argv[1]).open()
    await asyncio.sleep(0.2)

asyncio.run(main())
print("ended")
"""


def test_a_program_ends_while_its_pool_connects_to_a_server_that_says_nothing() -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        url = f"postgresql://nobody@127.0.0.1:{mute.getsockname()[1]}/nothing?sslmode=disable"
        command = [sys.executable, "-c", ENDS_WHILE_CONNECTING, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "ended\n", done.stderr
