"""Reading: single jobs, listings in pages, counts, facts."""

from uuid import uuid4

import pytest

from fairlead.core.jobs.job_records import JobFilter, Page
from fairlead.core.jobs.model import Ending, Priority
from fairlead.core.jobs.states import State
from fairlead.records import jobs as records
from fairlead.records.store import Store
from tests.contract.making import (
    LANE,
    claim,
    claim_one,
    done,
    ended,
    enqueue_one,
    failed,
    keyed_job,
    new_job,
    new_jobs,
    new_lease,
    run_to_end,
)
from tests.contract.world import World

EVERYTHING = JobFilter()


async def all_pages(store: Store, wanted: JobFilter, limit: int) -> list[Page]:
    """Every page of a listing."""
    pages = [await store.reader.list_jobs(wanted, limit)]
    while pages[-1].cursor:
        pages.append(await store.reader.list_jobs(wanted, limit, pages[-1].cursor))
    return pages


async def test_an_unknown_job_is_none(store: Store) -> None:
    assert await store.reader.read(str(uuid4())) is None
    assert await store.reader.attempts(str(uuid4())) == []


async def test_a_finished_job_keeps_what_was_known_of_it(world: World) -> None:
    job = await enqueue_one(world.store, payload="[1]", options='{"timeout":3}', parent=str(uuid4()))
    live = await world.store.reader.read(job.id)
    claimed = await claim_one(world.store, new_lease())
    await world.store.jobs.settle([done(claimed)])
    finished = await world.store.reader.read(job.id)
    assert live is not None
    assert finished is not None
    for name in ("type", "tenant", "pool", "priority", "version", "payload", "created_at", "options", "parent"):
        assert getattr(live, name) == getattr(finished, name)


async def test_a_listing_has_the_newest_first_live_and_finished_alike(store: Store) -> None:
    jobs = new_jobs(9)
    await store.jobs.enqueue(jobs)
    claims = await claim(store, new_lease(), 6)
    await store.jobs.settle([done(item) for item in claims[::2]])
    page = await store.reader.list_jobs(EVERYTHING, 100)
    assert [item.id for item in page.jobs] == [job.id for job in reversed(jobs)]
    assert page.cursor is None
    for item in page.jobs:
        assert await store.reader.read(item.id) == item


@pytest.mark.parametrize("limit", [1, 4, 5, 100])
async def test_pages_are_complete_and_without_repeats(store: Store, limit: int) -> None:
    jobs = new_jobs(20)
    await store.jobs.enqueue(jobs)
    pages = await all_pages(store, EVERYTHING, limit)
    assert [item.id for page in pages for item in page.jobs] == [job.id for job in reversed(jobs)]
    assert all(len(page.jobs) <= limit for page in pages)
    assert all(page.jobs for page in pages)


async def test_a_text_in_a_key_is_found_among_live_and_finished_jobs(store: Store) -> None:
    jobs = [keyed_job(key) for key in ("order-17", "ORDER-17", "invoice-17-b", "order-18", "a%_b")] + new_jobs(2)
    await store.jobs.enqueue(jobs)
    await store.jobs.settle([done(item) for item in (await claim(store, new_lease(), 7))[::2]])

    async def found(text: str, wanted: JobFilter = EVERYTHING) -> list[str]:
        return sorted(str(job.key) for job in (await store.reader.list_jobs(wanted, 10, containing=text)).jobs)

    assert await found("17") == ["ORDER-17", "invoice-17-b", "order-17"]
    assert await found("order-1") == ["order-17", "order-18"]
    assert await found("%_") == ["a%_b"]
    assert await found("%") == ["a%_b"]
    assert await found("nothing") == []
    assert await found("17", JobFilter(states=(State.SUCCEEDED,))) == ["invoice-17-b", "order-17"]
    assert await found("17", JobFilter(tenant="nobody")) == []


async def test_a_search_looks_at_so_many_jobs_and_goes_on_from_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_SCANNED", 2)
    jobs = [keyed_job(f"{'odd' if number % 7 == 3 else 'even'}-{number}") for number in range(20)]
    await store.jobs.enqueue(jobs)
    await store.jobs.settle([done(item) for item in (await claim(store, new_lease(), 20))[::2]])
    pages, cursor = [await store.reader.list_jobs(EVERYTHING, 100, containing="odd")], None
    while cursor := pages[-1].cursor:
        pages.append(await store.reader.list_jobs(EVERYTHING, 100, cursor, "odd"))
    assert [job.key for page in pages for job in page.jobs] == ["odd-17", "odd-10", "odd-3"]
    assert len(pages) >= 3
    assert any(not page.jobs and page.cursor for page in pages)


