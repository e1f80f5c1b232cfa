"""Jobs that were not started in time: who finds them, and what follows, exactly once."""

import asyncio
import json
from typing import Any

import pytest

from fairlead.core.jobs.expiry import FACTS, OPTION, target
from fairlead.core.jobs.ids import derived_id
from fairlead.core.jobs.model import Ending, Lane, NewJob, Priority
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import (
    LANE,
    claim,
    claim_one,
    ended,
    enqueue_one,
    failed,
    new_jobs,
    new_lease,
    one_held,
    state_of,
)
from tests.contract.world import World

MISSED = Lane("calls", "acme", "missed", Priority.DEFAULT, 1)
OPTIONS = json.dumps({OPTION: target("missed", 1, "calls", FACTS)})


async def enqueue_urgent(world: World, seconds: float = 10.0, **fields: Any) -> NewJob:
    """A job that must start within so many seconds."""
    return await enqueue_one(world.store, not_after=world.clock() + seconds, **fields)


async def late_ids(store: Store) -> list[str]:
    return [item.job.id for item in await store.promotion.late(100)]


async def test_only_jobs_past_their_latest_start_are_late(world: World) -> None:
    await enqueue_one(world.store)
    job = await enqueue_urgent(world)
    world.advance(10)
    assert await world.store.promotion.late(10) == []
    world.advance(0.5)
    ((held, late_by),) = await world.store.promotion.late(10)
    assert (held.id, held.lane, held.hold.state, late_by) == (job.id, LANE, State.READY, 0.5)


async def test_jobs_are_late_in_whatever_state_they_wait(world: World) -> None:
    ready = await enqueue_urgent(world)
    (claimed,) = await claim(world.store, new_lease())
    await world.store.jobs.settle([failed(claimed)])
    scheduled = await enqueue_urgent(world, delay=500.0)
    blocked = await enqueue_urgent(world, state=State.BLOCKED)
    world.advance(60)
    assert set(await late_ids(world.store)) == {ready.id, scheduled.id, blocked.id}


async def test_a_running_job_is_not_late(world: World) -> None:
    await enqueue_urgent(world)
    await claim_one(world.store, new_lease())
    world.advance(60)
    assert await world.store.promotion.late(10) == []


async def test_the_longest_late_come_first(world: World) -> None:
    jobs = {seconds: await enqueue_urgent(world, seconds) for seconds in (30.0, 10.0, 20.0)}
    world.advance(100)
    assert [item.job.id for item in await world.store.promotion.late(2)] == [jobs[10.0].id, jobs[20.0].id]


@pytest.mark.parametrize("by", ["scheduler", "worker"])
async def test_what_was_named_follows_on_an_expired_job(world: World, by: str) -> None:
    job = await enqueue_urgent(world, options=OPTIONS)
    world.advance(12.5)
    if by == "worker":
        settlement = ended(await claim_one(world.store, new_lease()), Ending.EXPIRED)
    else:
        settlement = ended(await one_held(world.store, job.id), Ending.EXPIRED)
    assert await world.store.jobs.settle([settlement]) == {job.id}
    assert await state_of(world.store, job.id) is State.EXPIRED
    following = await claim_one(world.store, new_lease(), MISSED)
    assert following.id == derived_id(job.id, OPTION)
    told = json.loads(following.payload)
    assert (told["job_id"], told["type"], told["late_by"]) == (job.id, "mail", 2.5)


async def test_what_follows_is_under_the_limits_of_its_handler(world: World) -> None:
    limits: list[dict[str, Any]] = [{"name": "each", "key": "tenant"}, {"name": "all", "key": None}]
    options = json.dumps({OPTION: target("missed", 1, "calls", FACTS, limits, ["smtp"])})
    job = await enqueue_urgent(world, options=options)
    world.advance(11)
    assert await world.store.jobs.settle([ended(await one_held(world.store, job.id), Ending.EXPIRED)])
    (active,) = await world.store.reader.active_lanes()
    assert active.lane == MISSED._replace(limits="@smtp all each=acme")


async def test_nothing_follows_on_a_settlement_that_was_refused(world: World) -> None:
    job = await enqueue_urgent(world, options=OPTIONS)
    world.advance(20)
    held = await one_held(world.store, job.id)
    assert await world.store.jobs.settle([ended(held, Ending.CANCELLED)]) == {job.id}
    assert await world.store.jobs.settle([ended(held, Ending.EXPIRED)]) == set()
    assert await claim(world.store, new_lease(), lane=MISSED) == []


async def test_nothing_follows_on_other_ends(world: World) -> None:
    job = await enqueue_urgent(world, options=OPTIONS)
    await world.store.jobs.settle([ended(await one_held(world.store, job.id), Ending.CANCELLED)])
    assert await claim(world.store, new_lease(), lane=MISSED) == []


async def test_an_expired_job_without_anything_named_simply_ends(world: World) -> None:
    jobs = [await enqueue_urgent(world), await enqueue_urgent(world, options='{"timeout": 3.0}')]
    world.advance(20)
    held = [await one_held(world.store, job.id) for job in jobs]
    assert await world.store.jobs.settle([ended(item, Ending.EXPIRED) for item in held]) == {job.id for job in jobs}
    assert await world.store.reader.count_jobs() == {}


async def test_of_many_that_expire_a_job_at_once_one_does_and_one_job_follows(shared_world: World) -> None:
    urgent: dict[str, Any] = {"not_after": shared_world.clock() + 1, "options": OPTIONS}
    jobs = [*new_jobs(10, **urgent), *new_jobs(10, **urgent, delay=500.0)]
    await shared_world.store.jobs.enqueue(jobs)
    stores = [shared_world.store, await shared_world.another_store()]
    shared_world.advance(5)

    async def expire_all(store: Store) -> set[str]:
        late = await store.promotion.late(100)
        return await store.jobs.settle([ended(item.job, Ending.EXPIRED) for item in late])

    settled = await asyncio.gather(*(expire_all(store) for store in stores * 2))
    assert sorted(job_id for found in settled for job_id in found) == sorted(job.id for job in jobs)
    following = await claim(shared_world.store, new_lease(), lane=MISSED)
    assert {item.id for item in following} == {derived_id(job.id, OPTION) for job in jobs}


async def test_a_mixed_batch_is_settled_whole(world: World) -> None:
    late = await enqueue_urgent(world, options=OPTIONS)
    other = await enqueue_one(world.store)
    world.advance(20)
    settlements = [
        ended(await one_held(world.store, late.id), Ending.EXPIRED),
        ended(await one_held(world.store, other.id), Ending.CANCELLED),
    ]
    assert await world.store.jobs.settle(settlements) == {late.id, other.id}
    assert await state_of(world.store, other.id) is State.CANCELLED
