"""A cancellation counts, whatever the driver or its pool makes of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import psycopg
import pytest

from fairlead.errors import StoreUnavailable
from fairlead.records.store import Store
from fairlead.stores.postgres.store import PostgresStore
from fairlead.wiring import make_store

pytestmark = pytest.mark.postgres

Connect = Callable[[], Awaitable[Any]]


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    """A store on PostgreSQL."""
    opened = make_store(postgres_url)
    await opened.open()
    yield opened
    await opened.close()


def pool_of(store: Store) -> Any:
    """The store's pool of connections."""
    return cast(PostgresStore, store.jobs)._pool


class Deaf:
    """A pool that hears a cancellation while it waits for a connection, and does something else instead."""

    def __init__(self, connect: Connect, error: Exception | None) -> None:
        self._connect = connect
        self._error = error
        self.waits = asyncio.Event()

    async def getconn(self) -> Any:
        """Wait until cancelled, and then fail or give a connection."""
        self.waits.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self._error is not None:
                raise self._error from None
        return await self._connect()


@pytest.mark.parametrize("error", [None, psycopg.OperationalError("canceling statement")], ids=["result", "error"])
async def test_a_cancellation_that_the_pool_swallows_still_ends_the_task(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    pool = Deaf(pool_of(store).getconn, error)
    monkeypatch.setattr(pool_of(store), "getconn", pool.getconn)
    task = asyncio.create_task(store.workers.all())
    await pool.waits.wait()
    task.cancel()
    await asyncio.wait([task], timeout=20)
    assert task.cancelled()


async def test_one_that_was_cancelled_before_can_still_use_the_store(store: Store) -> None:
    found: list[Any] = []

    async def clean_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            found.append(await store.workers.all())

    task = asyncio.create_task(clean_up())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=20)
    assert (task.cancelled(), found) == (True, [[]])


async def test_a_deadline_of_the_caller_is_a_timeout_and_no_cancellation(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        pool_of(store),
        "getconn",
        Deaf(pool_of(store).getconn, None).getconn,
    )
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await store.jobs.wake(["short"])


async def test_an_error_without_a_cancellation_stays_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken() -> Any:
        raise psycopg.OperationalError("away")

    monkeypatch.setattr(pool_of(store), "getconn", broken)
    with pytest.raises(StoreUnavailable):
        await store.jobs.wake(["short"])
