"""Recovery: the jobs of workers that are gone, and of no others."""

import pytest

from fairlead.core.jobs.failure import CRASH_LIMIT
from fairlead.core.jobs.model import Ending, Held, Settlement
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import (
    LANE,
    claim,
    claim_one,
    done,
    ended,
    enqueue_one,
    new_jobs,
    new_lease,
    one_held,
    same_worker,
    state_of,
    worker_info,
)
from tests.contract.world import World


def lost(jobs: list[Held]) -> list[Settlement]:
    """What core decides about lost jobs."""
    return [ended(job, Ending.LOST) for job in jobs]


async def test_jobs_of_a_live_worker_are_not_lost(world: World) -> None:
    await enqueue_one(world.store)
    await claim_one(world.store, await world.worker(30))
    world.advance(29)
    assert await world.store.reader.lost(10) == []


async def test_jobs_of_an_expired_worker_are_lost(world: World) -> None:
    await enqueue_one(world.store)
    claimed = await claim_one(world.store, await world.worker(30))
    world.advance(30)
    (found,) = await world.store.reader.lost(10)
    assert (found.id, found.lane, found.attempt, found.crashes, found.age) == (claimed.id, LANE, 1, 0, 30)
    assert found.hold == claimed.hold


async def test_jobs_of_a_worker_that_was_never_registered_are_lost(store: Store) -> None:
    await enqueue_one(store)
    claimed = await claim_one(store, new_lease())
    assert [job.id for job in await store.reader.lost(10)] == [claimed.id]


async def test_jobs_of_a_retired_worker_are_lost(world: World) -> None:
    await enqueue_one(world.store)
    lease = await world.worker()
    claimed = await claim_one(world.store, lease)
    await world.store.workers.retire(lease.owner)
    assert [job.id for job in await world.store.reader.lost(10)] == [claimed.id]


async def test_only_jobs_of_the_lost_among_many_workers_are_found(world: World) -> None:
    await world.store.jobs.enqueue(new_jobs(30))
    leases = [await world.worker(10 if number % 2 else 100) for number in range(6)]
    claims = [await claim(world.store, lease, 5) for lease in leases]
    world.advance(50)
    expected = {job.id for number, own in enumerate(claims) if number % 2 for job in own}
    assert {job.id for job in await world.store.reader.lost(100)} == expected


async def test_waiting_jobs_are_never_lost(world: World) -> None:
    await enqueue_one(world.store)
    await enqueue_one(world.store, delay=10)
    assert await world.store.reader.lost(10) == []


async def test_no_more_lost_jobs_than_the_limit_are_returned(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(10))
    await claim(store, new_lease())
    assert len(await store.reader.lost(4)) == 4


async def test_a_lost_job_runs_again_and_burns_no_attempt(world: World) -> None:
    job = await enqueue_one(world.store)
    await claim_one(world.store, await world.worker(30))
    world.advance(31)
    assert await world.store.jobs.settle(lost(await world.store.reader.lost(10)), expired_only=True) == {job.id}
    record = await world.store.reader.read(job.id)
    assert record is not None
    assert (record.state, record.attempt, record.crashes, record.worker) == (State.READY, 0, 1, None)
    again = await claim_one(world.store, await world.worker())
    assert (again.attempt, again.crashes, again.fence) == (1, 1, 2)
    assert [item.ending for item in await world.store.reader.attempts(job.id)] == [Ending.LOST]


async def test_a_lost_worker_cannot_settle_after_the_recovery(world: World) -> None:
    await enqueue_one(world.store)
    claimed = await claim_one(world.store, await world.worker(30))
    world.advance(31)
    await world.store.jobs.settle(lost(await world.store.reader.lost(10)), expired_only=True)
    assert await world.store.jobs.settle([done(claimed)]) == set()
    assert await state_of(world.store, claimed.id) is State.READY


async def test_a_worker_that_settles_before_the_recovery_wins(world: World) -> None:
    await enqueue_one(world.store)
    claimed = await claim_one(world.store, await world.worker(30))
    world.advance(31)
    decided = lost(await world.store.reader.lost(10))
    assert await world.store.jobs.settle([done(claimed)]) == {claimed.id}
    assert await world.store.jobs.settle(decided, expired_only=True) == set()
    assert await state_of(world.store, claimed.id) is State.SUCCEEDED


@pytest.mark.parametrize("crashes", [0, CRASH_LIMIT - 1])
async def test_recovery_checks_again_that_the_lease_is_over(world: World, crashes: int) -> None:
    """The worker comes back between the look and the write: both the return and the end of a job are refused."""
    job = await enqueue_one(world.store)
    lease = new_lease()
    for _ in range(crashes):
        await claim_one(world.store, same_worker(lease))
        await world.store.jobs.settle(lost(await world.store.reader.lost(10)))
    await claim_one(world.store, lease)
    decided = lost(await world.store.reader.lost(10))
    assert [item.state for item in decided] == [State.DEAD if crashes else State.READY]
    await world.store.workers.register(worker_info(lease.owner), 30)
    assert await world.store.jobs.settle(decided, expired_only=True) == set()
    assert await state_of(world.store, job.id) is State.RUNNING
    assert len(await world.store.reader.attempts(job.id)) == crashes


async def test_expired_only_applies_to_each_job_by_its_own_owner(world: World) -> None:
    await world.store.jobs.enqueue(new_jobs(2))
    (gone,) = await claim(world.store, await world.worker(10), 1)
    (kept,) = await claim(world.store, await world.worker(100), 1)
    world.advance(50)
    decided = lost([await one_held(world.store, item.id) for item in (gone, kept)])
    assert await world.store.jobs.settle(decided, expired_only=True) == {gone.id}


async def test_a_job_that_takes_its_workers_down_ends(store: Store) -> None:
    job = await enqueue_one(store)
    for crash in range(CRASH_LIMIT):
        assert (await claim_one(store, new_lease())).crashes == crash
        assert await store.jobs.settle(lost(await store.reader.lost(10)), expired_only=True) == {job.id}
    record = await store.reader.read(job.id)
    assert record is not None
    assert record.error is not None
    assert (record.state, record.crashes, record.attempt, record.fence) == (State.DEAD, CRASH_LIMIT, 0, CRASH_LIMIT)
    assert record.error.type == "LeaseLost"
    assert len(await store.reader.attempts(job.id)) == CRASH_LIMIT


async def test_what_was_claimed_under_a_lease_is_found_and_nothing_else(world: World) -> None:
    await world.store.jobs.enqueue(new_jobs(6))
    first = await world.worker(30)
    second, other = same_worker(first), await world.worker(30)
    await claim(world.store, first, 1)
    wanted = [*await claim(world.store, second, 2), *await claim(world.store, other, 1)]
    await world.store.jobs.settle([done(wanted.pop())])
    found = await world.store.reader.claimed_under([second, other, new_lease()])
    assert {job.id: job.hold for job in found} == {job.id: job.hold for job in wanted}
    assert await world.store.reader.claimed_under([]) == []
