"""The timeline of a job: its events in order, derived from its record, its attempts and the audit.

Nothing is stored for it. When a job became ready after a wait is not stored for its last run, so the instant it was due
is shown; promotion follows within a moment.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from fairlead.core.insight.audit import AuditEntry
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord
from fairlead.core.jobs.model import Ending, ErrorInfo
from fairlead.core.jobs.states import FINAL, State

WAITING = (State.SCHEDULED, State.RETRYING, State.BLOCKED)
AFTER = {
    Ending.SUCCEEDED: State.SUCCEEDED,
    Ending.FAILED: State.RETRYING,
    Ending.TIMED_OUT: State.RETRYING,
    Ending.SNOOZED: State.SCHEDULED,
    Ending.DISCARDED: State.CANCELLED,
    Ending.RELEASED: State.READY,
    Ending.LOST: State.READY,
    Ending.CANCELLED: State.CANCELLED,
    Ending.EXPIRED: State.EXPIRED,
}
INSTANT = timedelta(microseconds=1)
ACTIONS = {"replay": ("replayed", State.READY), "edit": ("edited", None), "cancel": ("cancelled", State.CANCELLED)}


@dataclass(frozen=True, slots=True)
class Moment:
    """An event of a job; `state` is its state from then on, None if unchanged."""

    at: datetime
    what: str
    state: State | None = None
    attempt: int | None = None
    worker: str | None = None
    took: float | None = None
    by: str | None = None
    note: str | None = None
    error: ErrorInfo | None = None


class _Run(NamedTuple):
    """A run, failed or not; a running one has no end."""

    attempt: int
    worker: str | None
    due_at: datetime | None
    ready_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    ending: Ending | None
    error: ErrorInfo | None


def timeline(job: JobRecord, attempts: Sequence[AttemptRecord], audit: Sequence[AuditEntry]) -> list[Moment]:
    """Return the events of a job in order."""
    runs = [_Run(*_facts(attempt)) for attempt in sorted(attempts, key=lambda item: item.fence)]
    if job.started_at and all(attempt.fence != job.fence for attempt in attempts):
        runs.append(_last_run(job))
    actions = [_action_of(job, entry) for entry in sorted(audit, key=lambda entry: entry.id)]
    moments = [*_life(job, runs, actions), *(action for action in actions if not _is_the_end(job, action))]
    return sorted(moments, key=lambda moment: moment.at)


def _facts(attempt: AttemptRecord) -> tuple[Any, ...]:
    return (
        attempt.attempt, attempt.worker, attempt.due_at, attempt.ready_at, attempt.started_at, attempt.ended_at,
        attempt.ending, attempt.error,
    )  # fmt: skip


def _last_run(job: JobRecord) -> _Run:
    """Return the run without a stored attempt: it is running, or it succeeded."""
    ending = Ending.SUCCEEDED if job.state is State.SUCCEEDED else None
    return _Run(job.attempt, job.worker, job.run_at, None, job.started_at, job.finished_at, ending, job.error)


def _life(job: JobRecord, runs: Sequence[_Run], actions: Sequence[Moment]) -> list[Moment]:
    """Return submission, waits, runs and end."""
    first_due = runs[0].due_at if runs else job.run_at
    state = State.SCHEDULED if first_due and first_due - job.created_at > INSTANT else State.READY
    if not runs and job.state is State.BLOCKED:
        state = State.BLOCKED
    note = f"due {_clock(first_due)}" if state is State.SCHEDULED and first_due else None
    moments = [Moment(job.created_at, "enqueued", state, note=note)]
    for index, run in enumerate(runs):
        following = runs[index + 1] if index + 1 < len(runs) else None
        moments += _run_moments(run, state, moments[-1].at)
        if run.ending and run.ended_at:
            state = _after(job, run, following, actions)
            moments.append(_end_of(run, state, following.due_at if following else job.run_at))
    return moments + _rest(job, state, moments[-1])


def _run_moments(run: _Run, state: State, since: datetime) -> list[Moment]:
    """Return the end of the wait and the start of a run."""
    started = run.started_at or since
    ready_at = run.ready_at or min(max(run.due_at or since, since), started)
    waited = [Moment(ready_at, "ready", State.READY)] if state in WAITING else []
    return [*waited, Moment(started, "claimed", State.RUNNING, run.attempt, run.worker)]


def _after(job: JobRecord, run: _Run, following: _Run | None, actions: Sequence[Moment]) -> State:
    """Return the state after a run."""
    assert run.ending
    assert run.ended_at
    until = following.started_at if following else None
    later = [action for action in actions if action.at >= run.ended_at and (until is None or action.at < until)]
    if any(action.what == "replayed" for action in later):
        return State.DEAD
    if following is None and job.finished_at and job.finished_at - run.ended_at <= INSTANT:
        closed = any(action.state is State.CANCELLED and action.at > job.finished_at + INSTANT for action in later)
        return State.DEAD if closed else job.state
    return AFTER[run.ending]


def _end_of(run: _Run, state: State, next_due: datetime | None) -> Moment:
    assert run.ending
    assert run.ended_at
    took = (run.ended_at - run.started_at).total_seconds() if run.started_at else None
    note = f"due {_clock(next_due)}" if state in WAITING and next_due else None
    what = run.ending.value.replace("_", " ")
    return Moment(run.ended_at, what, state, run.attempt, run.worker, took, note=note, error=run.error)


def _rest(job: JobRecord, state: State, last: Moment) -> list[Moment]:
    """Return the events after the last run, or of a job that never ran."""
    ended = job.finished_at if state not in FINAL and last.state is not State.RUNNING else None
    moments = []
    if state in WAITING and (job.state is State.READY or (ended and job.run_at < ended)):
        moments.append(Moment(max(job.run_at, last.at), "ready", State.READY))
    if ended:
        moments.append(Moment(ended, job.state.value, job.state, error=job.error))
    return moments


def _action_of(job: JobRecord, entry: AuditEntry) -> Moment:
    """Return the event of an operator's action."""
    details = _details(entry)
    what, state = ACTIONS.get(entry.action, (entry.action, None))
    if entry.action == "cancel" and job.id in details.get("asked", ()):
        what, state = "cancel requested", None
    at = datetime.fromtimestamp(entry.at, UTC)
    return Moment(at, what, state, by=entry.actor, note=details.get("reason"))


def _is_the_end(job: JobRecord, action: Moment) -> bool:
    """Whether this cancellation is the job's own end, which is listed already."""
    return action.state is State.CANCELLED and job.finished_at is not None and action.at <= job.finished_at + INSTANT


def _details(entry: AuditEntry) -> dict[str, Any]:
    try:
        found = json.loads(entry.details)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _clock(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
