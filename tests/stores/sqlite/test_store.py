"""What only the SQLite store has: a clock that tests move, a database in memory, books on it, its own pruning."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from fairlead.core.jobs.model import Ending, ErrorInfo, Lease, Quota, Settlement
from fairlead.core.jobs.states import State
from fairlead.core.jobs.workers import WorkerInfo
from fairlead.records.store import Store
from fairlead.stores.sqlite.leasebook import SqliteLeaseBook
from fairlead.stores.sqlite.migrate import migrate
from fairlead.stores.sqlite.store import SqliteStore
from fairlead.wiring import make_store
from tests.stores.sqlite.support import LANE, new_jobs
from tests.support.migrations import ALL


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["file", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    url = "sqlite:///:memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/jobs.db"
    if request.param == "file":
        await migrate(url)
    opened = make_store(url, clock)
    await opened.open()
    yield opened
    await opened.close()


async def claim_one(store: Store, lease: float = 30) -> tuple[str, Settlement]:
    """A worker that has claimed one new job, and the settlement that ends it badly."""
    worker = WorkerInfo(str(uuid.uuid4()), "host", 1, ("short",), ("mail",), 1, "1")
    await store.workers.register(worker, lease)
    await store.jobs.enqueue(new_jobs(1))
    (claim,) = await store.jobs.claim([Quota(LANE.id, 1)], Lease(worker.id, str(uuid.uuid4())))
    error = ErrorInfo("ValueError", "no")
    return worker.id, Settlement(claim.id, claim.hold, State.DEAD, 1, 0, Ending.FAILED, error=error)


async def test_leases_follow_the_clock(store: Store, clock: Clock) -> None:
    worker, _ = await claim_one(store, lease=30)
    book = cast(SqliteStore, store.jobs).lease_book()
    clock.now += 29
    assert await asyncio.to_thread(book.renew, [worker], 30) == {worker}
    clock.now += 29
    assert await store.reader.lost(10) == []
    clock.now += 1
    assert await asyncio.to_thread(book.renew, [worker], 30) == set()
    assert len(await store.reader.lost(10)) == 1
    await asyncio.to_thread(book.close)
    assert await store.workers.all()


async def test_expiring_a_lease_makes_its_jobs_lost(store: Store) -> None:
    worker, settlement = await claim_one(store)
    assert await store.jobs.settle([settlement], expired_only=True) == set()
    book = cast(SqliteStore, store.jobs).lease_book()
    await asyncio.to_thread(book.expire, [worker])
    await asyncio.to_thread(book.close)
    assert await store.jobs.settle([settlement], expired_only=True) == {settlement.id}


async def test_a_settlement_named_twice_counts_once(store: Store) -> None:
    _, settlement = await claim_one(store)
    assert await store.jobs.settle([settlement, settlement]) == {settlement.id}
    assert await store.jobs.settle([settlement]) == set()
    assert len(await store.reader.attempts(settlement.id)) == 1


async def test_pruning_takes_the_attempts_along(store: Store, clock: Clock) -> None:
    _, settlement = await claim_one(store)
    await store.jobs.settle([settlement])
    clock.now += 100
    assert await store.jobs.prune({"mail": 200.0}, 50.0, 10) == 0
    assert await store.jobs.prune({"other": 20.0}, 99.0, 10) == 1
    assert await store.reader.read(settlement.id) is None
    assert await store.reader.attempts(settlement.id) == []


async def test_pruning_goes_in_batches(store: Store, clock: Clock) -> None:
    for _ in range(3):
        _, settlement = await claim_one(store)
        await store.jobs.settle([settlement])
    clock.now += 100
    assert [await store.jobs.prune({}, 50.0, 2) for _ in range(3)] == [2, 1, 0]


async def test_pruning_goes_as_far_as_what_is_old_and_no_farther(store: Store, clock: Clock) -> None:
    for _ in range(4):
        await store.jobs.enqueue(new_jobs(70))
        claims = await store.jobs.claim([Quota(LANE.id, 70)], Lease(str(uuid.uuid4()), str(uuid.uuid4())))
        ends = [Settlement(claim.id, claim.hold, State.SUCCEEDED, 1, 0, Ending.SUCCEEDED) for claim in claims]
        assert len(await store.jobs.settle(ends)) == 70
        clock.now += 10
    pruned = [await store.jobs.prune({}, age, 1_000) for age in (45.0, 35.0, 15.0, 15.0, 1.0, 1.0)]
    assert pruned == [0, 70, 140, 0, 70, 0]


async def test_a_clock_that_was_ahead_once_does_not_stop_pruning(store: Store, clock: Clock) -> None:
    async def end(count: int) -> None:
        await store.jobs.enqueue(new_jobs(count))
        claims = await store.jobs.claim([Quota(LANE.id, count)], Lease(str(uuid.uuid4()), str(uuid.uuid4())))
        await store.jobs.settle(
            [Settlement(item.id, item.hold, State.SUCCEEDED, 1, 0, Ending.SUCCEEDED) for item in claims]
        )

    clock.now += 1_000_000
    await end(100)
    clock.now -= 1_000_000
    await end(100)
    clock.now += 100
    assert await store.jobs.prune({}, 50.0, 1_000) == 100


async def test_concurrent_enqueues_all_arrive(store: Store) -> None:
    answers = await asyncio.gather(*(store.jobs.enqueue(new_jobs(1)) for _ in range(300)))
    assert len({answer.id for (answer,) in answers}) == 300
    assert await store.reader.count_jobs() == {("short", "ready"): 300}


async def test_facts_name_what_an_operator_needs(store: Store, clock: Clock) -> None:
    facts = await store.jobs.facts()
    in_memory = facts["database"] == ":memory:"
    assert facts["durable"] is not in_memory
    assert facts["synchronous"] == "full"
    assert facts["journal_mode"] == ("memory" if in_memory else "wal")
    assert facts["clock"] == clock.now
    assert facts["read_only"] is False


async def test_normal_synchronous_is_not_called_durable(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db?synchronous=normal"
    await migrate(url)
    store = make_store(url)
    await store.open()
    facts = await store.jobs.facts()
    assert (facts["synchronous"], facts["durable"]) == ("normal", False)
    await store.close()


async def test_a_store_in_memory_starts_empty_each_time() -> None:
    store = make_store("sqlite:///:memory:")
    for _ in range(2):
        await store.open()
        assert await store.reader.count_jobs() == {}
        await store.jobs.enqueue(new_jobs(1))
        assert len(await store.reader.active_lanes()) == 1
        await store.close()


async def test_many_migrate_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    applied = await asyncio.gather(*(migrate(url) for _ in range(5)))
    assert sorted(applied) == [[], [], [], [], ALL]


def test_a_lease_book_on_a_missing_file_can_be_closed(tmp_path: Path) -> None:
    SqliteLeaseBook(f"sqlite:///{tmp_path}/jobs.db").close()
