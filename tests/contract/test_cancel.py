"""Cancelling: what waits is settled, what runs is asked, and a wish is never overlooked nor outlives its run."""

import pytest

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.cancel import Cancelled, CancelWrite, cancel_error, cancel_write
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import CancelRequest, Claim, Ending, Held, Lease, Priority
from fairlead.core.jobs.settle import settle_as_cancelled
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import (
    LANE,
    claim_one,
    done,
    ended,
    enqueue_one,
    failed,
    keyed_job,
    new_job,
    new_jobs,
    new_lease,
    one_held,
    state_of,
)
from tests.contract.world import World

NOTE = AuditNote("ann@desk", "cancel", "jobs", {"reason": "wrong batch"})
WISH = CancelRequest("ann@desk", "wrong batch", 5.0)


async def ask(store: Store, job: Claim | Held, wish: CancelRequest = WISH) -> bool:
    """Ask to cancel the run that was seen."""
    answer = await store.changes.cancel([], [CancelWrite(job.id, job.hold, wish)], NOTE)
    assert answer.done == frozenset()
    return job.id in answer.asked


async def running(store: Store) -> tuple[Claim, Lease]:
    """A job that a worker runs."""
    lease = new_lease()
    await enqueue_one(store)
    return await claim_one(store, lease), lease


async def test_a_job_that_waits_is_cancelled_and_never_claimed(store: Store) -> None:
    job = await enqueue_one(store)
    settlement = ended(await one_held(store, job.id), Ending.CANCELLED, error=cancel_error(WISH))
    assert await store.changes.cancel([settlement], [], NOTE) == Cancelled(frozenset({job.id}), frozenset())
    record = await store.reader.read(job.id)
    assert record is not None
    assert record.error is not None
    assert (record.state, record.error.message) == (State.CANCELLED, "cancelled by ann@desk: wrong batch")
    assert await store.jobs.claim([], new_lease()) == []
    assert await store.reader.active_lanes() == []


async def test_a_wish_is_seen_by_the_owner_and_by_other_settlers(store: Store) -> None:
    claimed, lease = await running(store)
    assert await store.changes.cancel_requests(lease.owner) == {}
    assert await ask(store, claimed)
    assert await store.changes.cancel_requests(lease.owner) == {(claimed.id, claimed.fence): WISH}
    assert await store.changes.cancel_requests(new_lease().owner) == {}
    held = await one_held(store, claimed.id)
    assert held.cancel == WISH
    assert held.hold == claimed.hold._replace(cancelled=True)
    assert await state_of(store, claimed.id) is State.RUNNING


async def test_who_asks_and_which_jobs_is_in_the_audit(store: Store) -> None:
    claimed, _ = await running(store)
    waiting = await enqueue_one(store)
    settlement = ended(await one_held(store, waiting.id), Ending.CANCELLED)
    await store.changes.cancel([settlement], [CancelWrite(claimed.id, claimed.hold, WISH)], NOTE)
    for job_id in (claimed.id, waiting.id):
        (entry,) = await store.audit.read(10, job_id=job_id)
        assert (entry.actor, entry.action) == ("ann@desk", "cancel")
        assert f'"asked":["{claimed.id}"]' in entry.details


async def test_nothing_is_written_down_where_nothing_was_done(store: Store) -> None:
    claimed, _ = await running(store)
    await store.jobs.settle([done(claimed)])
    assert not await ask(store, claimed)
    assert await store.audit.read(10) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"fence": 2},
        {"owner": "00000000-0000-4000-8000-000000000001"},
        {"lease": "00000000-0000-4000-8000-000000000001"},
        {"state": State.READY},
    ],
)
async def test_a_wish_about_another_run_is_not_stored(store: Store, wrong: dict[str, object]) -> None:
    claimed, lease = await running(store)
    stale = CancelWrite(claimed.id, claimed.hold._replace(**wrong), WISH)  # type: ignore[arg-type]
    assert await store.changes.cancel([], [stale], NOTE) == Cancelled(frozenset(), frozenset())
    assert await store.changes.cancel_requests(lease.owner) == {}


async def test_a_wish_can_be_made_more_urgent(store: Store) -> None:
    claimed, lease = await running(store)
    assert await ask(store, claimed)
    wish = cancel_write(await one_held(store, claimed.id), WISH._replace(by="bob", grace=0.0))
    assert wish is not None
    assert await ask(store, claimed, wish.request)
    assert await store.changes.cancel_requests(lease.owner) == {(claimed.id, 1): WISH._replace(grace=0.0)}


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.TIMED_OUT, Ending.RELEASED, Ending.SNOOZED])
async def test_a_run_that_was_asked_to_end_is_not_run_again(store: Store, ending: Ending) -> None:
    """The worker that did not know decides again when its decision does not hold."""
    claimed, _ = await running(store)
    unaware = ended(claimed, ending)
    assert await ask(store, claimed)
    assert await store.jobs.settle([unaware]) == set()
    aware = settle_as_cancelled(unaware, await one_held(store, claimed.id))
    assert aware is not None
    assert await store.jobs.settle([aware]) == {claimed.id}
    assert await state_of(store, claimed.id) is State.CANCELLED
    (attempt,) = await store.reader.attempts(claimed.id)
    assert attempt.ending is ending


