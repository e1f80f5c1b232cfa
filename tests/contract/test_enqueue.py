"""Enqueueing: what is stored, in which state, and what a repetition does."""

from uuid import uuid4

import pytest

from fairlead.core.jobs.model import Ending, Enqueued, Lane, Priority, Scope
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import (
    LANE,
    claim,
    claim_one,
    done,
    ended,
    enqueue_one,
    finish,
    keyed_job,
    new_job,
    new_jobs,
    new_lease,
    one_held,
    run_to_end,
    state_of,
)
from tests.contract.world import World

ODD_TEXTS = [
    "plain",
    'it\'s "quoted" and `ticked`',
    "100 % of %s and %(name)s",
    "a:b ::text :rows :shard ;-- drop table job",
    "back\\slash \\n \\u0041 \\\\",
    "日本語 العربية ñ 🛟👩‍👩‍👧",
    "line\nbreak\ttab\x01\x7f\u2028",
]


async def test_answers_come_in_the_order_of_the_jobs(store: Store) -> None:
    jobs = new_jobs(50)
    jobs.reverse()
    assert await store.jobs.enqueue(jobs) == [Enqueued(job.id, False) for job in jobs]


async def test_an_empty_batch_is_stored_as_nothing(store: Store) -> None:
    assert await store.jobs.enqueue([]) == []


async def test_a_new_job_is_ready_and_untouched(world: World) -> None:
    job = await enqueue_one(world.store, payload='{"to":"ann"}')
    record = await world.store.reader.read(job.id)
    assert record is not None
    assert (record.state, record.attempt, record.crashes, record.fence) == (State.READY, 0, 0, 0)
    assert (record.payload, record.worker, record.result, record.error) == ('{"to":"ann"}', None, None, None)
    assert record.created_at.timestamp() == record.run_at.timestamp() == world.clock()
    assert record.started_at is record.finished_at is record.not_after is None


async def test_every_field_of_a_job_is_kept(world: World) -> None:
    lane = Lane("slow", "globex", "report", Priority.HIGH, 7)
    parent, due = str(uuid4()), world.clock() + 60.5
    job = new_job(
        lane, run_at=due, not_after=due + 5, options='{"timeout":3}', parent=parent, unique=keyed_job("k").unique
    )
    await world.store.jobs.enqueue([job])
    record = await world.store.reader.read(job.id)
    assert record is not None
    assert Lane(record.pool, record.tenant, record.type, record.priority, record.version) == lane
    assert record.not_after is not None
    assert (record.run_at.timestamp(), record.not_after.timestamp()) == (due, due + 5)
    assert (record.options, record.parent, record.key, record.state) == ('{"timeout":3}', parent, "k", State.SCHEDULED)


@pytest.mark.parametrize("text", ODD_TEXTS)
async def test_odd_texts_come_back_as_they_were(store: Store, text: str) -> None:
    lane = LANE._replace(tenant=text, type=text, pool=text)
    job = new_job(lane, text, unique=keyed_job(text).unique, options=text)
    await store.jobs.enqueue([job])
    claimed = await claim_one(store, new_lease(), lane)
    assert (claimed.payload, claimed.key, claimed.options, claimed.lane) == (text, text, text, lane)
    await store.jobs.settle([ended(claimed, Ending.SUCCEEDED, result=text)])
    record = await store.reader.read(job.id)
    assert record is not None
    assert (record.payload, record.key, record.tenant, record.result) == (text, text, text, text)


async def test_a_payload_of_64_kilobytes_comes_back_whole(store: Store) -> None:
    payload = '"' + "é" * 32_767 + '"'
    await enqueue_one(store, payload=payload)
    assert (await claim_one(store, new_lease())).payload == payload


async def test_a_delayed_job_is_scheduled_by_the_stores_clock(world: World) -> None:
    job = await enqueue_one(world.store, delay=90.0)
    record = await world.store.reader.read(job.id)
    assert record is not None
    assert (record.state, record.run_at.timestamp()) == (State.SCHEDULED, world.clock() + 90.0)
    assert await claim(world.store, new_lease()) == []


