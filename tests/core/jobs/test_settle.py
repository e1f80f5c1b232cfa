"""What follows from each ending of a run."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.checkpoints import MOST_RESUMPTIONS, LastCheckpoint
from fairlead.core.jobs.failure import CRASH_LIMIT, FailureClass, Policies, RetryDenial, policies
from fairlead.core.jobs.model import (
    CancelRequest,
    Claim,
    Ending,
    ErrorInfo,
    Held,
    Hold,
    Lane,
    Lease,
    Outcome,
    Priority,
    Settlement,
)
from fairlead.core.jobs.retry import Retry
from fairlead.core.jobs.settle import RetryAdjustment, settle, settle_as_cancelled
from fairlead.core.jobs.states import MOVES, PENDING, State
from fairlead.errors import IllegalMove

LANE = Lane("default", "acme", "mail", Priority.DEFAULT, 1)
LEASE = Lease("owner", "token")
CLAIM = Claim("id", LANE, "{}", 2, 1, 7, 0.0, 0.0, None, None, None, LEASE)
POLICY = Retry(attempts=3)
ERROR = ErrorInfo("ValueError", "bad")


def held_in(state: State) -> Held:
    return Held("id", LANE, 2, 1, 0.0, Hold(state, 7))


def decide(job: Claim | Held, ending: Ending, error: ErrorInfo | None = None, policy: Retry = POLICY) -> object:
    return settle(job, Outcome(ending, "result", error), policy, Random(1))


def test_success_ends_the_job_with_its_result() -> None:
    settlement = settle(CLAIM, Outcome(Ending.SUCCEEDED, "result"), POLICY, Random(1))
    assert (settlement.state, settlement.result, settlement.attempt) == (State.SUCCEEDED, "result", 2)
    assert not settlement.recorded


def test_a_success_counts_although_somebody_asked_to_cancel_the_job() -> None:
    asked = CLAIM._replace(cancel=CancelRequest("me", None, 1.0), options='{"callback":"hook"}')
    settlement = settle(asked, Outcome(Ending.SUCCEEDED, "result"), POLICY, Random(1))
    assert (settlement.state, settlement.result, settlement.calls_back) == (State.SUCCEEDED, "result", True)
    assert settlement.hold.cancelled


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.TIMED_OUT])
def test_a_failure_is_retried_while_attempts_are_left(ending: Ending) -> None:
    settlement = settle(CLAIM, Outcome(ending, error=ERROR), POLICY, Random(1))
    assert (settlement.state, settlement.attempt, settlement.error) == (State.RETRYING, 2, ERROR)
    assert 0 <= settlement.delay <= 5
    assert settlement.recorded


@pytest.mark.parametrize("ending", [Ending.FAILED, Ending.TIMED_OUT])
def test_the_last_attempt_ends_the_job(ending: Ending) -> None:
    settlement = settle(CLAIM._replace(attempt=3), Outcome(ending, error=ERROR), POLICY, Random(1))
    assert (settlement.state, settlement.delay, settlement.error) == (State.DEAD, 0.0, ERROR)


def test_a_permanent_failure_ends_the_job_at_once() -> None:
    outcome = Outcome(Ending.FAILED, error=replace(ERROR, failure=FailureClass.PERMANENT))
    assert settle(CLAIM._replace(attempt=1), outcome, POLICY, Random(1)).state is State.DEAD


def test_a_failure_without_an_error_is_retried() -> None:
    assert settle(CLAIM, Outcome(Ending.FAILED), POLICY, Random(1)).state is State.RETRYING


def test_a_release_gives_the_attempt_back() -> None:
    settlement = settle(CLAIM, Outcome(Ending.RELEASED), POLICY, Random(1))
    assert (settlement.state, settlement.attempt, settlement.crashes) == (State.READY, 1, 1)
    assert settlement.delay == 0


def test_a_type_says_how_many_losses_its_jobs_survive() -> None:
    declared = policies(POLICY, {"crash": Retry(attempts=5)})
    for crashes, state in ((CRASH_LIMIT, State.READY), (4, State.DEAD)):
        settlement = settle(CLAIM._replace(crashes=crashes), Outcome(Ending.LOST), declared, Random(1))
        assert (settlement.state, settlement.delay) == (state, 0.0)
        assert settlement.error is not None
        assert "of at most 5 times" in settlement.error.message


def test_a_loss_gives_the_attempt_back_and_counts_a_crash() -> None:
    settlement = settle(CLAIM, Outcome(Ending.LOST), POLICY, Random(1))
    assert (settlement.state, settlement.attempt, settlement.crashes) == (State.READY, 1, 2)
    assert settlement.error is not None
    assert settlement.error.type == "LeaseLost"


def test_too_many_losses_end_the_job() -> None:
    settlement = settle(CLAIM._replace(crashes=CRASH_LIMIT - 1), Outcome(Ending.LOST), POLICY, Random(1))
    assert (settlement.state, settlement.crashes) == (State.DEAD, CRASH_LIMIT)


def test_a_loss_on_the_last_attempt_still_gives_another_chance() -> None:
    assert settle(CLAIM._replace(attempt=3), Outcome(Ending.LOST), POLICY, Random(1)).state is State.READY


def test_a_snooze_gives_the_attempt_back_and_leaves_no_error() -> None:
    asked = replace(ERROR, failure=None, retry_after=60.0)
    settlement = settle(CLAIM, Outcome(Ending.SNOOZED, error=asked), POLICY, Random(1))
    assert (settlement.state, settlement.attempt, settlement.crashes) == (State.SCHEDULED, 1, 1)
    assert (settlement.delay, settlement.error, settlement.recorded) == (60, None, True)


def test_a_discarded_job_is_cancelled_with_its_reason() -> None:
    settlement = settle(CLAIM, Outcome(Ending.DISCARDED, error=ERROR), POLICY, Random(1))
    assert (settlement.state, settlement.error) == (State.CANCELLED, ERROR)


def test_a_handler_that_names_the_delay_gets_it_exactly() -> None:
    outcome = Outcome(Ending.FAILED, error=replace(ERROR, retry_after=1234.0))
    assert settle(CLAIM, outcome, POLICY, Random(1)).delay == 1234
    assert settle(CLAIM._replace(attempt=3), outcome, POLICY, Random(1)).state is State.DEAD


def test_jobs_that_are_told_when_to_come_back_do_not_come_all_at_once() -> None:
    outcome = Outcome(Ending.FAILED, error=replace(ERROR, failure=FailureClass.DEPENDENCY, retry_after=1000.0))
    delays = {settle(CLAIM, outcome, POLICY, Random(seed)).delay for seed in range(50)}
    assert len(delays) > 40
    assert 1000 <= min(delays) <= max(delays) <= 1100


def test_a_job_that_is_too_old_is_not_retried() -> None:
    policy = Retry.fixed("1m", jitter="none", max_age="1h")
    outcome = Outcome(Ending.FAILED, error=ERROR)
    assert settle(CLAIM._replace(age=3500.0), outcome, policy, Random(1)).state is State.RETRYING
    assert settle(CLAIM._replace(age=3541.0), outcome, policy, Random(1)).state is State.DEAD


def test_each_class_has_its_own_limit() -> None:
    own = Policies(Retry(attempts=9), {FailureClass.DEPENDENCY: Retry(attempts=20)})
    limits = {FailureClass.APPLICATION: 9, FailureClass.TIMEOUT: 3, FailureClass.DEPENDENCY: 20}
    for failure, limit in limits.items():
        outcome = Outcome(Ending.FAILED, error=replace(ERROR, failure=failure))
        states = [settle(CLAIM._replace(attempt=attempt), outcome, own, Random(1)).state for attempt in range(1, 25)]
        assert states.index(State.DEAD) == limit - 1


AWAY = Outcome(Ending.FAILED, error=replace(ERROR, failure=FailureClass.DEPENDENCY))


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_a_dependency_that_is_known_to_be_away_is_nobodys_attempt(attempt: int) -> None:
    settlement = settle(CLAIM._replace(attempt=attempt), AWAY, POLICY, Random(1), RetryAdjustment(excused=True))
    assert (settlement.state, settlement.attempt) == (State.RETRYING, attempt - 1)
    assert settlement.recorded


def test_an_excuse_does_not_make_a_job_live_beyond_its_age() -> None:
    policy = Retry.fixed("1m", attempts=1, jitter="none", max_age="1h")
    young, old = CLAIM._replace(attempt=1, age=3500.0), CLAIM._replace(attempt=1, age=3541.0)
    assert settle(young, AWAY, policy, Random(1), RetryAdjustment(excused=True)).state is State.RETRYING
    assert settle(old, AWAY, policy, Random(1), RetryAdjustment(excused=True)).state is State.DEAD


def test_a_retry_waits_for_its_tenants_budget_and_burns_its_attempt() -> None:
    settlement = settle(CLAIM, Outcome(Ending.FAILED, error=ERROR), POLICY, Random(1), RetryAdjustment(at_least=900.0))
    assert (settlement.state, settlement.attempt, settlement.delay) == (State.RETRYING, 2, 900.0)


def test_a_budget_neither_shortens_a_wait_nor_ends_a_job() -> None:
    policy = Retry.fixed("1m", jitter="none", max_age="1h")
    outcome = Outcome(Ending.FAILED, error=ERROR)
    assert settle(CLAIM, outcome, policy, Random(1), RetryAdjustment(at_least=10.0)).delay == 60
    assert settle(CLAIM._replace(age=3000.0), outcome, policy, Random(1), RetryAdjustment(at_least=9999.0)).delay == 600
    dead = settle(CLAIM._replace(attempt=5), outcome, policy, Random(1), RetryAdjustment(at_least=10.0))
    assert (dead.state, dead.delay) == (State.DEAD, 0.0)


@pytest.mark.parametrize("ending", [Ending.SUCCEEDED, Ending.SNOOZED, Ending.RELEASED, Ending.LOST, Ending.DISCARDED])
def test_relief_is_for_failures_only(ending: Ending) -> None:
    plain = settle(CLAIM, Outcome(ending), POLICY, Random(1))
    assert settle(CLAIM, Outcome(ending), POLICY, Random(1), RetryAdjustment(True, 900.0)) == plain


@given(endings=st.lists(st.sampled_from([Ending.FAILED, Ending.LOST, Ending.RELEASED, Ending.SNOOZED]), max_size=40))
def test_attempts_and_crashes_are_accounted_exactly(endings: list[Ending]) -> None:
    job, policy = CLAIM._replace(attempt=1, crashes=0), Retry(attempts=5)
    counts = dict.fromkeys(Ending, 0)
    for ending in endings:
        settlement = settle(job, Outcome(ending, error=ERROR), policy, Random(1))
        counts[ending] += 1
        assert (settlement.attempt, settlement.crashes) == (counts[Ending.FAILED], counts[Ending.LOST])
        over = counts[Ending.FAILED] == 5 or counts[Ending.LOST] == CRASH_LIMIT
        assert (settlement.state is State.DEAD) == over
        if over:
            return
        job = job._replace(attempt=settlement.attempt + 1, crashes=settlement.crashes)


@pytest.mark.parametrize(("ending", "state"), [(Ending.CANCELLED, State.CANCELLED), (Ending.EXPIRED, State.EXPIRED)])
@pytest.mark.parametrize("source", [*sorted(PENDING), State.RUNNING])
def test_whatever_is_live_can_be_cancelled_and_expire(source: State, ending: Ending, state: State) -> None:
    job = held_in(source)._replace(attempt=int(source is State.RUNNING), crashes=0)
    settlement = settle(job, Outcome(ending), POLICY, Random(1))
    assert (settlement.state, settlement.recorded) == (state, source is State.RUNNING)


@pytest.mark.parametrize("source", [*sorted(PENDING), State.RUNNING])
@pytest.mark.parametrize(("failures", "crashes"), [(1, 0), (0, 1)])
def test_a_job_that_ran_in_time_does_not_expire_but_is_dead(source: State, failures: int, crashes: int) -> None:
    job = held_in(source)._replace(attempt=failures + (source is State.RUNNING), crashes=crashes)
    settlement = settle(job, Outcome(Ending.EXPIRED), POLICY, Random(1))
    assert settlement.state is State.DEAD
    assert settlement.error is not None
    assert settlement.error.message == "it failed, and its not_after passed before its next attempt could start"


@pytest.mark.parametrize(("left", "state"), [(None, State.RETRYING), (61.0, State.RETRYING), (59.0, State.DEAD)])
def test_a_retry_that_would_come_after_not_after_is_a_dead_letter(left: float | None, state: State) -> None:
    policy = Retry.fixed("1m", attempts=5, jitter="none")
    settlement = settle(CLAIM._replace(time_left=left), Outcome(Ending.FAILED, error=ERROR), policy, Random(1))
    assert settlement.state is state
    assert settlement.error is not None
    assert settlement.error.message == "bad" + (
        " (not tried again: its not_after would have passed)" if state is State.DEAD else ""
    )


def test_a_job_that_took_several_workers_with_it_is_poison() -> None:
    job, classes = CLAIM._replace(crashes=0), []
    while True:
        settlement = settle(job, Outcome(Ending.LOST), POLICY, Random(1))
        assert settlement.error is not None
        classes.append(settlement.error.failure)
        if settlement.state is State.DEAD:
            break
        job = job._replace(crashes=settlement.crashes)
    assert classes == [FailureClass.CRASH] * (CRASH_LIMIT - 1) + [FailureClass.POISON]


@pytest.mark.parametrize("source", [State.SUCCEEDED, State.CANCELLED, State.EXPIRED])
@pytest.mark.parametrize("ending", list(Ending))
def test_nothing_follows_after_the_end(source: State, ending: Ending) -> None:
    with pytest.raises(IllegalMove):
        decide(held_in(source), ending)


@pytest.mark.parametrize("source", sorted(PENDING))
@pytest.mark.parametrize("ending", [Ending.SUCCEEDED, Ending.FAILED, Ending.TIMED_OUT])
def test_a_job_that_waits_can_neither_succeed_nor_fail_for_a_retry(source: State, ending: Ending) -> None:
    with pytest.raises(IllegalMove):
        decide(held_in(source), ending)


@given(
    state=st.sampled_from(State),
    ending=st.sampled_from(Ending),
    attempt=st.integers(1, 10),
    crashes=st.integers(0, 5),
    failure=st.none() | st.sampled_from([kind for kind in FailureClass if kind is not FailureClass.CRASH]),
    attempts=st.integers(1, 10),
)
def test_a_decision_is_always_a_legal_move_that_keeps_the_hold(
    state: State, ending: Ending, attempt: int, crashes: int, failure: FailureClass | None, attempts: int
) -> None:
    job = Held("id", LANE, attempt, crashes, 0.0, Hold(state, 7, "owner", "token"))
    error = replace(ERROR, failure=failure)
    try:
        settlement = settle(job, Outcome(ending, error=error), Retry(attempts=attempts), Random(1))
    except IllegalMove:
        return
    assert settlement.state in MOVES[state]
    assert (settlement.id, settlement.hold, settlement.ending) == ("id", job.hold, ending)
    assert settlement.attempt in (attempt, attempt - 1)
    assert settlement.crashes - crashes in (0, 1)
    assert settlement.delay == 0 or settlement.state in (State.RETRYING, State.SCHEDULED)
    if settlement.state is State.RETRYING:
        assert attempt < attempts


WISH = CancelRequest("ann", "wrong batch", 5.0)


@pytest.mark.parametrize("ending", [ending for ending in Ending if ending is not Ending.SUCCEEDED])
def test_a_run_that_was_to_be_cancelled_is_cancelled_however_it_ends(ending: Ending) -> None:
    job = Held("id", LANE, 1, 2, 0.0, Hold(State.RUNNING, 7, "owner", "token", True), WISH)
    settlement = settle(job, Outcome(ending), POLICY, Random(1))
    assert (settlement.state, settlement.ending, settlement.attempt) == (State.CANCELLED, ending, 1)
    assert settlement.error is not None
    assert settlement.error.message == "cancelled by ann: wrong batch"
    assert settlement.error.failure is None
    assert settlement.error.fingerprint


def test_the_error_of_a_run_that_was_to_be_cancelled_is_kept() -> None:
    job = Held("id", LANE, 1, 0, 0.0, Hold(State.RUNNING, 7, "owner", "token", True), WISH)
    settlement = settle(job, Outcome(Ending.FAILED, error=ErrorInfo("ValueError", "no")), POLICY, Random(1))
    assert settlement.error is not None
    assert settlement.error.message == "no"


def test_a_success_counts_although_the_run_was_to_be_cancelled() -> None:
    job = Held("id", LANE, 1, 0, 0.0, Hold(State.RUNNING, 7, "owner", "token", True), WISH)
    assert settle(job, Outcome(Ending.SUCCEEDED, "1"), POLICY, Random(1)).state is State.SUCCEEDED


def test_a_decision_is_taken_again_only_because_of_a_wish_about_the_same_run() -> None:
    hold = Hold(State.RUNNING, 7, "owner", "token")
    job = Held("id", LANE, 1, 0, 0.0, hold)
    first = settle(job, Outcome(Ending.RELEASED), POLICY, Random(1))
    assert settle_as_cancelled(first, job) is None, "nobody has asked"
    assert settle_as_cancelled(first, job._replace(hold=hold._replace(fence=8, cancelled=True), cancel=WISH)) is None
    again = settle_as_cancelled(first, job._replace(hold=hold._replace(cancelled=True), cancel=WISH))
    assert again is not None
    assert (again.state, again.ending, again.hold.cancelled) == (State.CANCELLED, Ending.RELEASED, True)


def test_a_last_attempt_ends_a_job_that_would_be_tried_again_and_keeps_its_group() -> None:
    outcome, adjustment = (
        Outcome(Ending.FAILED, error=ERROR),
        RetryAdjustment(denied_by=RetryDenial.BUDGET, why="enough is enough"),
    )
    plain = settle(CLAIM, outcome, POLICY, Random(1))
    ended = settle(CLAIM, outcome, POLICY, Random(1), adjustment)
    assert (plain.state, ended.state, ended.delay) == (State.RETRYING, State.DEAD, 0.0)
    assert plain.error is not None
    assert ended.error is not None
    assert ended.error.message == f"{plain.error.message} (not tried again: enough is enough)"
    assert ended.error.fingerprint == plain.error.fingerprint
    assert (plain.retry_denied_by, ended.retry_denied_by) == (None, RetryDenial.BUDGET)
    own = settle(CLAIM._replace(attempt=99), outcome, POLICY, Random(1), adjustment)
    assert own.state is State.DEAD
    assert own.retry_denied_by is None, "its own policy had ended it"


# A job with a checkpoint


def interrupt(ending: Ending, last: LastCheckpoint, job: Claim = CLAIM) -> Settlement:
    return settle(job, Outcome(ending, checkpoint=last), POLICY, Random(1))


@pytest.mark.parametrize("ending", [Ending.RELEASED, Ending.LOST])
def test_an_interrupted_job_is_resumed_in_the_same_attempt(ending: Ending) -> None:
    settlement = interrupt(ending, LastCheckpoint(9, CLAIM.fence, resumptions=4))
    assert (settlement.state, settlement.attempt, settlement.crashes) == (State.READY, CLAIM.attempt - 1, CLAIM.crashes)
    assert settlement.checkpoint == LastCheckpoint(9, CLAIM.fence, resumptions=5, stalled=1)


@pytest.mark.parametrize("ending", [Ending.RELEASED, Ending.LOST])
def test_a_second_resumption_without_a_newer_checkpoint_is_a_failure(ending: Ending) -> None:
    settlement = interrupt(ending, LastCheckpoint(9, CLAIM.fence - 1, resumptions=5, stalled=1))
    assert (settlement.state, settlement.ending, settlement.attempt) == (State.RETRYING, Ending.FAILED, CLAIM.attempt)
    assert settlement.error is not None
    assert (settlement.error.type, settlement.error.failure) == ("NoProgress", FailureClass.CRASH)
    assert "checkpoint 9" in settlement.error.message
    assert settlement.checkpoint == LastCheckpoint(9, CLAIM.fence - 1), "the next attempt has resumptions of its own"
    last = interrupt(ending, LastCheckpoint(9, CLAIM.fence - 1, 5, stalled=1), CLAIM._replace(attempt=CRASH_LIMIT))
    assert last.state is State.DEAD


def test_progress_allows_the_next_resumption() -> None:
    assert interrupt(Ending.LOST, LastCheckpoint(10, CLAIM.fence, 5, stalled=0)).state is State.READY
    assert interrupt(Ending.LOST, LastCheckpoint(9, CLAIM.fence - 1, 5, stalled=0)).state is State.READY


def test_resumptions_of_an_attempt_have_a_limit() -> None:
    assert interrupt(Ending.LOST, LastCheckpoint(9, CLAIM.fence, MOST_RESUMPTIONS - 1)).state is State.READY
    settlement = interrupt(Ending.LOST, LastCheckpoint(9, CLAIM.fence, MOST_RESUMPTIONS))
    assert settlement.state is State.RETRYING
    assert settlement.error is not None
    assert settlement.error.type == "TooManyResumptions"


def test_a_cancelled_job_is_not_resumed() -> None:
    asked = CLAIM._replace(cancel=CancelRequest("me", None, 1.0))
    assert interrupt(Ending.RELEASED, LastCheckpoint(9, CLAIM.fence), asked).state is State.CANCELLED


def test_a_failure_with_a_checkpoint_is_an_ordinary_failure() -> None:
    outcome = Outcome(Ending.FAILED, error=ERROR, checkpoint=LastCheckpoint(9, CLAIM.fence))
    settlement = settle(CLAIM, outcome, POLICY, Random(1))
    assert (settlement.state, settlement.attempt, settlement.checkpoint) == (State.RETRYING, 2, None)