async def test_a_run_that_would_be_dead_is_cancelled_instead(store: Store) -> None:
    claimed, _ = await running(store)
    unaware = failed(claimed, permanent=True)
    assert unaware.state is State.DEAD
    assert await ask(store, claimed)
    assert await store.jobs.settle([unaware]) == set()
    aware = settle_as_cancelled(unaware, await one_held(store, claimed.id))
    assert aware is not None
    assert aware.state is State.CANCELLED


async def test_a_batch_with_both_decisions_of_a_run_applies_the_one_that_knows(store: Store) -> None:
    claimed, _ = await running(store)
    assert await ask(store, claimed)
    aware = ended(claimed._replace(cancel=WISH), Ending.FAILED)
    assert await store.jobs.settle([failed(claimed), aware, failed(claimed, permanent=True)]) == {claimed.id}
    assert await state_of(store, claimed.id) is State.CANCELLED
    assert len(await store.reader.attempts(claimed.id)) == 1


async def test_a_success_counts_although_somebody_asked(store: Store) -> None:
    for aware in (False, True):
        claimed, _ = await running(store)
        assert await ask(store, claimed)
        assert await store.jobs.settle([done(claimed._replace(cancel=WISH if aware else None), '"ok"')]) == {claimed.id}
        assert await state_of(store, claimed.id) is State.SUCCEEDED


async def test_a_lost_job_that_was_to_be_cancelled_is_cancelled(world: World) -> None:
    lease = await world.worker(10)
    await enqueue_one(world.store)
    claimed = await claim_one(world.store, lease)
    assert await ask(world.store, claimed)
    world.advance(11)
    (lost,) = await world.store.reader.lost(10)
    settlement = ended(lost, Ending.LOST)
    assert settlement.state is State.CANCELLED
    assert await world.store.jobs.settle([settlement], expired_only=True) == {claimed.id}
    assert await state_of(world.store, claimed.id) is State.CANCELLED


async def test_a_recoverer_that_did_not_know_of_the_wish_changes_nothing(world: World) -> None:
    lease = await world.worker(10)
    await enqueue_one(world.store)
    claimed = await claim_one(world.store, lease)
    world.advance(11)
    (lost,) = await world.store.reader.lost(10)
    assert await ask(world.store, claimed)
    assert await world.store.jobs.settle([ended(lost, Ending.LOST)], expired_only=True) == set()
    assert await state_of(world.store, claimed.id) is State.RUNNING


async def test_a_replayed_job_has_no_wish_left(store: Store) -> None:
    """The columns belong to the live row, which ends with the run."""
    claimed, lease = await running(store)
    await store.jobs.settle([failed(claimed)])
    assert await store.changes.cancel_requests(lease.owner) == {}
    assert (await one_held(store, claimed.id)).cancel is None


async def test_live_jobs_are_found_by_filter_newest_first(store: Store) -> None:
    report = LANE._replace(type="report", tenant="globex", priority=Priority.HIGH)
    plain = new_jobs(3)
    scheduled, other = new_job(delay=60), new_job(report)
    keyed = keyed_job("k", LANE._replace(pool="slow"))
    await store.jobs.enqueue([*plain, scheduled, other, keyed])
    first = await claim_one(store, new_lease())
    await store.jobs.settle([done(first)])
    second = await claim_one(store, new_lease())
    everything = [keyed.id, other.id, scheduled.id, plain[2].id, second.id]
    for wanted, expected in (
        (JobFilter(), everything),
        (JobFilter(type="report"), [other.id]),
        (JobFilter(tenant="globex", priority=Priority.HIGH), [other.id]),
        (JobFilter(pool="slow", key="k"), [keyed.id]),
        (JobFilter(states=(State.RUNNING,)), [second.id]),
        (JobFilter(states=(State.SCHEDULED, State.RUNNING)), [scheduled.id, second.id]),
        (JobFilter(fingerprint="x"), []),
        (JobFilter(states=(State.SUCCEEDED,)), []),
    ):
        found = await store.reader.find_live(wanted, 100)
        assert [job.id for job in found] == expected, wanted
        counted = await store.reader.count_live(wanted)
        assert sum(counted.values()) == len(expected), wanted
    assert await store.reader.count_live(JobFilter()) == {State.READY: 3, State.SCHEDULED: 1, State.RUNNING: 1}
    page = await store.reader.find_live(JobFilter(), 2)
    assert [job.id for job in page] == everything[:2]
    assert [job.id for job in await store.reader.find_live(JobFilter(), 2, page[-1].id)] == everything[2:4]
    (held,) = await store.reader.find_live(JobFilter(states=(State.RUNNING,)), 1)
    assert held.hold == second.hold


async def test_an_attempt_tells_when_its_run_was_due_and_ready(world: World) -> None:
    job = await enqueue_one(world.store, delay=10)
    due = world.clock() + 10
    world.advance(12)
    await world.store.promotion.promote(10)
    ready = world.clock()
    world.advance(1)
    claimed = await claim_one(world.store, new_lease())
    await world.store.jobs.settle([failed(claimed)])
    (attempt,) = await world.store.reader.attempts(job.id)
    assert attempt.due_at is not None
    assert attempt.ready_at is not None
    assert attempt.due_at.timestamp() == pytest.approx(due)
    assert attempt.ready_at.timestamp() == pytest.approx(ready)