async def test_pages_stay_complete_while_jobs_finish_and_new_ones_come(store: Store) -> None:
    jobs = new_jobs(20)
    await store.jobs.enqueue(jobs)
    page = await store.reader.list_jobs(EVERYTHING, 4)
    seen = [item.id for item in page.jobs]
    while page.cursor:
        claims = await claim(store, new_lease(), 2)
        await store.jobs.settle([done(item) for item in claims])
        await enqueue_one(store)
        page = await store.reader.list_jobs(EVERYTHING, 4, page.cursor)
        seen += [item.id for item in page.jobs]
    assert seen == [job.id for job in reversed(jobs)]


async def test_an_empty_listing_has_no_cursor(store: Store) -> None:
    assert await store.reader.list_jobs(EVERYTHING, 10) == Page((), None)


@pytest.mark.parametrize(
    "wanted",
    [
        JobFilter(type="report"),
        JobFilter(tenant="globex"),
        JobFilter(pool="slow"),
        JobFilter(priority=Priority.CRITICAL),
        JobFilter(key="k"),
        JobFilter(type="report", tenant="globex", pool="slow", priority=Priority.CRITICAL, key="k"),
    ],
)
@pytest.mark.parametrize("finished", [False, True])
async def test_each_filter_restricts(store: Store, wanted: JobFilter, finished: bool) -> None:
    lane = LANE._replace(
        type=wanted.type or LANE.type,
        tenant=wanted.tenant or LANE.tenant,
        pool=wanted.pool or LANE.pool,
        priority=LANE.priority if wanted.priority is None else wanted.priority,
    )
    match = keyed_job("k", lane) if wanted.key else new_job(lane)
    await store.jobs.enqueue([new_job(), match, keyed_job("other")])
    if finished:
        for each in {LANE, lane}:
            await run_to_end(store, new_lease(), each)
    page = await store.reader.list_jobs(wanted, 10)
    assert [item.id for item in page.jobs] == [match.id]
    assert (await store.reader.list_jobs(EVERYTHING, 10)).jobs != page.jobs


async def test_the_filter_by_states_takes_live_and_final_ones(world: World) -> None:
    store = world.store
    jobs = new_jobs(6)
    await store.jobs.enqueue(jobs)
    claims = await claim(store, new_lease(), 5)
    scheduled = await enqueue_one(store, delay=60.0)
    await store.jobs.settle([
        done(claims[0]), failed(claims[1], permanent=True), failed(claims[2]), ended(claims[3], Ending.CANCELLED)
    ])  # fmt: skip
    expected = {
        State.SUCCEEDED: claims[0].id,
        State.DEAD: claims[1].id,
        State.RETRYING: claims[2].id,
        State.CANCELLED: claims[3].id,
        State.RUNNING: claims[4].id,
        State.READY: jobs[5].id,
        State.SCHEDULED: scheduled.id,
    }
    for state, job_id in expected.items():
        page = await store.reader.list_jobs(JobFilter((state,)), 10)
        assert [(item.id, item.state) for item in page.jobs] == [(job_id, state)]
    both = await store.reader.list_jobs(JobFilter((State.DEAD, State.READY)), 10)
    assert {item.state for item in both.jobs} == {State.DEAD, State.READY}


async def test_filtered_pages_are_complete(store: Store) -> None:
    lanes = LANE, LANE._replace(type="report")
    jobs = [new_job(lanes[number % 2]) for number in range(20)]
    await store.jobs.enqueue(jobs)
    pages = await all_pages(store, JobFilter(type="report"), 3)
    assert [item.id for page in pages for item in page.jobs] == [job.id for job in reversed(jobs[1::2])]


async def test_live_jobs_are_counted_by_pool_and_state(store: Store) -> None:
    slow = LANE._replace(pool="slow")
    await store.jobs.enqueue([*new_jobs(5), *new_jobs(2, LANE._replace(type="report")), *new_jobs(3, slow)])
    await enqueue_one(store, slow, delay=60.0)
    running, finished = await claim(store, new_lease(), 2)
    await store.jobs.settle([done(finished)])
    assert await store.reader.count_jobs() == {
        ("default", "ready"): 5,
        ("default", "running"): 1,
        ("slow", "ready"): 3,
        ("slow", "scheduled"): 1,
    }
    assert running.id != finished.id


async def test_an_empty_store_counts_nothing(store: Store) -> None:
    assert await store.reader.count_jobs() == {}


async def test_the_facts_name_the_store(world: World) -> None:
    facts = await world.store.jobs.facts()
    assert facts["store"] == ("postgresql" if world.is_postgres else "sqlite")
    assert {"version", "database", "durable", "read_only", "clock"} <= facts.keys()
    assert facts["read_only"] is False
