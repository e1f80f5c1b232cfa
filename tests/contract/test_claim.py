"""Claiming: who gets what, in which order, and only once."""

import pytest

from fairlead.core.jobs.model import Ending, Lane, Lease, Priority, Quota
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import (
    LANE,
    claim,
    claim_one,
    ended,
    enqueue_one,
    lanes_of,
    new_job,
    new_jobs,
    new_lease,
    one_held,
    run_to_end,
    same_worker,
    state_of,
)
from tests.contract.world import World

OTHER = LANE._replace(tenant="globex")


async def test_a_claim_tells_everything_about_the_job(world: World) -> None:
    job = new_job(payload='{"a":1}', not_after=world.clock() + 100, options='{"timeout":3}')
    await world.store.jobs.enqueue([job])
    world.advance(40)
    lease = new_lease()
    claimed = await claim_one(world.store, lease)
    assert (claimed.id, claimed.lane, claimed.payload, claimed.options) == (job.id, LANE, '{"a":1}', '{"timeout":3}')
    assert (claimed.attempt, claimed.crashes, claimed.fence, claimed.key) == (1, 0, 1, None)
    assert (claimed.age, claimed.time_left, claimed.ready_at) == (40, 60, world.clock() - 40)
    assert claimed.lease == lease


async def test_a_job_past_its_last_start_has_no_time_left(world: World) -> None:
    await world.store.jobs.enqueue([new_job(not_after=world.clock() + 10)])
    world.advance(25)
    assert (await claim_one(world.store, new_lease())).time_left == -15


async def test_a_claimed_job_is_running_and_owned(world: World) -> None:
    job, lease = await enqueue_one(world.store), new_lease()
    claimed = await claim_one(world.store, lease)
    held = await one_held(world.store, job.id)
    assert held.hold == claimed.hold == (State.RUNNING, 1, lease.owner, lease.token, False)
    record = await world.store.reader.read(job.id)
    assert record is not None
    assert record.started_at is not None
    assert (record.worker, record.started_at.timestamp()) == (lease.owner, world.clock())


async def test_a_claimed_job_is_not_claimed_again(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(3))
    lease = new_lease()
    assert len(await claim(store, lease)) == 3
    assert await claim(store, new_lease()) == []
    assert await claim(store, same_worker(lease)) == []


async def test_jobs_of_one_batch_are_claimed_in_order_of_their_ids(store: Store) -> None:
    jobs = new_jobs(20)
    await store.jobs.enqueue(list(reversed(jobs)))
    assert [item.id for item in await claim(store, new_lease())] == [job.id for job in jobs]


async def test_what_became_ready_first_is_claimed_first(world: World) -> None:
    late, early = new_job(), new_job()
    await world.store.jobs.enqueue([early])
    world.advance(1)
    await world.store.jobs.enqueue([late])
    assert late.id < early.id
    assert [item.id for item in await claim(world.store, new_lease())] == [early.id, late.id]


async def test_a_job_that_was_given_back_goes_to_the_end_of_its_lane(world: World) -> None:
    first, second = new_jobs(2)
    await world.store.jobs.enqueue([first, second])
    released = await claim_one(world.store, new_lease())
    world.advance(1)
    await world.store.jobs.settle([ended(released, Ending.RELEASED)])
    assert [item.id for item in await claim(world.store, new_lease())] == [second.id, first.id]


@pytest.mark.parametrize("most", [0, 1, 7])
async def test_no_more_than_the_quota_is_claimed(store: Store, most: int) -> None:
    jobs = new_jobs(10)
    await store.jobs.enqueue(jobs)
    assert [item.id for item in await claim(store, new_lease(), most)] == [job.id for job in jobs[:most]]


async def test_each_lane_has_its_own_quota(store: Store) -> None:
    third = LANE._replace(priority=Priority.LOW)
    await store.jobs.enqueue([*new_jobs(5), *new_jobs(5, OTHER), *new_jobs(5, third)])
    claims = await store.jobs.claim([Quota(LANE.id, 2), Quota(OTHER.id, 4)], new_lease())
    assert sorted(item.lane for item in claims) == sorted([LANE] * 2 + [OTHER] * 4)


async def test_a_lane_without_jobs_gives_none(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(2))
    claims = await store.jobs.claim([Quota(OTHER.id, 5), Quota(LANE.id, 5)], new_lease())
    assert [item.lane for item in claims] == [LANE, LANE]


async def test_a_claim_without_quotas_takes_nothing(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(2))
    assert await store.jobs.claim([], new_lease()) == []


