"""Pruning goes along the index of ends, type by type, from where it came to before."""

from collections.abc import AsyncIterator
from itertools import repeat
from pathlib import Path

import pytest

from fairlead.core.jobs.model import Lease, Quota
from fairlead.records.store import Store
from fairlead.stores.sqlite.migrate import migrate
from fairlead.wiring import make_store
from tests.contract.clock import ManualClock
from tests.stores.sqlite.support import LANE, new_jobs
from tests.support.settling import succeed

DAY = 86400.0
KEPT = 7 * DAY
REPORT = LANE._replace(type="report")
LEASE = Lease("00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[Store]:
    """One whose clock the test moves."""
    await migrate(f"sqlite:///{path}")
    opened = make_store(f"sqlite:///{path}", clock)
    await opened.open()
    yield opened
    await opened.close()


async def finish(store: Store, count: int, lane: int = LANE.id) -> list[str]:
    """Let so many jobs end that wait in a lane."""
    claims = await store.jobs.claim([Quota(lane, count)], LEASE)
    await store.jobs.settle(succeed(claims, repeat(None)))
    return [claim.id for claim in claims]


async def left(store: Store, ids: list[str]) -> int:
    return len(await store.reader.read_many(ids))


async def test_old_jobs_go_and_young_ones_stay(store: Store, clock: ManualClock) -> None:
    await store.jobs.enqueue(new_jobs(6))
    old = await finish(store, 6)
    clock.advance(KEPT + 1)
    await store.jobs.enqueue(new_jobs(6))
    young = await finish(store, 6)
    assert await store.jobs.prune({}, KEPT, 100) == 6
    assert (await left(store, old), await left(store, young)) == (0, 6)


async def test_a_job_that_waited_long_goes_after_its_end(store: Store, clock: ManualClock) -> None:
    await store.jobs.enqueue(new_jobs(9))
    clock.advance(KEPT + 1)
    assert await store.jobs.prune({}, KEPT, 100) == 0
    first = await finish(store, 1)
    clock.advance(KEPT + 1)
    assert sum([await store.jobs.prune({}, KEPT, 100) for _ in range(2)]) == 1
    assert await left(store, first) == 0


async def test_a_limit_leaves_the_others_to_the_next(store: Store, clock: ManualClock) -> None:
    await store.jobs.enqueue(new_jobs(7))
    done = await finish(store, 7)
    clock.advance(KEPT + 1)
    assert [await store.jobs.prune({}, KEPT, 3) for _ in range(4)] == [3, 3, 1, 0]
    assert await left(store, done) == 0


async def test_types_that_are_kept_longer_are_passed_over(store: Store, clock: ManualClock) -> None:
    await store.jobs.enqueue(new_jobs(5))
    kept = await finish(store, 5)
    await store.jobs.enqueue(new_jobs(2, lane=REPORT))
    done = await finish(store, 2, REPORT.id)
    clock.advance(3601)
    assert await store.jobs.prune({"report": 3600}, KEPT, 100) == 2
    assert (await left(store, kept), await left(store, done)) == (5, 0)


async def test_jobs_made_by_a_clock_that_was_ahead_hide_nothing(store: Store, clock: ManualClock) -> None:
    clock.advance(100 * DAY)
    await store.jobs.enqueue(new_jobs(4))
    clock.advance(-100 * DAY)
    await store.jobs.enqueue(new_jobs(1, lane=REPORT))
    done = await finish(store, 1, REPORT.id)
    clock.advance(KEPT + 1)
    assert await store.jobs.prune({}, KEPT, 100) == 1
    assert await left(store, done) == 0
