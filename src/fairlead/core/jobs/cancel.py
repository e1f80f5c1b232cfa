"""Cancelling: what is asked of the worker of a running job, and what a cancelled job says about itself.

A job that waits is settled as cancelled at once. A job that runs belongs to its worker: the wish is stored with the
job and holds for this run. Its handler is told; if it has not ended when the grace is over, the job is settled
without it. Whatever the run ends in but success, the job is cancelled and not run again. A success counts, since the
work is done.
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
    """A wish to be stored with a running job, valid only while its run is the one that was seen."""

    id: str
    hold: Hold
    request: CancelRequest


class Cancelled(NamedTuple):
    """What became of a cancellation: the jobs that are cancelled, and those whose worker was asked."""

    done: frozenset[str]
    asked: frozenset[str]


def make_request(by: str, reason: str | None, grace: Duration = GRACE) -> CancelRequest:
    """A checked wish."""
    allowed = seconds(grace)
    if allowed > MOST_GRACE:
        raise ConfigError(f"the grace is {allowed:g} s; at most {MOST_GRACE:g} s are given to end")
    return CancelRequest(by, reason, allowed)


def cancel_write(job: Held, request: CancelRequest) -> CancelWrite | None:
    """Decide what to store with a running job; None where what was asked before says as much."""
    if job.cancel is None:
        return CancelWrite(job.id, job.hold, request)
    if request.grace < job.cancel.grace:
        return CancelWrite(job.id, job.hold, job.cancel._replace(grace=request.grace))
    return None


def cancel_error(request: CancelRequest) -> ErrorInfo:
    """Who cancelled a job and why, as it is kept where an error would be."""
    because = f": {request.reason}" if request.reason else ""
    return ErrorInfo(CANCELLED, f"cancelled by {request.by}{because}", failure=None)


def not_cancellable(job: JobRecord) -> IllegalMove:
    """What is said about a job that cannot be cancelled any more."""
    advice = {
        State.DEAD: "it waits for nobody but an operator; use `fairlead dlq cancel` to close it",
        State.CANCELLED: "there is nothing left to cancel",
    }.get(job.state, "it has ended, and what has ended cannot be cancelled")
    return IllegalMove(f"job {job.id} is {job.state}: {advice}")
