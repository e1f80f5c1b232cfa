"""Many jobs that nothing is special about: stored like any others, only faster."""

from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.states import State
from fairlead.core.plain import PlainBatch
from fairlead.records.store import Store
from tests.contract.making import LANE, claim, new_job, new_jobs, new_lease
from tests.contract.world import World

ELSEWHERE = Lane("slow", "globex", "report", Priority.HIGH, 7)


def batch_of(count: int, lane: Lane = LANE) -> PlainBatch:
    jobs = new_jobs(count)
    return PlainBatch(lane, [job.id for job in jobs], [f'{{"text":"{number} ☂ \'"}}' for number in range(count)])


async def test_they_are_as_if_they_had_been_enqueued_one_by_one(world: World) -> None:
    batch = batch_of(3, ELSEWHERE)
    await world.store.jobs.enqueue_plain(batch)
    singly = new_job(lane=ELSEWHERE, payload=batch.payloads[0])
    await world.store.jobs.enqueue([singly])
    expected = await world.store.reader.read(singly.id)
    assert expected is not None
    found = [await world.store.reader.read(job_id) for job_id in batch.ids]
    assert [record and record.payload for record in found] == batch.payloads
    first = found[0]
    assert first is not None
    differing = {"id": singly.id}
    assert {name: getattr(first, name) for name in type(first).__slots__} | differing == {
        name: getattr(expected, name) for name in type(expected).__slots__
    }


async def test_they_are_claimed_in_their_order(store: Store) -> None:
    batch = batch_of(20)
    await store.jobs.enqueue_plain(batch)
    claims = await claim(store, new_lease(), 20)
    assert [(found.id, found.payload) for found in claims] == list(zip(batch.ids, batch.payloads, strict=True))


async def test_none_are_stored_as_nothing(store: Store) -> None:
    await store.jobs.enqueue_plain(PlainBatch(LANE, [], []))
    assert await store.reader.active_lanes() == []


async def test_what_is_there_already_stays_and_the_rest_is_added(store: Store) -> None:
    batch = batch_of(4)
    await store.jobs.enqueue_plain(PlainBatch(LANE, batch.ids[:2], batch.payloads[:2]))
    (running,) = await claim(store, new_lease(), 1)
    await store.jobs.enqueue_plain(batch)
    records = [await store.reader.read(job_id) for job_id in batch.ids]
    assert [record and record.state for record in records] == [State.RUNNING, *[State.READY] * 3]
    assert running.id == batch.ids[0]


async def test_their_jobs_one_by_one_are_plain() -> None:
    batch = batch_of(2)
    jobs = batch.jobs()
    assert [(job.id, job.lane, job.payload) for job in jobs] == [
        (job_id, LANE, payload) for job_id, payload in zip(batch.ids, batch.payloads, strict=True)
    ]
    assert all(job.is_plain for job in jobs)
