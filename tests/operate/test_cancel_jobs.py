"""Cancelling many: by ids and by filter, whatever happens to the jobs meanwhile."""

import json
from collections.abc import AsyncIterator

import pytest

from fairlead.core.jobs.cancel import Cancelled
from fairlead.core.jobs.ids import make_ids
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Held
from fairlead.core.jobs.states import State
from fairlead.errors import ConfigError, IllegalMove, JobNotFound, StoreUnavailable
from fairlead.operate import cancel_jobs
from fairlead.ports.jobs import WORKER_HINT
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator
from fairlead.wiring import make_store
from tests.contract.making import LANE, claim, claim_one, done, failed, new_job, new_jobs, new_lease, state_of
from tests.support.doubles import store_of

ANN = Operator("ann", "wrong batch")
REPORT = LANE._replace(type="report")
(UNKNOWN,) = make_ids(1, 0.0)


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """A store of each kind."""
    made = make_store(store_url)
    await made.open()
    yield made
    await made.close()


async def test_all_that_fit_are_cancelled_in_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancel_jobs, "BATCH", 4)
    mails, reports = new_jobs(9), new_jobs(3, REPORT)
    await store.jobs.enqueue([*mails, *reports])
    running = await claim(store, new_lease(), 2)
    assert await cancel_jobs.count(store, JobFilter(type="mail")) == {State.READY: 7, State.RUNNING: 2}
    steps: list[int] = []
    counts = await cancel_jobs.cancel_many(store, JobFilter(type="mail"), ANN, progress=steps.append)
    assert counts == cancel_jobs.CancelCounts(7, 2)
    assert steps == [4, 4, 1]
    assert await store.reader.count_live(JobFilter()) == {State.READY: 3, State.RUNNING: 2}
    assert len(await store.changes.cancel_requests(running[0].lease.owner)) == 2
    entries = await store.audit.read(10)
    assert [json.loads(entry.details)["count"] for entry in entries] == [1, 4, 4]
    details = json.loads(entries[0].details)
    assert details["filter"]["type"] == "mail"
    assert details["reason"] == "wrong batch"


async def test_a_limit_takes_the_newest(store: Store) -> None:
    jobs = new_jobs(5)
    await store.jobs.enqueue(jobs)
    assert await cancel_jobs.cancel_many(store, JobFilter(type="mail"), ANN, most=2) == cancel_jobs.CancelCounts(2, 0)
    states = [await state_of(store, job.id) for job in jobs]
    assert states == [State.READY] * 3 + [State.CANCELLED] * 2


async def test_only_the_states_that_were_asked_for(store: Store) -> None:
    scheduled = new_job(delay=600)
    await store.jobs.enqueue([*new_jobs(2), scheduled])
    wanted = JobFilter(states=(State.SCHEDULED, State.DEAD))
    assert await cancel_jobs.cancel_many(store, wanted, ANN) == cancel_jobs.CancelCounts(1, 0)
    assert await store.reader.count_live(JobFilter()) == {State.READY: 2}
    with pytest.raises(ConfigError, match="have ended"):
        await cancel_jobs.cancel_many(store, JobFilter(states=(State.DEAD,)), ANN)


async def test_by_ids_each_gets_its_answer(store: Store) -> None:
    waiting, running, finished, dead = new_jobs(4)
    await store.jobs.enqueue([running])
    run = await claim_one(store, new_lease())
    await store.jobs.enqueue([finished])
    await store.jobs.settle([done(await claim_one(store, new_lease()))])
    await store.jobs.enqueue([dead])
    await store.jobs.settle([failed(await claim_one(store, new_lease()), permanent=True)])
    await store.jobs.enqueue([waiting])
    ids = [waiting.id, running.id, waiting.id, finished.id, dead.id, UNKNOWN, "nonsense"]
    report = await cancel_jobs.cancel_ids(store, ids, ANN)
    assert (report.cancelled, report.asked) == ([waiting.id], [run.id])
    assert {job_id: type(error) for job_id, error in report.refused.items()} == {
        finished.id: IllegalMove, dead.id: IllegalMove, UNKNOWN: JobNotFound, "nonsense": JobNotFound,
    }  # fmt: skip
    assert "jobs cancel" in str(report.refused[dead.id])


class Overtaken:
    """Reads jobs of a store in which somebody claims each job just after it was looked at."""

    def __init__(self, store: Store, times: int) -> None:
        self._store = store
        self._times = times

    async def held(self, ids: list[str]) -> list[Held]:
        found = await self._store.reader.held(ids)
        await self.overtake()
        return found

    async def find_live(self, wanted: JobFilter, limit: int, cursor: str | None = None) -> list[Held]:
        found = await self._store.reader.find_live(wanted, limit, cursor)
        await self.overtake()
        return found

    async def overtake(self) -> None:
        if self._times > 0:
            self._times -= 1
            await claim(self._store, new_lease())


def overtaken(store: Store, times: int) -> Store:
    """The store, with somebody who is quicker as often as this."""
    return store_of(jobs=store.jobs, changes=store.changes, reader=Overtaken(store, times))


async def _note(hints: list[str], names: set[str]) -> None:
    hints += names


async def test_a_job_that_is_claimed_meanwhile_is_asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    job = new_job()
    await store.jobs.enqueue([job])
    hints: list[str] = []
    monkeypatch.setattr(store.jobs, "wake", lambda names: _note(hints, names))
    seen = overtaken(store, 1)
    assert await cancel_jobs.cancel_one(seen, job.id, ANN) is State.RUNNING
    (held,) = await store.reader.held([job.id])
    assert held.cancel is not None
    assert hints == [f"{WORKER_HINT}{held.hold.owner}"]


async def test_a_job_that_left_the_states_asked_for_is_left_alone(store: Store) -> None:
    job = new_job()
    await store.jobs.enqueue([job])
    wanted = JobFilter(states=(State.READY,))
    counts = await cancel_jobs.cancel_many(overtaken(store, 1), wanted, ANN)
    assert counts == cancel_jobs.CancelCounts(0, 0)
    (held,) = await store.reader.held([job.id])
    assert (held.hold.state, held.cancel) == (State.RUNNING, None)


async def test_a_job_that_never_keeps_still_ends_in_an_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def overtaken(*_: object) -> Cancelled:
        return Cancelled(frozenset(), frozenset())

    monkeypatch.setattr(cancel_jobs, "PAUSE", 0.0)
    job = new_job()
    await store.jobs.enqueue([job])
    monkeypatch.setattr(store.changes, "cancel", overtaken)
    with pytest.raises(StoreUnavailable, match="changed 20 times"):
        await cancel_jobs.cancel_one(store, job.id, ANN)
