"""Bringing dead jobs back: what a revival writes, how large the stages of a replay are, and whether to go on."""

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


class DeadHold(NamedTuple):
    """The dead job that a decider saw; a write counts only if it is still that one."""

    id: str
    fence: int
    finished_at: datetime


class Revival(NamedTuple):
    """A dead job's way back to life: same id, key and fence, fresh attempts; a payload only where it was edited."""

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
    """A dead job's new payload and the lane of its version."""

    hold: DeadHold
    lane: Lane
    payload: str


class Refusal(StrEnum):
    """Why a dead job was not brought back."""

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
    """What became of revivals: the ids that are live again, and why the others are not."""

    ids: frozenset[str]
    refused: dict[str, Refusal]


@dataclass(frozen=True, slots=True)
class Stage:
    """What is known of one stage of a replay once its jobs have ended, or patience has."""

    number: int
    revived: int
    refused: int
    succeeded: int
    failed_again: int  # dead of the same fingerprint as before, or failing still
    failed_otherwise: int  # dead of something else
    unfinished: int

    @property
    def ended(self) -> int:
        """How many there is a verdict about."""
        return self.revived - self.unfinished

    @property
    def failed(self) -> int:
        """How many did not get better."""
        return self.failed_again + self.failed_otherwise


def revive(
    job: JobRecord, payload: str | None = None, version: int | None = None, limits: str | None = None
) -> Revival:
    """Decide how a dead job comes back, with its payload or with an edited one of the given version and limits."""
    states.require(job.state, State.READY)
    return Revival(hold_of(job), _lane(job, version, limits), State.READY, job.key, payload)


def edit_dead(job: JobRecord, payload: str, version: int, limits: str | None = None) -> DeadEdit:
    """Decide what a dead job looks like with an edited payload; it stays dead."""
    states.require(job.state, State.READY)
    return DeadEdit(hold_of(job), _lane(job, version, limits), payload)


def cancel_dead(job: JobRecord) -> DeadHold:
    """Decide that a dead job is cancelled."""
    states.require(job.state, State.CANCELLED)
    return hold_of(job)


def hold_of(job: JobRecord) -> DeadHold:
    """The situation that a decision about a dead job is taken in."""
    assert job.finished_at
    return DeadHold(job.id, job.fence, job.finished_at)


def stage_size(number: int) -> int:
    """How many jobs the stage has, counted from 1: 1, then 10, then growing up to a bound."""
    return STAGES[min(number, len(STAGES)) - 1]


def why_stop(stage: Stage, tolerance: float = TOLERANCE) -> str | None:
    """Why the replay should not go on after this stage; None where it should."""
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
