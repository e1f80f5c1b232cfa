"""Changes to a waiting job: its priority, its time, its payload."""

from typing import NamedTuple

from fairlead.core.jobs import states
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.states import PENDING, State
from fairlead.errors import IllegalMove


class WaitingChange(NamedTuple):
    """A change to a waiting job, valid only while the job is in `held_state` with this fence.

    `run_at` and `payload` are None if they stay as they are. A job that becomes ready without a `run_at` is due now.
    """

    id: str
    held_state: State
    fence: int
    lane: Lane
    state: State
    run_at: float | None
    payload: str | None


def change_waiting(
    job: JobRecord,
    now: float,
    priority: Priority | None = None,
    run_at: float | None = None,
    payload: str | None = None,
    version: int | None = None,
    limits: str | None = None,
) -> WaitingChange:
    """Return a change of priority, time or payload; a new payload comes with its version and limits."""
    _require_waiting(job)
    state = job.state if run_at is None else _state_at(job.state, run_at > now)
    lane = Lane(
        job.pool,
        job.tenant,
        job.type,
        job.priority if priority is None else priority,
        job.version if version is None else version,
        job.limits if limits is None else limits,
    )
    return _change(job, lane, state, run_at, payload)


def make_ready(job: JobRecord) -> WaitingChange:
    """Return the change that makes a scheduled or retrying job ready now."""
    _require_waiting(job)
    if job.state not in (State.SCHEDULED, State.RETRYING):
        raise IllegalMove(f"job {job.id} is {job.state}; only a scheduled or a retrying job can be made ready early")
    lane = Lane(job.pool, job.tenant, job.type, job.priority, job.version, job.limits)
    return _change(job, lane, State.READY, None, None)


def _state_at(state: State, later: bool) -> State:
    """Return the state after a change of time; a retrying job stays in that state until it is due."""
    if state is State.BLOCKED:
        return state
    if later:
        return State.SCHEDULED if state is State.READY else state
    return State.READY


def _require_waiting(job: JobRecord) -> None:
    if job.state not in PENDING or job.state is State.ENQUEUED:
        raise IllegalMove(f"job {job.id} is {job.state}; only a job that still waits can be changed")


def _change(job: JobRecord, lane: Lane, state: State, run_at: float | None, payload: str | None) -> WaitingChange:
    if state is not job.state:
        states.require(job.state, state)
    return WaitingChange(job.id, job.state, job.fence, lane, state, run_at, payload)
