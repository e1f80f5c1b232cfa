"""The expirer: jobs that nobody starts in time end in time."""

import json

from fairlead.core.jobs.expiry import FACTS, OPTION, target
from fairlead.core.jobs.model import Ending, Lane, Priority
from fairlead.core.jobs.states import State
from fairlead.scheduler import expire
from fairlead.scheduler.expire import INTERVAL, Expirer
from fairlead.telemetry.events import Event, LateExecution, Telemetry
from tests.contract.making import LANE, claim, claim_one, ended, enqueue_one, new_jobs, new_lease, state_of
from tests.contract.world import World

MISSED = Lane("calls", "acme", "missed", Priority.DEFAULT, 1)
OPTIONS = json.dumps({OPTION: target("missed", 1, "calls", FACTS)})


async def test_late_jobs_expire_wherever_they_wait(world: World, telemetry: Telemetry, told: list[Event]) -> None:
    soon = world.clock() + 10
    ready = await enqueue_one(world.store, not_after=soon)
    scheduled = await enqueue_one(world.store, not_after=soon, delay=500.0)
    later = await enqueue_one(world.store, not_after=soon + 100)
    service = Expirer(world.store, telemetry)
    assert await service.run_once() == INTERVAL
    world.advance(12)
    assert await service.run_once() == INTERVAL
    assert [await state_of(world.store, job.id) for job in (ready, scheduled)] == [State.EXPIRED] * 2
    assert await state_of(world.store, later.id) is State.READY
    assert sorted(told, key=repr) == sorted(
        [LateExecution(job.id, "mail", "acme", 2.0) for job in (ready, scheduled)], key=repr
    )
    record = await world.store.reader.read(ready.id)
    assert record is not None
    assert record.error is not None
    assert (record.error.type, record.error.message, record.error.failure) == (
        "Expired",
        "it had not started when its not_after had passed by 2s",
        None,
    )


async def test_a_job_that_failed_in_time_becomes_a_dead_letter(
    world: World, telemetry: Telemetry, told: list[Event]
) -> None:
    job = await enqueue_one(world.store, not_after=world.clock() + 10)
    claimed = await claim_one(world.store, new_lease())
    await world.store.jobs.settle([ended(claimed, Ending.FAILED)])
    assert await state_of(world.store, job.id) is State.RETRYING
    world.advance(12)
    await Expirer(world.store, telemetry).run_once()
    assert await state_of(world.store, job.id) is State.DEAD
    assert told == []


async def test_running_it_again_changes_nothing(world: World, telemetry: Telemetry, told: list[Event]) -> None:
    await enqueue_one(world.store, not_after=world.clock() + 1, options=OPTIONS)
    world.advance(2)
    services = [Expirer(world.store, telemetry) for _ in range(3)]
    for service in services * 2:
        await service.run_once()
    assert len(told) == 1
    assert len(await claim(world.store, new_lease(), lane=MISSED)) == 1


async def test_many_go_in_batches_without_a_pause(world: World, telemetry: Telemetry, told: list[Event]) -> None:
    expire.BATCH, before = 4, expire.BATCH
    try:
        await world.store.jobs.enqueue(new_jobs(10, LANE, not_after=world.clock() + 1))
        world.advance(2)
        service = Expirer(world.store, telemetry)
        assert [await service.run_once() for _ in range(3)] == [0.0, 0.0, INTERVAL]
    finally:
        expire.BATCH = before
    assert len(told) == 10
    assert await world.store.reader.count_jobs() == {}
