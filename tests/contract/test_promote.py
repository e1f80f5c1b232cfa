"""Promotion: jobs become ready when they are due, the longest overdue first."""

import asyncio

import pytest

from fairlead.core.jobs.model import Quota
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import LANE, claim, claim_one, enqueue_one, failed, new_job, new_lease, state_of
from tests.contract.world import World


async def test_nothing_is_promoted_before_it_is_due(world: World) -> None:
    job = await enqueue_one(world.store, delay=60.0)
    world.advance(59.5)
    assert await world.store.promotion.promote(10) == (0, frozenset(), {})
    assert await state_of(world.store, job.id) is State.SCHEDULED


async def test_a_job_is_promoted_when_it_is_due(world: World) -> None:
    job = await enqueue_one(world.store, delay=60.0)
    world.advance(60)
    assert await world.store.promotion.promote(10) == (1, frozenset({"default"}), {"acme": 1})
    assert [item.id for item in await claim(world.store, new_lease())] == [job.id]


async def test_an_instant_is_kept_as_it_was_named(world: World) -> None:
    job = await enqueue_one(world.store, run_at=world.clock() + 10.25)
    world.advance(10)
    assert (await world.store.promotion.promote(10))[0] == 0
    world.advance(0.25)
    assert (await world.store.promotion.promote(10))[0] == 1
    assert await state_of(world.store, job.id) is State.READY


async def test_a_promoted_job_is_ready_since_its_promotion(world: World) -> None:
    await enqueue_one(world.store, delay=60.0)
    world.advance(100)
    await world.store.promotion.promote(10)
    assert (await claim_one(world.store, new_lease())).ready_at == world.clock()


async def test_the_longest_overdue_is_promoted_first(world: World) -> None:
    delays = [30.0, 10.0, 50.0, 20.0, 40.0]
    jobs = {delay: await enqueue_one(world.store, delay=delay) for delay in delays}
    world.advance(100)
    for delay in sorted(delays):
        assert (await world.store.promotion.promote(1))[0] == 1
        assert [item.id for item in await claim(world.store, new_lease())] == [jobs[delay].id]


async def test_retries_and_schedules_are_promoted_in_one_order(world: World) -> None:
    await enqueue_one(world.store)
    retrying = await claim_one(world.store, new_lease())
    early, late = [await enqueue_one(world.store, delay=delay) for delay in (5.0, 15.0)]
    await world.store.jobs.settle([failed(retrying)])
    world.advance(20)
    order = []
    while (await world.store.promotion.promote(1))[0]:
        order += [item.id for item in await claim(world.store, new_lease())]
    assert order == [early.id, retrying.id, late.id]


async def test_a_retry_waits_its_delay(world: World) -> None:
    await enqueue_one(world.store)
    claimed = await claim_one(world.store, new_lease())
    await world.store.jobs.settle([failed(claimed)])
    world.advance(9.9)
    assert (await world.store.promotion.promote(10))[0] == 0
    world.advance(0.1)
    assert (await world.store.promotion.promote(10))[0] == 1
    assert (await claim_one(world.store, new_lease())).attempt == 2


async def test_the_limit_bounds_a_promotion(world: World) -> None:
    await world.store.jobs.enqueue([new_job(delay=1.0) for _ in range(10)])
    world.advance(1)
    assert [(await world.store.promotion.promote(4))[0] for _ in range(4)] == [4, 4, 2, 0]


async def test_the_pools_that_got_work_are_told(world: World) -> None:
    for pool, delay in (("a", 1.0), ("b", 1.0), ("c", 99.0)):
        await enqueue_one(world.store, LANE._replace(pool=pool), delay=delay)
    world.advance(1)
    promoted = await world.store.promotion.promote(10)
    assert promoted.pools == {"a", "b"}


async def test_the_next_due_job_is_told(world: World) -> None:
    for delay in (30.0, 10.0, 20.0):
        await enqueue_one(world.store, delay=delay)
    world.advance(10)
    await world.store.promotion.promote(10)
    assert (await world.store.promotion.due(10)).next_due == pytest.approx(10)


