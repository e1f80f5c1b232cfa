"""Jobs that end where they are: what a claim and an end write, and how files with a history of its own get there."""

import asyncio
import uuid
from itertools import repeat
from pathlib import Path

import apsw
import pytest
from fairlead.core.jobs.job_records import JobFilter

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.dead_letters import DeadHold, Revival
from fairlead.core.jobs.model import Ending, ErrorInfo, Hold, Lease, Quota, Settlement
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from fairlead.stores.sqlite.migrate import migrate
from fairlead.wiring import make_store
from tests.stores.sqlite.support import LANE, make_old, new_jobs
from tests.support.migrations import later_than
from tests.support.settling import succeed

BEFORE = 19  # the last schema in which finished jobs had a table of their own
JOBS = 2_000


def new_lease() -> Lease:
    return Lease(str(uuid.uuid4()), str(uuid.uuid4()))


def pages(path: Path) -> int:
    connection = apsw.Connection(str(path))
    count: int = connection.pragma("page_count")
    connection.close()
    return count


async def test_a_claim_and_an_end_divide_no_page(store: Store, path: Path) -> None:
    await store.jobs.enqueue(new_jobs(JOBS, payload='{"text":"' + "x" * 50 + '"}'))
    before = pages(path)
    claims = await store.jobs.claim([Quota(LANE.id, JOBS)], new_lease())
    assert len(claims) == JOBS
    assert pages(path) <= before + 1  # where its jobs lie, says the claim
    assert len(await store.jobs.settle(succeed(claims, repeat(None)))) == JOBS
    assert pages(path) <= before + 2


async def test_of_a_group_those_are_settled_whose_claim_still_holds(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(4))
    claims = await store.jobs.claim([Quota(LANE.id, 4)], new_lease())
    for part, given in ((claims[:1], None), (claims[2:3], "1")):
        await store.jobs.settle(succeed(part, repeat(given)))
    assert await store.jobs.settle(succeed(claims[:2], repeat(None))) == {claims[1].id}
    assert await store.jobs.settle(succeed(claims[2:], repeat("1"))) == {claims[3].id}
    assert await store.jobs.settle(succeed(claims, repeat(None))) == set()
    assert {job.result for job in await store.reader.read_many([claim.id for claim in claims])} == {None, "1"}


async def test_what_is_said_twice_at_once_is_counted_once(store: Store, path: Path) -> None:
    await store.jobs.enqueue(new_jobs(4))
    claims = await store.jobs.claim([Quota(LANE.id, 4)], new_lease())
    for said in (claims[:1], claims[2:3]):
        both = [*said, claims[1]] if said[0] is claims[0] else [*said]
        result = None if said[0] is claims[0] else "1"
        await asyncio.gather(
            store.jobs.settle(succeed(said, repeat(result))),
            store.jobs.settle(succeed(both, repeat(result))),
        )
    connection = apsw.Connection(str(path))
    assert connection.execute("select jobs from claim").fetchall() == [(1,)]
    connection.close()
    assert await store.jobs.settle(succeed(claims, repeat(None))) == {claims[3].id}


async def test_a_success_says_nothing_of_failures_before_it(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(2))
    claims = await store.jobs.claim([Quota(LANE.id, 2)], new_lease())
    failed = [
        Settlement(claim.id, claim.hold, State.READY, 1, 0, Ending.FAILED, error=ErrorInfo("OSError", "no"))
        for claim in claims
    ]
    await store.jobs.settle(failed)
    again = await store.jobs.claim([Quota(LANE.id, 2)], new_lease())
    await store.jobs.settle(succeed([again[0]], [None]))
    await store.jobs.settle(succeed([again[1]], ["1"]))
    for job in await store.reader.read_many([claim.id for claim in claims]):
        assert (job.state, job.error) == (State.SUCCEEDED, None)


async def test_a_finished_job_that_is_submitted_again_stays_finished(store: Store) -> None:
    jobs = new_jobs(1)
    await store.jobs.enqueue(jobs)
    await store.jobs.settle(succeed(await store.jobs.claim([Quota(LANE.id, 1)], new_lease()), repeat(None)))
    await store.jobs.enqueue(jobs, again=True)
    assert await store.jobs.claim([Quota(LANE.id, 1)], new_lease()) == []
    job = await store.reader.read(jobs[0].id)
    assert job is not None
    assert job.state is State.SUCCEEDED


async def test_live_and_finished_jobs_of_an_older_file_are_what_they_were(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, waiting, done, dead = (job.id for job in new_jobs(4))
    lease = new_lease()
    make_old(path, BEFORE, tmp_path, monkeypatch)
    fill_old(path, running, waiting, done, dead, lease)
    assert await migrate(f"sqlite:///{path}") == later_than(BEFORE)
    with pytest.raises(apsw.SQLError, match="no such table: job"):
        fill_old(path, running, waiting, done, dead, lease)  # as a process does that was not stopped before
    store = make_store(f"sqlite:///{path}")
    await store.open()
    try:
        found = {job.id: job for job in await store.reader.read_many([running, waiting, done, dead])}
        assert {key: job.state.value for key, job in found.items()} == {
            running: "running", waiting: "ready", done: "succeeded", dead: "dead",
        }  # fmt: skip
        assert (found[running].worker, found[done].worker, found[done].result) == (lease.owner, "somebody", "7")
        assert [job.id for job in (await store.reader.list_jobs(JobFilter(), 10)).jobs] == sorted(found, reverse=True)
        hold = Hold(State.RUNNING, 1, lease.owner, lease.token, False)
        assert await store.jobs.settle([Settlement(running, hold, State.SUCCEEDED, 1, 0, Ending.SUCCEEDED)]) == {
            running
        }
        ended = found[dead].finished_at
        assert ended is not None
        revival = Revival(DeadHold(dead, 1, ended), LANE, State.READY, None, None)
        revived = await store.dead_letters.revive([revival], AuditNote("ann", "replay", "dead letters"))
        assert revived.ids == {dead}
        claims = await store.jobs.claim([Quota(LANE.id, 5)], new_lease())
        assert {claim.id for claim in claims} == {waiting, dead}
        assert await store.jobs.prune({}, 0.0, 10) == 2
    finally:
        await store.close()


def fill_old(path: Path, running: str, waiting: str, done: str, dead: str, lease: Lease) -> None:
    """Live jobs, one of which runs, and finished ones; one that is live must not be so a second time."""
    live = (
        "insert into job (place, id, shard, lane, state, attempt, crashes, fence, claim, run_at, ready_at, created_at, "
        "payload) values (?, ?, 0, ?, ?, 1, 0, 1, ?, 1, 1, 1, '{}')"
    )
    finished = (
        "insert into job_history (id, shard, lane, state, attempt, crashes, fence, owner, run_at, created_at, "
        "finished_at, fingerprint, payload, result) values (?, 0, ?, ?, 1, 0, 1, 'somebody', 1, 1, 2, ?, '{}', ?)"
    )
    connection = apsw.Connection(str(path))
    connection.execute(live, (3, running, LANE.id, "running", 5))
    connection.execute("insert into claim values (5, ?, ?, 1, 1, '[[3, 3]]')", lease)
    connection.execute(live, (4, waiting, LANE.id, "ready", None))
    connection.execute(finished, (done, LANE.id, "succeeded", None, "7"))
    connection.execute(finished, (dead, LANE.id, "dead", "f" * 16, None))
    connection.execute(finished, (waiting, LANE.id, "cancelled", None, None))
    connection.close()
