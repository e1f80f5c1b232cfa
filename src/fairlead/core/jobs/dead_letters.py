"""Dead letters: reviving, editing and cancelling dead jobs, and the stages of a replay."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from fairlead.core.jobs import states
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Lane
from fairlead.core.jobs.states import State

STAGES = (1, 10, 100, 1_000)
CAREFUL_STAGES = 2
TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class DeadGroup:
    """Dead jobs of one type whose errors have the same fingerprint; `sample` is the id of the newest."""

    fingerprint: str | None
    type: str
    error_type: str | None
    message: str
    sample: str
    count: int
    tenants: int
    first_at: datetime
    last_at: datetime


class DeadHold(NamedTuple):
    """The death that a decision is about; a write applies only if the job has not been revived since."""

    id: str
    fence: int
    finished_at: datetime


class Revival(NamedTuple):
    """Makes a dead job ready again: same id, key and fence, fresh attempts; `payload` only if it was edited."""

    hold: DeadHold
    lane: Lane
    state: State
    key: str | None
    payload: str | None

    @property
    def id(self) -> str:
        """The job."""
        return self.hold.id


class DeadEdit(NamedTuple):
    """A new payload for a dead job, and the lane for its version."""

    hold: DeadHold
    lane: Lane
    payload: str


class Refusal(StrEnum):
    """Why a dead job was not revived."""

    CHANGED = "changed"  # it is not dead any more, or died again since it was read
    KEY_TAKEN = "key_taken"  # another job holds its idempotency key
    TOO_LATE = "too_late"  # its not_after has passed: it would expire at once and be lost

    @property
    def words(self) -> str:
        """The reason as an operator reads it."""
        return _REASONS[self]


_REASONS = {
    Refusal.CHANGED: "it is no longer the dead job that was read; look at it again",
    Refusal.KEY_TAKEN: "another job holds its idempotency key now; running both could do the work twice",
    Refusal.TOO_LATE: "its not_after has passed, so it would expire at once; submit it anew if it is still wanted",
}


@dataclass(frozen=True, slots=True)
class Revived:
    """The result of revivals: ids of live jobs, and the refusal of each other job."""

    ids: frozenset[str]
    refused: dict[str, Refusal]


@dataclass(frozen=True, slots=True)
class Stage:
    """Counts of one stage of a replay, taken when its jobs have ended or the time for them is over."""

    number: int
    revived: int
    refused: int
    succeeded: int
    failed_again: int  # dead with the same fingerprint as before, or retrying
    failed_otherwise: int  # dead with another fingerprint
    unfinished: int

    @property
    def ended(self) -> int:
        """How many jobs have ended."""
        return self.revived - self.unfinished

    @property
    def failed(self) -> int:
        """How many jobs failed again, with the same error or another."""
        return self.failed_again + self.failed_otherwise


def revive(
    job: JobRecord, payload: str | None = None, version: int | None = None, limits: str | None = None
) -> Revival:
    """Return the revival of a dead job, with its payload or with an edited one of the given version and limits."""
    states.require(job.state, State.READY)
    return Revival(hold_of(job), _lane(job, version, limits), State.READY, job.key, payload)


def edit_dead(job: JobRecord, payload: str, version: int, limits: str | None = None) -> DeadEdit:
    """Return the edit of a dead job's payload; the job stays dead."""
    states.require(job.state, State.READY)
    return DeadEdit(hold_of(job), _lane(job, version, limits), payload)


def cancel_dead(job: JobRecord) -> DeadHold:
    """Return the hold for cancelling a dead job; IllegalMove if it is not dead."""
    states.require(job.state, State.CANCELLED)
    return hold_of(job)


def hold_of(job: JobRecord) -> DeadHold:
    """Return the death that a decision about this record refers to."""
    assert job.finished_at
    return DeadHold(job.id, job.fence, job.finished_at)


def stage_size(number: int) -> int:
    """Return how many jobs stage `number` replays, counted from 1: 1, 10, 100, then 1,000 each."""
    return STAGES[min(number, len(STAGES)) - 1]


def why_stop(stage: Stage, tolerance: float = TOLERANCE) -> str | None:
    """Return why the replay stops after this stage, or None if it goes on."""
    if stage.revived and not stage.ended:
        return f"none of the {stage.revived} jobs of stage {stage.number} ended in time; is a worker running?"
    allowed = 0.0 if stage.number <= CAREFUL_STAGES else tolerance * stage.ended
    if stage.failed > allowed:
        return f"{stage.failed} of {stage.ended} jobs of stage {stage.number} failed again"
    return None


def _lane(job: JobRecord, version: int | None, limits: str | None) -> Lane:
    return Lane(
        job.pool,
        job.tenant,
        job.type,
        job.priority,
        job.version if version is None else version,
        job.limits if limits is None else limits,
    )
