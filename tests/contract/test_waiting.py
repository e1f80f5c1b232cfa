"""Jobs that wait: changed under the eyes of workers, and counted in their lane."""

import time

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.changes import change_waiting, make_ready
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Priority
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import LANE, claim_one, enqueue_one, failed, new_jobs, new_lease, state_of
from tests.contract.world import World

NOTE = AuditNote("ann@desk", "change", "a job", {"reason": "urgent"})
URGENT = LANE._replace(priority=Priority.CRITICAL)


async def record_of(store: Store, job_id: str) -> JobRecord:
    record = await store.reader.read(job_id)
    assert record is not None
    return record


async def test_a_ready_job_changes_lane_and_payload(store: Store) -> None:
    job = await enqueue_one(store)
    change = change_waiting(
        await record_of(store, job.id), time.time(), Priority.CRITICAL, payload='{"a":1}', version=2
    )
    assert await store.changes.amend_waiting([change], NOTE) == {job.id}
    claimed = await claim_one(store, new_lease(), URGENT._replace(version=2))
    assert (claimed.id, claimed.payload, claimed.lane.priority) == (job.id, '{"a":1}', Priority.CRITICAL)


async def test_a_change_is_in_the_audit_of_its_job(store: Store) -> None:
    job = await enqueue_one(store)
    await store.changes.amend_waiting([change_waiting(await record_of(store, job.id), 0.0, Priority.LOW)], NOTE)
    (entry,) = await store.audit.read(10, job_id=job.id)
    assert (entry.actor, entry.action) == ("ann@desk", "change")


async def test_what_a_worker_took_first_is_not_changed(store: Store) -> None:
    job = await enqueue_one(store)
    change = change_waiting(await record_of(store, job.id), 0.0, Priority.CRITICAL)
    await claim_one(store, new_lease())
    assert await store.changes.amend_waiting([change], NOTE) == set()
    assert (await record_of(store, job.id)).priority is LANE.priority
    assert await store.audit.read(10) == []


async def test_a_time_moves_a_job_between_ready_and_scheduled(world: World) -> None:
    store, now = world.store, world.clock()
    job = await enqueue_one(store)
    later = change_waiting(await record_of(store, job.id), now, run_at=now + 60)
    assert await store.changes.amend_waiting([later], NOTE) == {job.id}
    record = await record_of(store, job.id)
    assert record.state is State.SCHEDULED
    assert abs(record.run_at.timestamp() - (now + 60)) < 0.001
    assert await store.reader.active_lanes() == []
    sooner = change_waiting(record, now, run_at=now - 1)
    assert await store.changes.amend_waiting([sooner], NOTE) == {job.id}
    assert (await claim_one(store, new_lease())).id == job.id


async def test_a_scheduled_job_can_be_put_off(world: World) -> None:
    store, now = world.store, world.clock()
    job = await enqueue_one(store, delay=10.0)
    await store.changes.amend_waiting([change_waiting(await record_of(store, job.id), now, run_at=now + 100)], NOTE)
    world.advance(50)
    assert (await store.promotion.promote(10)).moved == 0
    world.advance(60)
    assert (await store.promotion.promote(10)).moved == 1


async def test_a_retry_can_be_hastened(store: Store) -> None:
    job = await enqueue_one(store)
    await store.jobs.settle([failed(await claim_one(store, new_lease()))])
    assert await state_of(store, job.id) is State.RETRYING
    assert await store.changes.amend_waiting([make_ready(await record_of(store, job.id))], NOTE) == {job.id}
    again = await claim_one(store, new_lease())
    assert (again.id, again.attempt) == (job.id, 2)


async def test_the_place_in_a_lane(world: World) -> None:
    store = world.store
    jobs = new_jobs(5)
    for job in jobs:
        await store.jobs.enqueue([job])
        world.advance(1)
    assert [await store.reader.count_ahead(job.id, 100) for job in jobs] == [0, 1, 2, 3, 4]
    assert await store.reader.count_ahead(jobs[4].id, 2) == 2
    waiting = await enqueue_one(store, delay=10.0)
    assert await store.reader.count_ahead(waiting.id, 100) == 0