@pytest.mark.parametrize(
    "lane",
    [
        LANE._replace(pool="slow"),
        LANE._replace(tenant="globex"),
        LANE._replace(type="report"),
        LANE._replace(priority=Priority.CRITICAL),
        LANE._replace(version=2),
    ],
)
async def test_a_lane_differs_in_each_of_its_parts(store: Store, lane: Lane) -> None:
    await enqueue_one(store, lane)
    assert await claim(store, new_lease()) == []
    assert len(await claim(store, new_lease(), lane=lane)) == 1


async def test_the_fence_rises_by_one_with_each_claim_whatever_happened_before(world: World) -> None:
    job = await enqueue_one(world.store)
    fences = []
    for ending in (Ending.RELEASED, Ending.LOST, Ending.FAILED, Ending.RELEASED, Ending.FAILED):
        claimed = await claim_one(world.store, new_lease())
        fences.append(claimed.fence)
        await world.store.jobs.settle([ended(claimed, ending)])
        assert (await one_held(world.store, job.id)).hold.fence == claimed.fence
        world.advance(100)
        await world.store.promotion.promote(10)
    assert fences == [1, 2, 3, 4, 5]


async def test_since_spares_only_what_became_ready_before_it(world: World) -> None:
    """Where passing over what was claimed costs nothing, a store need not spare it."""
    first = await enqueue_one(world.store)
    world.advance(10)
    second = await enqueue_one(world.store)
    (lane,) = await world.store.reader.active_lanes()
    claims = await world.store.jobs.claim([Quota(LANE.id, 5, lane.since + 5)], new_lease())
    expected = [second.id] if world.is_postgres else [first.id, second.id]
    assert [item.id for item in claims] == expected


async def test_the_since_of_an_active_lane_misses_no_job(world: World) -> None:
    world.advance(0.123457)
    await world.store.jobs.enqueue(new_jobs(3))
    (lane,) = await world.store.reader.active_lanes()
    assert len(await world.store.jobs.claim([Quota(lane.lane.id, 5, lane.since)], new_lease())) == 3


async def test_active_lanes_are_those_with_ready_jobs(world: World) -> None:
    lanes = [LANE._replace(tenant=f"tenant-{number}") for number in range(12)]
    await world.store.jobs.enqueue([new_job(lane) for lane in lanes for _ in range(2)])
    await enqueue_one(world.store, LANE._replace(tenant="later"), delay=60.0)
    await claim(world.store, new_lease(), lane=lanes[0])
    await run_to_end(world.store, new_lease(), lanes[1])
    await claim(world.store, new_lease(), 1, lanes[2])
    assert lanes_of(await world.store.reader.active_lanes()) == set(lanes[2:])


async def test_a_lane_is_active_since_its_first_ready_job(world: World) -> None:
    await enqueue_one(world.store)
    start = world.clock()
    world.advance(30)
    await enqueue_one(world.store)
    (lane,) = await world.store.reader.active_lanes()
    assert lane.since == start


async def test_lanes_that_somebody_knows_of_are_left_out(world: World) -> None:
    lanes = [LANE._replace(tenant=f"tenant-{number}") for number in range(12)]
    await world.store.jobs.enqueue([job for lane in lanes for job in new_jobs(2, lane)])
    all_ = {active.lane: active for active in await world.store.reader.active_lanes()}
    for known in (lanes[:1], lanes[3:6], lanes[::2], lanes[1:], lanes):
        found = await world.store.reader.active_lanes({lane.id for lane in known})
        assert {active.lane: active for active in found} == {
            lane: active for lane, active in all_.items() if lane not in known
        }
    assert lanes_of(await world.store.reader.active_lanes({LANE.id, 0, 2**63 - 1})) == set(lanes)


async def test_an_empty_store_has_no_active_lanes(store: Store) -> None:
    assert await store.reader.active_lanes() == []


async def test_a_store_knows_lanes_that_another_made(shared_world: World) -> None:
    other = await shared_world.another_store()
    await other.jobs.enqueue([new_job(OTHER)])
    assert lanes_of(await shared_world.store.reader.active_lanes()) == {OTHER}
    assert (await claim_one(shared_world.store, new_lease(), OTHER)).lane == OTHER


async def test_a_claim_needs_no_registered_worker(store: Store) -> None:
    job = await enqueue_one(store)
    lease: Lease = new_lease()
    await claim_one(store, lease)
    assert await state_of(store, job.id) is State.RUNNING
