"""Decides the next state of a job from the outcome of a run. This is the only place where that is decided.

Workers, the recoverer, timeouts and cancellation call `settle`; `store.jobs.settle` writes the resulting Settlement.
"""

from dataclasses import replace
from random import Random
from typing import NamedTuple

from fairlead.core.durations import seconds
from fairlead.core.jobs import states
from fairlead.core.jobs.cancel import cancel_error
from fairlead.core.jobs.checkpoints import MOST_RESUMPTIONS, LastCheckpoint
from fairlead.core.jobs.failure import FailureClass, Policies, RetryDenial, fingerprint, policy_for
from fairlead.core.jobs.model import Claim, Ending, ErrorInfo, Held, Outcome, Settlement
from fairlead.core.jobs.retry import LONGEST_DELAY, Retry, retry_delay, wait
from fairlead.core.jobs.states import State
from fairlead.core.web.callbacks import wants_callback

MOST_SPREAD = 1.1  # jobs with the same Retry-After are spread over a tenth more than it
NOTE = " (not tried again: {})"
LATE = "its not_after would have passed"
LOST = "LeaseLost"
NO_PROGRESS = "NoProgress"
TOO_MANY_RESUMPTIONS = "TooManyResumptions"
SUCCEEDED = Ending.SUCCEEDED
LOST_FINGERPRINT = fingerprint(LOST)

LATE_RETRY = ErrorInfo(
    "Expired", "it failed, and its not_after passed before its next attempt could start", failure=None
)

Policy = Retry | Policies


class RetryAdjustment(NamedTuple):
    """A change to a failure's retry for reasons outside the job: an open breaker, a retry budget, a quarantine.

    `excused`: the attempt does not count, since a dependency was known to be unavailable. `at_least` is the least delay
    in seconds. `denied_by` makes this attempt the last one; `why` is the reason in words.
    """

    excused: bool = False
    at_least: float = 0.0
    denied_by: RetryDenial | None = None
    why: str = ""


def settle(
    job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random, adjustment: RetryAdjustment | None = None
) -> Settlement:
    """Return the state change of a job whose run, or whose wait, ended in `outcome`."""
    ending = outcome.ending
    decide = _DECISIONS[ending] if job.cancel is None or ending is SUCCEEDED else _cancel_requested
    settlement = decide(job, outcome, policy, rng)
    if adjustment is not None and settlement.state in (State.RETRYING, State.DEAD):
        settlement = _adjust(settlement, job, policy_for(policy, _failure(outcome)), adjustment, rng)
    settlement = _end_before_late_retry(settlement, job)
    states.require(settlement.hold.state, settlement.state)
    return settlement


def settle_as_cancelled(settlement: Settlement, job: Held) -> Settlement | None:
    """Settle again if a cancel request arrived before the write; None if the write failed for another reason."""
    if job.cancel is None or job.hold._replace(cancelled=False) != settlement.hold:
        return None
    outcome = Outcome(settlement.ending, settlement.result, settlement.error)
    return settle(job, outcome, Policies(), Random(0))


def is_followed(settlement: Settlement) -> bool:
    """Whether the settlement may create a follow-up job or a callback delivery in the same transaction."""
    return settlement.state is State.EXPIRED or (settlement.calls_back and settlement.state in states.FINAL)


