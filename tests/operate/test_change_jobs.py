"""Changing many that wait: all that fit, in batches, and nothing that a worker took."""

import json
from collections.abc import AsyncIterator

import pytest

from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Priority
from fairlead.core.jobs.states import State
from fairlead.errors import ConfigError
from fairlead.operate import change_jobs
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator
from fairlead.wiring import make_store
from tests.contract.making import LANE, claim, new_jobs, new_lease, state_of

ANN = Operator("ann", "the bank is back")
REPORT = LANE._replace(type="report")


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """A store of each kind."""
    made = make_store(store_url)
    await made.open()
    yield made
    await made.close()


async def test_all_that_wait_for_their_time_run_now(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_jobs, "BATCH", 2)
    later = new_jobs(3, delay=3600.0)
    others = new_jobs(1, REPORT, delay=3600.0)
    await store.jobs.enqueue([*later, *others, *new_jobs(1)])
    assert await change_jobs.hasten_many(store, JobFilter(type="mail"), ANN, 100) == 3
    assert [await state_of(store, job.id) for job in later] == [State.READY] * 3
    assert await state_of(store, others[0].id) is State.SCHEDULED
    details = [json.loads(entry.details) for entry in await store.audit.read(10)]
    assert [item["count"] for item in details] == [1, 2]
    assert (details[0]["filter"]["type"], details[0]["reason"]) == ("mail", "the bank is back")


async def test_no_more_than_the_limit(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(3, delay=3600.0))
    assert await change_jobs.hasten_many(store, JobFilter(), ANN, 2) == 2
    assert await store.reader.count_live(JobFilter()) == {State.READY: 2, State.SCHEDULED: 1}


async def test_a_priority_is_given_to_what_still_waits(store: Store) -> None:
    jobs = new_jobs(4)
    await store.jobs.enqueue(jobs)
    taken = {item.id for item in await claim(store, new_lease(), 1)}
    assert await change_jobs.set_priorities(store, JobFilter(), ANN, 100, Priority.CRITICAL) == 3
    found = {job.id: job.priority for job in await store.reader.read_many([job.id for job in jobs])}
    assert {found[job.id] for job in jobs if job.id not in taken} == {Priority.CRITICAL}
    assert {found[job_id] for job_id in taken} == {Priority.DEFAULT}


async def test_states_that_cannot_be_changed_so_are_refused(store: Store) -> None:
    with pytest.raises(ConfigError, match="only scheduled, retrying"):
        await change_jobs.hasten_many(store, JobFilter((State.READY,)), ANN, 10)
