"""A transaction that a caller leaves open holds up nobody else, and two of them never block each other."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from fairlead.client.gather import Gatherer
from fairlead.core.jobs.model import Enqueued
from fairlead.errors import StoreUnavailable
from fairlead.records.store import Store
from fairlead.runtime.hints import HintSender
from fairlead.stores import within
from fairlead.stores.postgres import store as stores
from fairlead.wiring import make_store
from tests.contract.making import LANE, keyed_job, new_job

pytestmark = pytest.mark.postgres

NEW = LANE._replace(tenant="new")
OTHER = LANE._replace(tenant="other", limits="stripe=7")
SOON = 3.0  # seconds; far below every deadline


@pytest.fixture
async def store(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setattr(stores, "KEY_PATIENCE", 0.5)
    monkeypatch.setattr(within, "KEY_PATIENCE", "300ms")
    opened = make_store(postgres_url)
    await opened.open()
    try:
        yield opened
    finally:
        await opened.close()


@pytest.fixture
def callers(postgres_url: str) -> Iterator[list[psycopg.Connection[Any]]]:
    """Two applications with transactions of their own, which are rolled back at last."""
    with ExitStack() as stack:
        yield [stack.enter_context(psycopg.connect(postgres_url)) for _ in range(2)]


@pytest.mark.parametrize("lane", [NEW, OTHER], ids=["new tenant", "new limit key"])
async def test_a_new_lane_holds_up_nobody(store: Store, callers: list[psycopg.Connection[Any]], lane: Any) -> None:
    store.jobs.enqueue_within(callers[0], [new_job(lane)])
    async with asyncio.timeout(SOON):
        await store.jobs.enqueue([new_job(lane)])
        await store.jobs.enqueue([new_job(lane), keyed_job("k", lane)])


async def test_two_transactions_with_new_lanes_in_opposite_order_both_commit(
    store: Store, callers: list[psycopg.Connection[Any]]
) -> None:
    first, second = callers
    async with asyncio.timeout(SOON):
        for connection, lane in [(first, NEW), (second, OTHER), (first, OTHER), (second, NEW)]:
            await asyncio.to_thread(store.jobs.enqueue_within, connection, [new_job(lane)])
    for connection in callers:
        connection.commit()
    assert sum((await store.reader.count_jobs()).values()) == 4


async def test_a_lane_stays_although_the_transaction_that_wanted_it_is_rolled_back(
    store: Store, callers: list[psycopg.Connection[Any]]
) -> None:
    store.jobs.enqueue_within(callers[0], [new_job(NEW)])
    callers[0].rollback()
    await store.jobs.enqueue([new_job(NEW)])
    assert {item.lane for item in await store.reader.active_lanes()} == {NEW}


async def test_an_async_caller_has_its_lanes_written_outside_too(store: Store, postgres_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_url) as caller:
        await store.jobs.enqueue_within(caller, [new_job(NEW)])
        async with asyncio.timeout(SOON):
            await store.jobs.enqueue([new_job(NEW)])
        await caller.rollback()


async def test_who_wants_a_key_of_an_open_transaction_is_told_so(
    store: Store, callers: list[psycopg.Connection[Any]]
) -> None:
    store.jobs.enqueue_within(callers[0], [keyed_job("order-7")])
    with pytest.raises(StoreUnavailable, match=r"'order-7'.*held by a transaction that has not ended.*submit again"):
        await store.jobs.enqueue([keyed_job("order-7")])
    with pytest.raises(StoreUnavailable, match=r"'order-7'.*held by a transaction that has not ended"):
        await asyncio.to_thread(store.jobs.enqueue_within, callers[1], [keyed_job("order-7")])
    callers[1].rollback()
    async with asyncio.timeout(SOON):
        await store.jobs.enqueue([keyed_job("order-8")])


async def test_a_key_is_got_as_soon_as_the_transaction_ends(
    store: Store, callers: list[psycopg.Connection[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "KEY_PATIENCE", 30.0)
    held = keyed_job("k")
    store.jobs.enqueue_within(callers[0], [held])
    waiting = asyncio.create_task(store.jobs.enqueue([keyed_job("k")]))
    await asyncio.wait([waiting], timeout=0.3)
    assert not waiting.done()
    callers[0].commit()
    assert await asyncio.wait_for(waiting, SOON) == [Enqueued(held.id, True)]


async def test_the_callers_own_lock_timeout_is_left_as_it_was(
    store: Store, callers: list[psycopg.Connection[Any]]
) -> None:
    callers[0].execute("set lock_timeout = '7s'")
    store.jobs.enqueue_within(callers[0], [keyed_job("k")])
    assert callers[0].execute("show lock_timeout").fetchone() == ("7s",)


async def test_many_who_want_a_held_key_leave_connections_to_all_others(
    store: Store, callers: list[psycopg.Connection[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come through the gatherer, as submissions of a process do."""
    monkeypatch.setattr(stores, "KEY_PATIENCE", 5.0)
    store.jobs.enqueue_within(callers[0], [keyed_job("k")])
    gatherer = Gatherer(store, HintSender(store))
    stuck = [asyncio.create_task(gatherer.submit([keyed_job("k")])) for _ in range(20)]
    began = time.monotonic()
    for _ in range(10):
        await asyncio.gather(*(gatherer.submit([new_job()]) for _ in range(5)))
        await gatherer.submit([keyed_job(f"own {time.monotonic()}")])
    assert time.monotonic() - began < SOON
    assert not any(task.done() for task in stuck)
    for task in stuck:
        task.cancel()
    await asyncio.gather(*stuck, return_exceptions=True)
    await gatherer.close()
