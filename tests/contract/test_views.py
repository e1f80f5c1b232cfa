"""What is kept for those who look: progress of runs, waits of jobs, what was done to a target."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.core.fairness.run_times import RunCount
from fairlead.core.insight.audit import AuditNote
from fairlead.core.insight.wait_times import WaitCount
from fairlead.core.jobs.dead_letters import revive
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Claim, NewJob
from fairlead.core.jobs.progress import Progress, RunReport, report
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import LANE, claim_one, done, enqueue_one, failed, new_lease
from tests.contract.world import World

WEEK = 7 * 86_400.0
NOTE = AuditNote("ann@desk", "purge", "dead letters")


def said(claim: Claim, done_: float, total: float | None = None, message: str = "", **wrong: Any) -> RunReport:
    """What the run of a claim reports."""
    owner, token = claim.lease
    told = RunReport(claim.id, claim.fence, owner, token, *report(done_, total, message))
    return told._replace(**wrong)


async def running(store: Store) -> Claim:
    await enqueue_one(store)
    return await claim_one(store, new_lease())


async def progress_of(store: Store, job_id: str) -> Progress | None:
    record = await store.reader.read(job_id)
    assert record
    return record.progress


async def is_forgotten(store: Store, job_id: str) -> bool:
    """Whether a new job of this id begins without progress: the first run of both has the same fence."""
    await store.jobs.enqueue([NewJob(job_id, LANE, "{}")])
    again = await claim_one(store, new_lease())
    assert (again.id, again.fence) == (job_id, 1)
    return await progress_of(store, job_id) is None


async def test_the_newest_report_is_read_with_the_job(world: World) -> None:
    store = world.store
    claim, other, silent = await running(store), await running(store), await running(store)
    assert await store.run_state.report_progress([said(claim, 0.25), said(other, 3, 8, "drei von ächt")]) == {
        claim.id,
        other.id,
    }
    world.advance(5)
    assert await store.run_state.report_progress([said(claim, 0.5, message="half")]) == {claim.id}
    at = datetime.fromtimestamp(world.clock(), UTC)
    assert await progress_of(store, claim.id) == Progress(0.5, None, "half", at)
    found = await progress_of(store, other.id)
    assert found
    assert (found.fraction, found.message) == (0.375, "drei von ächt")
    assert await progress_of(store, silent.id) is None


async def test_lists_show_progress_too(store: Store) -> None:
    claim, silent = await running(store), await running(store)
    await enqueue_one(store)
    await store.run_state.report_progress([said(claim, 0.25)])
    page = await store.reader.list_jobs(JobFilter(), 10)
    assert {job.id: job.progress and job.progress.done for job in page.jobs if job.fence} == {
        claim.id: 0.25,
        silent.id: None,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"fence": 2},
        {"owner": "00000000-0000-4000-8000-000000000001"},
        {"lease": "00000000-0000-4000-8000-000000000001"},
    ],
)
async def test_a_run_that_does_not_own_the_job_reports_nothing(store: Store, wrong: dict[str, Any]) -> None:
    claim, other = await running(store), await running(store)
    assert await store.run_state.report_progress([said(claim, 0.5, **wrong), said(other, 0.5)]) == {other.id}
    assert await progress_of(store, claim.id) is None


async def test_a_later_run_begins_without_progress_and_a_zombie_does_not_bring_it_back(world: World) -> None:
    store = world.store
    await enqueue_one(store)
    zombie = await claim_one(store, await world.worker(10))
    await store.run_state.report_progress([said(zombie, 0.75)])
    await store.jobs.settle([failed(zombie)])
    found = await progress_of(store, zombie.id)
    assert found, "it is shown while the job waits"
    assert await store.run_state.report_progress([said(zombie, 0.8)]) == set()
    world.advance(60)
    await store.promotion.promote(10)
    current = await claim_one(store, new_lease())
    assert await progress_of(store, current.id) is None
    assert await store.run_state.report_progress([said(zombie, 0.9), said(current, 0.1)]) == {current.id}
    found = await progress_of(store, current.id)
    assert found
    assert found.done == 0.1


@pytest.mark.parametrize(("days", "kept"), [(1, {"mail": 3600.0}), (20, {})])
async def test_progress_is_kept_after_the_end_and_goes_with_the_record(
    world: World, days: int, kept: dict[str, float]
) -> None:
    store = world.store
    await store.jobs.prune({}, WEEK, 100)
    claim = await running(store)
    await store.run_state.report_progress([said(claim, 1.0, message="all of it")])
    await store.jobs.settle([done(claim)])
    assert await store.run_state.report_progress([said(claim, 0.1)]) == set()
    found = await progress_of(store, claim.id)
    assert found
    assert (found.done, found.message) == (1.0, "all of it")
    world.advance(days * 86_400.0)
    assert await store.jobs.prune(kept, WEEK, 100) == 1
    assert await is_forgotten(store, claim.id)


async def test_progress_of_the_dead_goes_with_them_and_stays_with_the_revived(world: World) -> None:
    store = world.store
    claims = [await running(store), await running(store)]
    for claim in claims:
        await store.run_state.report_progress([said(claim, 0.5)])
        await store.jobs.settle([failed(claim, permanent=True)])
    jobs = await store.reader.read_many(claim.id for claim in claims)
    assert {job.state for job in jobs} == {State.DEAD}
    await store.dead_letters.revive([revive(jobs[0])], NOTE)
    assert await progress_of(store, jobs[0].id) is not None
    await store.jobs.settle([done(await claim_one(store, new_lease()))])
    world.advance(10)
    assert await store.dead_letters.purge(JobFilter(states=(State.DEAD,)), 1.0, 10, NOTE) == 1
    assert await is_forgotten(store, jobs[1].id)


async def test_waits_of_several_workers_add_up_by_minute(world: World) -> None:
    store = world.store
    await store.shares.record_usage([], [], [WaitCount("short", -40, 3), WaitCount("long", 8, 1)])
    await store.shares.record_usage([], [], [WaitCount("short", -40, 2), WaitCount("short", 9, 1)])
    first = int(world.clock() // 60) * 60
    world.advance(60)
    await store.shares.record_usage([], [], [WaitCount("short", -40, 7)])
    assert await store.shares.wait_counts(600) == [
        WaitCount("long", 8, 1, first),
        WaitCount("short", -40, 5, first),
        WaitCount("short", 9, 1, first),
        WaitCount("short", -40, 7, first + 60),
    ]
    world.advance(3600)
    assert await store.shares.wait_counts(600) == []
    await store.shares.prune(1800)
    assert await store.shares.wait_counts(86_400) == []


async def test_runs_of_one_type_are_read_alone(world: World) -> None:
    counts = [RunCount("mail", 3, 2, 1.0), RunCount("parse", 4, 1, 2.0)]
    await world.store.shares.record_usage([], counts)
    assert await world.store.shares.run_times(3600) == counts
    assert await world.store.shares.run_times(3600, "parse") == counts[1:]
    assert await world.store.shares.run_times(3600, "nothing") == []


async def test_the_audit_is_read_by_its_target(store: Store) -> None:
    for number in range(3):
        await store.audit.append(AuditNote("ann@desk", f"move {number}", "type mail"))
        await store.audit.append(AuditNote("ann@desk", "pause", "type parse"))
    assert [entry.action for entry in await store.audit.about("type mail", 2)] == ["move 2", "move 1"]
    assert await store.audit.about("type", 10) == []
