"""Cancelling jobs: the request stored with a running job, and the errors about it.

A waiting job is settled as cancelled at once. A running job belongs to its worker, so a cancel request is stored with
the job for its present run. The worker tells the handler; when the grace period ends first, the worker settles the job
without waiting for the handler. Unless the run succeeds, the job ends as cancelled and is not retried. A success
counts, since the work is done.
"""

from typing import NamedTuple

from fairlead.core.durations import Duration, seconds
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import CancelRequest, ErrorInfo, Held, Hold
from fairlead.core.jobs.states import State
from fairlead.errors import ConfigError, IllegalMove

GRACE = 5.0
MOST_GRACE = 86_400.0
CANCELLED = "Cancelled"


class CancelWrite(NamedTuple):
    """A cancel request to store with a running job, valid only while the run in `hold` goes on."""

    id: str
    hold: Hold
    request: CancelRequest


class Cancelled(NamedTuple):
    """The result of a cancellation: ids of cancelled jobs, and ids of running jobs whose worker was asked to stop."""

    done: frozenset[str]
    asked: frozenset[str]


def make_request(by: str, reason: str | None, grace: Duration = GRACE) -> CancelRequest:
    """Return a valid cancel request; ConfigError if the grace is too long."""
    allowed = seconds(grace)
    if allowed > MOST_GRACE:
        raise ConfigError(f"the grace is {allowed:g} s; it can be at most {MOST_GRACE:g} s")
    return CancelRequest(by, reason, allowed)


def cancel_write(job: Held, request: CancelRequest) -> CancelWrite | None:
    """Return the request to store with a running job, or None if an earlier request already covers it."""
    if job.cancel is None:
        return CancelWrite(job.id, job.hold, request)
    if request.grace < job.cancel.grace:
        return CancelWrite(job.id, job.hold, job.cancel._replace(grace=request.grace))
    return None


def cancel_error(request: CancelRequest) -> ErrorInfo:
    """Return the error of a cancelled job: who cancelled it and why."""
    because = f": {request.reason}" if request.reason else ""
    return ErrorInfo(CANCELLED, f"cancelled by {request.by}{because}", failure=None)


def not_cancellable(job: JobRecord) -> IllegalMove:
    """Return the error for a job that is in a state which cannot be cancelled."""
    advice = {
        State.DEAD: "it waits for nobody but an operator; use `fairlead jobs cancel` to close it",
        State.CANCELLED: "there is nothing left to cancel",
    }.get(job.state, "it has ended, and what has ended cannot be cancelled")
    return IllegalMove(f"job {job.id} is {job.state}: {advice}")