async def test_jobs_whose_ids_are_there_are_stored_once_though_nobody_says_that_they_come_again(store: Store) -> None:
    known, fresh = new_jobs(3), new_jobs(2)
    await store.jobs.enqueue(known)
    both = [*known, *fresh]
    assert await store.jobs.enqueue(both) == [Enqueued(job.id, False) for job in both]
    assert len(await claim(store, new_lease(), most=10)) == 5


@pytest.mark.parametrize(
    "payload", ['"plain"', '{"a": "\\"quoted\\" {braces}, \\\\ and, commas"}', '"日本 🛟"', "null", '""']
)
async def test_a_payload_comes_back_as_it_was(store: Store, payload: str) -> None:
    (job,) = new_jobs(1)
    job.payload = payload
    await store.jobs.enqueue([job])
    (claimed,) = await claim(store, new_lease())
    assert claimed.payload == payload
    await store.jobs.settle([done(claimed, result=payload)])
    record = await store.reader.read(job.id)
    assert record is not None
    assert (record.payload, record.result) == (payload, payload)


async def test_a_repeat_of_a_batch_that_never_arrived_stores_it(store: Store) -> None:
    jobs = [*new_jobs(3), keyed_job("k")]
    assert await store.jobs.enqueue(jobs, again=True) == [Enqueued(job.id, False) for job in jobs]
    assert {item.id for item in await claim(store, new_lease())} == {job.id for job in jobs}


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_repeat_leaves_a_waiting_job_alone(store: Store, key: str | None) -> None:
    job = keyed_job(key) if key else new_job()
    await store.jobs.enqueue([job])
    assert await store.jobs.enqueue([job], again=True) == [Enqueued(job.id, False)]
    assert len(await claim(store, new_lease())) == 1


@pytest.mark.parametrize("key", [None, "k"])
async def test_a_repeat_leaves_a_running_job_alone(store: Store, key: str | None) -> None:
    job = keyed_job(key) if key else new_job()
    await store.jobs.enqueue([job])
    running = await claim_one(store, new_lease())
    assert await store.jobs.enqueue([job], again=True) == [Enqueued(job.id, False)]
    assert (await one_held(store, job.id)).hold == running.hold
    await finish(store, running)


@pytest.mark.parametrize("scope", [None, *Scope])
async def test_a_repeat_does_not_bring_back_a_finished_job(store: Store, scope: Scope | None) -> None:
    window = 60.0 if scope is Scope.WINDOW else None
    job = keyed_job("k", scope=scope, window=window) if scope else new_job()
    await store.jobs.enqueue([job])
    await run_to_end(store, new_lease())
    assert await store.jobs.enqueue([job], again=True) == [Enqueued(job.id, False)]
    assert await state_of(store, job.id) is State.SUCCEEDED
    assert await store.reader.held([job.id]) == []
    assert await claim(store, new_lease()) == []


async def test_a_repeat_does_not_bring_back_a_job_that_was_cancelled_before_it_ran(store: Store) -> None:
    job = await enqueue_one(store)
    await store.jobs.settle([ended(await one_held(store, job.id), Ending.CANCELLED)])
    await store.jobs.enqueue([job], again=True)
    assert await state_of(store, job.id) is State.CANCELLED
    assert await claim(store, new_lease()) == []


async def test_a_repeat_stores_the_part_of_a_batch_that_is_missing(store: Store) -> None:
    finished, waiting, missing = new_jobs(3)
    await store.jobs.enqueue([finished])
    await run_to_end(store, new_lease())
    await store.jobs.enqueue([waiting])
    await store.jobs.enqueue([finished, waiting, missing], again=True)
    assert [item.id for item in await claim(store, new_lease())] == [waiting.id, missing.id]


async def test_a_repeat_leaves_the_new_holder_of_its_key_alone(store: Store) -> None:
    first, second = keyed_job("k"), keyed_job("k")
    await store.jobs.enqueue([first])
    await run_to_end(store, new_lease())
    await store.jobs.enqueue([second])
    await store.jobs.enqueue([first], again=True)
    assert [item.id for item in await claim(store, new_lease())] == [second.id]


async def test_a_batch_is_stored_whole_or_not_at_all(store: Store) -> None:
    good, bad = new_jobs(2)
    bad.payload = None  # type: ignore[assignment]
    with pytest.raises(Exception, match=r"(?i)null"):
        await store.jobs.enqueue([good, bad])
    assert await store.reader.read(good.id) is None