def _succeed(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A success counts in spite of a cancel request."""
    return _settlement(job, outcome, states.SUCCEEDED)


def _fail(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    failure, error = _failure(outcome), outcome.error
    after, at_least = None, 0.0
    if error is not None and error.retry_after is not None:
        if failure is FailureClass.DEPENDENCY:
            at_least = error.retry_after * rng.uniform(1, MOST_SPREAD)
        else:
            after = error.retry_after
    delay = retry_delay(policy_for(policy, failure), job.attempt, job.age, rng, after, at_least)
    return _settlement(job, outcome, State.DEAD if delay is None else State.RETRYING)._replace(delay=delay or 0.0)


def _adjust(
    settlement: Settlement, job: Claim | Held, policy: Retry, adjustment: RetryAdjustment, rng: Random
) -> Settlement:
    """Apply the adjustment; the job never lives beyond its `max_age`, and a longer wait never ends it."""
    if adjustment.excused:
        delay = wait(policy, job.attempt, job.age, rng) if settlement.state is State.DEAD else settlement.delay
        if delay is None:
            return settlement
        settlement = settlement._replace(state=State.RETRYING, attempt=job.attempt - 1, delay=delay)
    if settlement.state is State.RETRYING and adjustment.denied_by is not None:
        error = _with_note(settlement.error, adjustment.why)
        return settlement._replace(state=State.DEAD, delay=0.0, retry_denied_by=adjustment.denied_by, error=error)
    if settlement.state is State.RETRYING and adjustment.at_least > settlement.delay:
        latest = LONGEST_DELAY if policy.max_age is None else max(0.0, seconds(policy.max_age) - job.age)
        return settlement._replace(delay=max(settlement.delay, min(adjustment.at_least, latest)))
    return settlement


def _end_before_late_retry(settlement: Settlement, job: Claim | Held) -> Settlement:
    """Return a dead job instead of one whose next attempt could only start after its not_after."""
    time_left = job.time_left if isinstance(job, Claim) else None
    if settlement.state is not State.RETRYING or time_left is None or settlement.delay <= time_left:
        return settlement
    error = _with_note(settlement.error, LATE)
    return settlement._replace(state=State.DEAD, delay=0.0, error=error)


def _with_note(error: ErrorInfo | None, why: str) -> ErrorInfo | None:
    """Return the error with a note why the job is not retried; the fingerprint stays the same."""
    return None if error is None else replace(error, message=error.message + NOTE.format(why))


def _failure(outcome: Outcome) -> FailureClass:
    if outcome.ending is Ending.TIMED_OUT:
        return FailureClass.TIMEOUT
    return (outcome.error and outcome.error.failure) or FailureClass.APPLICATION


def _snooze(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A snooze is no failure and uses up no attempt."""
    delay = (outcome.error and outcome.error.retry_after) or 0.0
    return _settlement(job, outcome, State.SCHEDULED)._replace(attempt=job.attempt - 1, error=None, delay=delay)


def _release(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A stopping worker gives the job back; the run uses up no attempt."""
    if outcome.checkpoint is not None:
        return _resume(job, outcome, outcome.checkpoint, policy, rng)
    return _settlement(job, outcome, State.READY)._replace(attempt=job.attempt - 1)


def _lose(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A lost lease uses up no attempt, but a job that was lost a few times is dead as poison; a checkpoint resumes."""
    if outcome.checkpoint is not None:
        return _resume(job, outcome, outcome.checkpoint, policy, rng)
    crashes, most = job.crashes + 1, policy_for(policy, FailureClass.CRASH).attempts
    message = f"the worker that ran this job was lost ({crashes} of at most {most} times)"
    failure, state = (FailureClass.POISON, State.DEAD) if crashes >= most else (FailureClass.CRASH, State.READY)
    error = ErrorInfo(LOST, message, failure=failure, fingerprint=LOST_FINGERPRINT)
    settlement = _settlement(job, outcome, state)
    return settlement._replace(attempt=job.attempt - 1, crashes=crashes, error=error)


def _resume(job: Claim | Held, outcome: Outcome, last: LastCheckpoint, policy: Policy, rng: Random) -> Settlement:
    """An interrupted job goes on from its checkpoint in the same attempt, unless interruptions are all that happens."""
    stalled = 0 if last.fence == job.hold.fence else last.stalled
    if stalled or last.resumptions >= MOST_RESUMPTIONS:
        failed = _fail(job, Outcome(Ending.FAILED, error=_resumed_in_vain(last, stalled)), policy, rng)
        return failed._replace(checkpoint=last._replace(resumptions=0, stalled=0))
    counted = last._replace(resumptions=last.resumptions + 1, stalled=1)
    return _settlement(job, outcome, State.READY)._replace(attempt=job.attempt - 1, checkpoint=counted)


def _resumed_in_vain(last: LastCheckpoint, stalled: int) -> ErrorInfo:
    if stalled:
        message = (
            f"the job was resumed from checkpoint {last.number} and interrupted again before it saved a newer one; "
            "save checkpoints more often, or give its worker more time to stop"
        )
        return ErrorInfo(NO_PROGRESS, message, failure=FailureClass.CRASH)
    message = f"the job was resumed {last.resumptions} times in this attempt, which is the most"
    return ErrorInfo(TOO_MANY_RESUMPTIONS, message, failure=FailureClass.CRASH)


def _cancel_requested(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A run with a cancel request that did not succeed ends as cancelled and is not retried."""
    assert job.cancel is not None
    settlement = _settlement(job, outcome, State.CANCELLED)
    return settlement._replace(error=settlement.error or _with_fingerprint(cancel_error(job.cancel)))


def _cancel(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    return _settlement(job, outcome, State.CANCELLED)


def _expire(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A job expires if it never started; one that started in time and failed is dead."""
    failed = job.attempt - (job.hold.state is State.RUNNING) > 0 or job.crashes > 0
    if not failed:
        return _settlement(job, outcome, State.EXPIRED)
    settlement = _settlement(job, outcome, State.DEAD)
    return settlement._replace(error=_with_fingerprint(LATE_RETRY))


def _settlement(job: Claim | Held, outcome: Outcome, state: State) -> Settlement:
    ending, result, error, *_ = outcome
    if error is not None:
        error = _with_fingerprint(error)
    return Settlement(
        job.id, job.hold, state, job.attempt, job.crashes, ending, 0.0, result, error, _calls_back(job.options),
    )  # fmt: skip


def _calls_back(options: str | None) -> bool:
    return options is not None and wants_callback(options)


def _with_fingerprint(error: ErrorInfo) -> ErrorInfo:
    """Return the error with a fingerprint, computed if it has none."""
    if error.fingerprint:
        return error
    return replace(error, fingerprint=fingerprint(error.type, error.message))


_DECISIONS = {
    Ending.SUCCEEDED: _succeed,
    Ending.FAILED: _fail,
    Ending.TIMED_OUT: _fail,
    Ending.SNOOZED: _snooze,
    Ending.DISCARDED: _cancel,
    Ending.RELEASED: _release,
    Ending.LOST: _lose,
    Ending.CANCELLED: _cancel,
    Ending.EXPIRED: _expire,
}