async def test_what_is_left_over_is_due_already(world: World) -> None:
    await world.store.jobs.enqueue([new_job(delay=1.0) for _ in range(2)])
    world.advance(5)
    await world.store.promotion.promote(1)
    assert (await world.store.promotion.due(10)).overdue == 4


async def test_an_empty_store_has_nothing_due(store: Store) -> None:
    assert await store.promotion.promote(10) == (0, frozenset(), {})


async def test_a_blocked_job_is_not_promoted(world: World) -> None:
    job = await enqueue_one(world.store, state=State.BLOCKED)
    world.advance(100)
    assert (await world.store.promotion.promote(10))[0] == 0
    assert await state_of(world.store, job.id) is State.BLOCKED


async def test_due_jobs_are_counted_by_lane(world: World) -> None:
    other = LANE._replace(tenant="other")
    await world.store.jobs.enqueue(
        [new_job(delay=5.0), new_job(delay=2.0), new_job(other, delay=4.0), new_job(delay=99.0)]
    )
    world.advance(10)
    due = await world.store.promotion.due(100)
    assert {(lane.lane, lane.jobs, lane.since) for lane in due.lanes} == {
        (LANE, 2, world.clock() - 8),
        (other, 1, world.clock() - 6),
    }
    assert (due.is_complete, due.overdue, due.next_due) == (True, 8, 89)


async def test_nothing_due_has_no_age(world: World) -> None:
    assert await world.store.promotion.due(10) == ((), True, None, None)
    await enqueue_one(world.store, delay=3.0)
    assert await world.store.promotion.due(10) == ((), True, None, 3)


async def test_of_many_due_jobs_the_longest_overdue_are_seen_and_the_rest_is_known_of(world: World) -> None:
    late = LANE._replace(tenant="late")
    await world.store.jobs.enqueue([new_job(delay=1.0) for _ in range(5)] + [new_job(late, delay=2.0)])
    world.advance(10)
    due = await world.store.promotion.due(5)
    assert [(lane.lane, lane.jobs) for lane in due.lanes] == [(LANE, 5)]
    assert not due.is_complete
    assert {lane.lane for lane in await world.store.promotion.due_lanes()} == {LANE, late}


async def test_lanes_whose_jobs_are_not_due_are_no_due_lanes(world: World) -> None:
    await enqueue_one(world.store, delay=1.0)
    await enqueue_one(world.store, LANE._replace(tenant="patient"), delay=100.0)
    await enqueue_one(world.store, LANE._replace(tenant="ready"))
    world.advance(1)
    assert [(lane.lane, lane.since) for lane in await world.store.promotion.due_lanes()] == [(LANE, world.clock())]


async def test_a_quota_bounds_what_a_lane_gets(world: World) -> None:
    other = LANE._replace(tenant="other")
    await world.store.jobs.enqueue(
        [new_job(delay=1.0) for _ in range(9)] + [new_job(other, delay=5.0) for _ in range(2)]
    )
    world.advance(10)
    promoted = await world.store.promotion.promote(100, [Quota(LANE.id, 3), Quota(other.id, 5)])
    assert (promoted.moved, promoted.tenants) == (5, {"acme": 3, "other": 2})
    assert (await world.store.promotion.due(10)).overdue == 9


async def test_within_a_lane_a_quota_takes_the_longest_overdue(world: World) -> None:
    jobs = {delay: await enqueue_one(world.store, delay=delay) for delay in (3.0, 1.0, 2.0, 50.0)}
    world.advance(10)
    order = []
    for _ in range(4):
        await world.store.promotion.promote(1, [Quota(LANE.id, 1)])
        order += [item.id for item in await claim(world.store, new_lease())]
    assert order == [jobs[1.0].id, jobs[2.0].id, jobs[3.0].id]


async def test_two_promoters_with_quotas_promote_each_job_once(shared_world: World) -> None:
    other = await shared_world.another_store()
    await shared_world.store.jobs.enqueue([new_job(delay=1.0) for _ in range(40)])
    shared_world.advance(1)
    quotas = [Quota(LANE.id, 25)]
    moved = [
        item.moved
        for item in await asyncio.gather(
            *(store.promotion.promote(25, quotas) for store in (shared_world.store, other))
        )
    ]
    assert sum(moved) + (await other.promotion.promote(40, [Quota(LANE.id, 40)])).moved == 40
