"""Settling: a write counts only in the exact situation it was decided in."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.model import Claim, Ending, ErrorInfo, Hold
from fairlead.core.jobs.states import State
from fairlead.errors import IllegalMove
from fairlead.records.store import Store
from tests.contract.making import (
    ERROR,
    POLICY,
    claim,
    claim_one,
    done,
    ended,
    enqueue_one,
    failed,
    new_jobs,
    new_lease,
    one_held,
    same_worker,
    state_of,
)
from tests.contract.world import World

WRONG_PARTS: dict[str, Any] = {
    "state": State.READY,
    "fence": 2,
    "owner": str(uuid4()),
    "lease": str(uuid4()),
}


@pytest.fixture
async def running(store: Store) -> Claim:
    """A job that somebody runs."""
    await enqueue_one(store)
    return await claim_one(store, new_lease())


async def test_success_moves_the_job_to_the_history_with_its_result(world: World, running: Claim) -> None:
    world.advance(5)
    assert await world.store.jobs.settle([done(running, '{"sent":true}')]) == {running.id}
    record = await world.store.reader.read(running.id)
    assert record is not None
    assert record.finished_at is not None
    assert (record.state, record.result, record.error) == (State.SUCCEEDED, '{"sent":true}', None)
    assert (record.attempt, record.fence, record.worker) == (1, 1, running.lease.owner)
    assert record.finished_at.timestamp() == world.clock()
    assert await world.store.reader.held([running.id]) == []


async def test_success_records_no_attempt(store: Store, running: Claim) -> None:
    await store.jobs.settle([done(running)])
    assert await store.reader.attempts(running.id) == []


async def test_a_permanent_failure_ends_the_job_with_its_error(world: World, running: Claim) -> None:
    world.advance(3)
    await world.store.jobs.settle([failed(running, permanent=True)])
    record = await world.store.reader.read(running.id)
    assert record is not None
    assert (record.state, record.result) == (State.DEAD, None)
    assert record.error == ErrorInfo(ERROR.type, ERROR.message, failure=FailureClass.PERMANENT)
    (attempt,) = await world.store.reader.attempts(running.id)
    assert attempt.started_at is not None
    assert (attempt.fence, attempt.attempt, attempt.worker) == (1, 1, running.lease.owner)
    assert (attempt.ending, attempt.error) == (Ending.FAILED, replace(ERROR, failure=FailureClass.PERMANENT))
    assert attempt.ended_at.timestamp() - attempt.started_at.timestamp() == 3


@pytest.mark.parametrize("ending", [item for item in Ending if item is not Ending.SUCCEEDED])
async def test_every_ending_but_success_is_recorded(store: Store, running: Claim, ending: Ending) -> None:
    assert await store.jobs.settle([ended(running, ending)]) == {running.id}
    assert [attempt.ending for attempt in await store.reader.attempts(running.id)] == [ending]


async def test_a_failed_job_waits_its_delay(world: World, running: Claim) -> None:
    await world.store.jobs.settle([failed(running)])
    record = await world.store.reader.read(running.id)
    assert record is not None
    assert (record.state, record.worker, record.attempt) == (State.RETRYING, None, 1)
    assert record.error == ErrorInfo(ERROR.type, ERROR.message)
    assert record.run_at.timestamp() == world.clock() + POLICY.first  # type: ignore[operator]
    assert await claim(world.store, new_lease()) == []


async def test_attempts_count_and_end_the_job(world: World, running: Claim) -> None:
    attempts = [running.attempt]
    await world.store.jobs.settle([failed(running)])
    while await state_of(world.store, running.id) is State.RETRYING:
        world.advance(200)
        await world.store.promotion.promote(10)
        claimed = await claim_one(world.store, new_lease())
        attempts.append(claimed.attempt)
        await world.store.jobs.settle([failed(claimed)])
    assert attempts == [1, 2, 3]
    assert await state_of(world.store, running.id) is State.DEAD
    records = await world.store.reader.attempts(running.id)
    assert [(item.fence, item.attempt) for item in records] == [(1, 1), (2, 2), (3, 3)]


async def test_a_released_job_is_ready_at_once_and_burns_no_attempt(store: Store, running: Claim) -> None:
    await store.jobs.settle([ended(running, Ending.RELEASED)])
    record = await store.reader.read(running.id)
    assert record is not None
    assert (record.state, record.attempt, record.crashes, record.worker) == (State.READY, 0, 0, None)
    again = await claim_one(store, new_lease())
    assert (again.attempt, again.fence) == (1, 2)


async def test_a_failure_is_remembered_until_success_forgets_it(world: World, running: Claim) -> None:
    await world.store.jobs.settle([failed(running)])
    world.advance(10)
    await world.store.promotion.promote(10)
    again = await claim_one(world.store, new_lease())
    record = await world.store.reader.read(running.id)
    assert record is not None
    assert record.error == ErrorInfo(ERROR.type, ERROR.message)
    await world.store.jobs.settle([done(again)])
    record = await world.store.reader.read(running.id)
    assert record is not None
    assert record.error is None


@pytest.mark.parametrize("ending", [Ending.SUCCEEDED, Ending.FAILED, Ending.RELEASED, Ending.CANCELLED])
@pytest.mark.parametrize("part", WRONG_PARTS)
async def test_one_wrong_part_of_the_hold_changes_nothing(
    store: Store, running: Claim, ending: Ending, part: str
) -> None:
    settlement = ended(running, ending)._replace(hold=running.hold._replace(**{part: WRONG_PARTS[part]}))
    before = await store.reader.read(running.id)
    assert await store.jobs.settle([settlement]) == set()
    assert await store.reader.read(running.id) == before
    assert await store.reader.attempts(running.id) == []
    assert await store.jobs.settle([ended(running, ending)]) == {running.id}


async def test_the_place_of_a_job_that_is_gone_belongs_to_nobody_or_to_another(store: Store, running: Claim) -> None:
    """By whatever a store finds a job, a late settlement does not meet the next one."""
    assert await store.jobs.settle([ended(running, Ending.CANCELLED)]) == {running.id}
    await store.jobs.enqueue(new_jobs(1))
    other = await claim_one(store, new_lease())
    assert await store.jobs.settle([done(running)]) == set()
    assert await state_of(store, other.id) is State.RUNNING
    assert await store.jobs.settle([done(other)]) == {other.id}


@pytest.mark.parametrize("part", ["owner", "lease"])
async def test_a_hold_without_owner_or_lease_does_not_match_a_running_job(
    store: Store, running: Claim, part: str
) -> None:
    settlement = done(running)._replace(hold=running.hold._replace(**dict[str, Any]({part: None})))
    assert await store.jobs.settle([settlement]) == set()


async def test_a_settlement_counts_once(store: Store, running: Claim) -> None:
    assert await store.jobs.settle([failed(running)]) == {running.id}
    assert await store.jobs.settle([failed(running)]) == set()
    assert await store.jobs.settle([done(running)]) == set()
    assert len(await store.reader.attempts(running.id)) == 1


async def test_a_worker_that_lost_its_job_cannot_settle_it(store: Store, running: Claim) -> None:
    await store.jobs.settle([ended(running, Ending.LOST)])
    other = await claim_one(store, new_lease())
    assert await store.jobs.settle([done(running)]) == set()
    assert await store.jobs.settle([done(other)]) == {other.id}


async def test_the_same_worker_cannot_settle_by_an_earlier_claim(store: Store, running: Claim) -> None:
    await store.jobs.settle([ended(running, Ending.RELEASED)])
    again = await claim_one(store, running.lease)
    assert await store.jobs.settle([done(running)]) == set()
    assert await store.jobs.settle([done(again)]) == {again.id}


async def test_of_many_those_that_hold_are_applied(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(30))
    claims = await claim(store, new_lease())
    stale, failing, good = claims[:10], claims[10:20], claims[20:]
    await store.jobs.settle([ended(item, Ending.RELEASED) for item in stale])
    batch = [done(item) for item in stale] + [failed(item) for item in failing] + [done(item) for item in good]
    assert await store.jobs.settle(batch) == {item.id for item in (*failing, *good)}
    assert {await state_of(store, item.id) for item in stale} == {State.READY}
    assert {await state_of(store, item.id) for item in failing} == {State.RETRYING}
    assert {await state_of(store, item.id) for item in good} == {State.SUCCEEDED}


async def test_successes_of_several_claims_count_by_their_own_holds(store: Store) -> None:
    await store.jobs.enqueue(new_jobs(12))
    lease = new_lease()
    first, second, theirs = [await claim(store, own, 4) for own in (lease, same_worker(lease), new_lease())]
    stale, told = first[:2], second[:1]
    await store.jobs.settle([ended(item, Ending.RELEASED) for item in stale])
    again = await claim(store, same_worker(lease), 2)
    assert {item.id for item in again} == {item.id for item in stale}
    batch = [done(item) for item in (*first, *second[1:], *theirs)] + [done(item, '"result"') for item in told]
    assert await store.jobs.settle(batch) == {item.id for item in (*first[2:], *second, *theirs)}
    assert {await state_of(store, item.id) for item in again} == {State.RUNNING}
    assert await store.jobs.settle([done(item) for item in again]) == {item.id for item in again}


@pytest.mark.parametrize("ending", [Ending.SUCCEEDED, Ending.RELEASED, Ending.FAILED])
@pytest.mark.parametrize("stale_first", [True, False])
async def test_a_stale_settlement_beside_a_good_one_for_the_same_job_does_nothing(
    store: Store, running: Claim, ending: Ending, stale_first: bool
) -> None:
    await store.jobs.settle([ended(running, Ending.RELEASED)])
    again = await claim_one(store, new_lease())
    stale = ended(running, ending, result='"stale"', error=ErrorInfo("Stale", "stale"))
    good = ended(again, ending, result='"good"', error=ErrorInfo("Good", "good"))
    batch = [stale, good] if stale_first else [good, stale]
    assert await store.jobs.settle(batch) == {running.id}
    record = await store.reader.read(running.id)
    assert record is not None
    assert record.error is not None
    assert record.error.message == "good"
    errors = [item.error.message for item in await store.reader.attempts(running.id) if item.error]
    assert errors == ([] if ending is Ending.SUCCEEDED else ["good"])


async def test_the_same_settlement_twice_in_one_batch_counts_once(store: Store, running: Claim) -> None:
    assert await store.jobs.settle([failed(running), failed(running)]) == {running.id}
    assert len(await store.reader.attempts(running.id)) == 1


async def test_the_same_success_twice_in_one_batch_counts_once(store: Store, running: Claim) -> None:
    assert await store.jobs.settle([done(running), done(running)]) == {running.id}
    assert await state_of(store, running.id) is State.SUCCEEDED


async def test_a_settlement_of_an_unknown_job_does_nothing(store: Store, running: Claim) -> None:
    settlement = done(running)._replace(id=str(uuid4()))
    assert await store.jobs.settle([settlement]) == set()
    assert await store.reader.read(settlement.id) is None


async def test_settling_nothing_returns_nothing(store: Store) -> None:
    assert await store.jobs.settle([]) == set()


@pytest.mark.parametrize("text", ['"; drop table job;--', "50 % :rows {name} \\", "🛟 naïve\n\tñ"])
async def test_odd_errors_come_back_as_they_were(store: Store, running: Claim, text: str) -> None:
    error = ErrorInfo(text, text, text, FailureClass.PERMANENT)
    await store.jobs.settle([ended(running, Ending.FAILED, error=error)])
    record = await store.reader.read(running.id)
    assert record is not None
    assert record.error == ErrorInfo(text, text, None, FailureClass.PERMANENT)
    assert [item.error for item in await store.reader.attempts(running.id)] == [error]


async def test_an_error_without_a_message_is_kept(store: Store, running: Claim) -> None:
    error = ErrorInfo("KeyError", "", None, FailureClass.PERMANENT)
    await store.jobs.settle([ended(running, Ending.FAILED, error=error)])
    record = await store.reader.read(running.id)
    assert record is not None
    assert record.error == error


@pytest.mark.parametrize("delay", [0.0, 60.0])
async def test_a_pending_job_can_be_cancelled(store: Store, delay: float) -> None:
    job = await enqueue_one(store, delay=delay)
    held = await one_held(store, job.id)
    assert await store.jobs.settle([ended(held, Ending.CANCELLED)]) == {job.id}
    assert await state_of(store, job.id) is State.CANCELLED
    assert await store.reader.attempts(job.id) == []
    assert await claim(store, new_lease()) == []


async def test_a_retrying_job_can_be_cancelled(store: Store, running: Claim) -> None:
    await store.jobs.settle([failed(running)])
    held = await one_held(store, running.id)
    assert await store.jobs.settle([ended(held, Ending.CANCELLED)]) == {running.id}
    assert await state_of(store, running.id) is State.CANCELLED


async def test_a_claim_overtakes_a_cancellation_that_was_decided_before(store: Store) -> None:
    job = await enqueue_one(store)
    held = await one_held(store, job.id)
    claimed = await claim_one(store, new_lease())
    assert await store.jobs.settle([ended(held, Ending.CANCELLED)]) == set()
    assert await store.jobs.settle([done(claimed)]) == {job.id}


async def test_a_cancellation_overtakes_a_claim(store: Store) -> None:
    job = await enqueue_one(store)
    await store.jobs.settle([ended(await one_held(store, job.id), Ending.CANCELLED)])
    assert await claim(store, new_lease()) == []
    assert await state_of(store, job.id) is State.CANCELLED


async def test_a_promotion_overtakes_a_cancellation_that_was_decided_before(world: World) -> None:
    job = await enqueue_one(world.store, delay=5.0)
    held = await one_held(world.store, job.id)
    world.advance(5)
    await world.store.promotion.promote(10)
    assert await world.store.jobs.settle([ended(held, Ending.CANCELLED)]) == set()
    assert await state_of(world.store, job.id) is State.READY


async def test_a_job_that_waits_cannot_succeed(store: Store) -> None:
    job = await enqueue_one(store)
    held = await one_held(store, job.id)
    with pytest.raises(IllegalMove):
        done(held)


async def test_held_tells_the_situation_of_live_jobs_only(world: World) -> None:
    await world.store.jobs.enqueue(new_jobs(2))
    finished, waiting = await claim(world.store, new_lease())
    await world.store.jobs.settle([done(finished), ended(waiting, Ending.RELEASED)])
    world.advance(7)
    (held,) = await world.store.reader.held([finished.id, waiting.id, str(uuid4())])
    assert (held.id, held.lane, held.attempt, held.crashes, held.age) == (waiting.id, waiting.lane, 0, 0, 7)
    assert held.hold == Hold(State.READY, 1, None, None)


async def test_held_of_nothing_is_nothing(store: Store) -> None:
    assert await store.reader.held([]) == []


@pytest.mark.parametrize("failure", [None, *FailureClass])
async def test_the_class_of_a_failure_is_kept(store: Store, running: Claim, failure: FailureClass | None) -> None:
    error = replace(ERROR, failure=failure)
    await store.jobs.settle([ended(running, Ending.FAILED, error=error)])
    record = await store.reader.read(running.id)
    assert record is not None
    assert record.error == replace(error, traceback=None)
    assert [attempt.error for attempt in await store.reader.attempts(running.id)] == [error]


async def test_a_snoozed_job_is_scheduled_again_as_if_it_had_not_run(world: World, running: Claim) -> None:
    asked = ErrorInfo("Snooze", "later", failure=None, retry_after=600.0)
    await world.store.jobs.settle([ended(running, Ending.SNOOZED, error=asked)])
    record = await world.store.reader.read(running.id)
    assert record is not None
    assert (record.state, record.attempt, record.error) == (State.SCHEDULED, 0, None)
    assert record.run_at.timestamp() == world.clock() + 600
    world.advance(600)
    await world.store.promotion.promote(10)
    assert (await claim_one(world.store, new_lease())).attempt == 1
