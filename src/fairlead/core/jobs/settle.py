"""What follows from an outcome: the one place where a run turns into a state change.

Workers, the recoverer, timeouts and cancellation all come here, and what leaves here goes through `store.jobs.settle`.
"""

from dataclasses import replace
from random import Random
from typing import NamedTuple

from fairlead.core.durations import seconds
from fairlead.core.jobs import states
from fairlead.core.jobs.cancel import cancel_error
from fairlead.core.jobs.failure import FailureClass, Policies, RetryDenial, fingerprint, policy_for
from fairlead.core.jobs.model import Claim, Ending, ErrorInfo, Held, Outcome, Settlement
from fairlead.core.jobs.retry import LONGEST_DELAY, Retry, retry_delay, wait
from fairlead.core.jobs.states import State
from fairlead.core.web.callbacks import wants_callback

MOST_SPREAD = 1.1  # jobs that were told the same time to come back arrive over a tenth more than that
NOTE = " (not tried again: {})"
LOST = "LeaseLost"
SUCCEEDED = Ending.SUCCEEDED
LOST_FINGERPRINT = fingerprint(LOST)

Policy = Retry | Policies


class RetryAdjustment(NamedTuple):
    """What a failure is spared, and what becomes of its retry, for reasons beyond its own job.

    A dependency that is known to be away is nobody's attempt: `excused`. `at_least` is what the tenant's retry budget
    asks for. `curb` makes this attempt the last one, whatever the policy says, and `why` says so to people.
    """

    excused: bool = False
    at_least: float = 0.0
    denied_by: RetryDenial | None = None
    why: str = ""


def settle(
    job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random, adjustment: RetryAdjustment | None = None
) -> Settlement:
    """Decide the next state of a job whose run, or whose wait, ended in `outcome`."""
    ending = outcome.ending
    decide = _DECISIONS[ending] if job.cancel is None or ending is SUCCEEDED else _heed
    settlement = decide(job, outcome, policy, rng)
    if adjustment is not None and settlement.state in (State.RETRYING, State.DEAD):
        settlement = _relieve(settlement, job, policy_for(policy, _failure(outcome)), adjustment, rng)
    states.require(settlement.hold.state, settlement.state)
    return settlement


def settle_as_cancelled(settlement: Settlement, job: Held) -> Settlement | None:
    """Decide again about a run that somebody asked to cancel after the first decision; None where that is not why."""
    if job.cancel is None or job.hold._replace(cancelled=False) != settlement.hold:
        return None
    outcome = Outcome(settlement.ending, settlement.result, settlement.error)
    return settle(job, outcome, Policies(), Random(0))


def is_followed(settlement: Settlement) -> bool:
    """Whether another job may follow from it, to be stored in the same transaction."""
    return settlement.state is State.EXPIRED or (settlement.calls_back and settlement.state in states.FINAL)


def _succeed(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A success counts, whoever wanted to cancel the job meanwhile."""
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


def _relieve(
    settlement: Settlement, job: Claim | Held, policy: Retry, adjustment: RetryAdjustment, rng: Random
) -> Settlement:
    """Neither an excuse nor a longer wait lets a job live beyond its `max_age`, and a longer wait never ends it."""
    if adjustment.excused:
        delay = wait(policy, job.attempt, job.age, rng) if settlement.state is State.DEAD else settlement.delay
        if delay is None:
            return settlement
        settlement = settlement._replace(state=State.RETRYING, attempt=job.attempt - 1, delay=delay)
    if settlement.state is State.RETRYING and adjustment.denied_by is not None:
        error = _noted(settlement.error, adjustment.why)
        return settlement._replace(state=State.DEAD, delay=0.0, retry_denied_by=adjustment.denied_by, error=error)
    if settlement.state is State.RETRYING and adjustment.at_least > settlement.delay:
        latest = LONGEST_DELAY if policy.max_age is None else max(0.0, seconds(policy.max_age) - job.age)
        return settlement._replace(delay=max(settlement.delay, min(adjustment.at_least, latest)))
    return settlement


def _noted(error: ErrorInfo | None, why: str) -> ErrorInfo | None:
    """The error with the reason why its job is not tried again; its fingerprint stays."""
    return None if error is None else replace(error, message=error.message + NOTE.format(why))


def _failure(outcome: Outcome) -> FailureClass:
    if outcome.ending is Ending.TIMED_OUT:
        return FailureClass.TIMEOUT
    return (outcome.error and outcome.error.failure) or FailureClass.APPLICATION


def _snooze(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A handler that wants to run later has not failed: it gets its attempt back."""
    delay = (outcome.error and outcome.error.retry_after) or 0.0
    return _settlement(job, outcome, State.SCHEDULED)._replace(attempt=job.attempt - 1, error=None, delay=delay)


def _release(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A worker that stops gives the job back as if it had not taken it."""
    return _settlement(job, outcome, State.READY)._replace(attempt=job.attempt - 1)


def _lose(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A lost lease burns no attempt, but a job that takes its workers down with it ends after a few of them."""
    crashes, most = job.crashes + 1, policy_for(policy, FailureClass.CRASH).attempts
    message = f"the worker that ran this job was lost ({crashes} of at most {most} times)"
    error = ErrorInfo(LOST, message, failure=FailureClass.CRASH, fingerprint=LOST_FINGERPRINT)
    settlement = _settlement(job, outcome, State.DEAD if crashes >= most else State.READY)
    return settlement._replace(attempt=job.attempt - 1, crashes=crashes, error=error)


def _heed(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    """A job that was to be cancelled is not run again: however its run ended, unless well, it is cancelled."""
    assert job.cancel is not None
    settlement = _settlement(job, outcome, State.CANCELLED)
    return settlement._replace(error=settlement.error or _marked(cancel_error(job.cancel)))


def _cancel(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    return _settlement(job, outcome, State.CANCELLED)


def _expire(job: Claim | Held, outcome: Outcome, policy: Policy, rng: Random) -> Settlement:
    return _settlement(job, outcome, State.EXPIRED)


def _settlement(job: Claim | Held, outcome: Outcome, state: State) -> Settlement:
    ending, result, error, _ = outcome
    if error is not None:
        error = _marked(error)
    return Settlement(
        job.id, job.hold, state, job.attempt, job.crashes, ending, 0.0, result, error, _calls_back(job.options),
        job.place,
    )  # fmt: skip


def _calls_back(options: str | None) -> bool:
    return options is not None and wants_callback(options)


def _marked(error: ErrorInfo) -> ErrorInfo:
    """The error with a fingerprint, whoever described it."""
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
