"""A job on its way from submission to settlement: lane, new job, claim, hold, outcome, settlement.

Instants are seconds since 1970 by the database's clock, durations are seconds; what people read has datetimes.
"""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import NamedTuple

from fairlead.core.jobs.checkpoints import LastCheckpoint
from fairlead.core.jobs.failure import FailureClass, RetryDenial
from fairlead.core.jobs.states import READY, State
from fairlead.errors import ConfigError


class Priority(IntEnum):
    """The priority of a job within its tenant; a lower number goes first."""

    CRITICAL = 0
    HIGH = 1
    DEFAULT = 2
    LOW = 3

    @classmethod
    def parse(cls, value: "Priority | str | int") -> "Priority":
        """Return the priority with this name or number; ConfigError if there is none."""
        try:
            return cls[value.upper()] if isinstance(value, str) else cls(value)
        except (KeyError, ValueError):
            names = ", ".join(member.name.lower() for member in cls)
            raise ConfigError(f"{value!r} is not a priority; it must be one of {names}") from None

    @property
    def word(self) -> str:
        """The name in lower case, as users write it."""
        return self.name.lower()


class LaneFields(NamedTuple):
    """The fields of a lane."""

    pool: str
    tenant: str
    type: str
    priority: Priority
    version: int
    limits: str = ""  # names of limits and dependencies that the handler declared (core.protection.limits)


class Lane(LaneFields):
    """A first-in-first-out queue of jobs with equal pool, tenant, type, priority, payload version and limits."""

    @cached_property
    def id(self) -> int:
        """A hash of the fields, the same in every process, so that enqueueing needs no look-up."""
        return _lane_id(self)

    @property
    def is_keyed(self) -> bool:
        """Whether the limits contain a key of the payload, so that the number of such lanes has no bound."""
        return "=" in self.limits


@lru_cache(maxsize=65536)
def _lane_id(lane: Lane) -> int:
    parts = [lane.pool, lane.tenant, lane.type, str(int(lane.priority)), str(lane.version)]
    text = "\x00".join([*parts, lane.limits] if lane.limits else parts)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


class Scope(StrEnum):
    """For how long an idempotency key refers to its job."""

    ACTIVE = "active"  # until the job has ended
    WINDOW = "window"  # for `window` seconds after submission
    FOREVER = "forever"


@dataclass(frozen=True, slots=True)
class Unique:
    """An idempotency key with its scope."""

    key: str
    scope: Scope = Scope.ACTIVE
    window: float | None = None


@dataclass(slots=True)
class NewJob:
    """A job to be stored. `delay` counts from the database's now; `run_at` is an instant that the caller gave."""

    id: str
    lane: Lane
    payload: str
    state: State = State.READY
    delay: float = 0.0
    run_at: float | None = None
    not_after: float | None = None
    unique: Unique | None = None
    options: str | None = None
    parent: str | None = None
    deferred: float | None = None  # seconds by which overload delayed the job

    @property
    def is_plain(self) -> bool:
        """Whether the job is ready now and has no options beside lane and payload."""
        return (
            self.state is READY
            and self.run_at is None
            and self.not_after is None
            and self.unique is None
            and self.options is None
            and self.parent is None
        )


class Enqueued(NamedTuple):
    """The result of a submission: the job's id, whether it is a duplicate of an earlier job, whether it was shed."""

    id: str
    duplicate: bool
    shed: bool = False


class Lease(NamedTuple):
    """The owner of a claim: the worker's boot id, and a random token for this claim."""

    owner: str
    token: str


class Hold(NamedTuple):
    """The state, fence and lease that a decision is based on; the write applies only if the job still has them.

    `cancelled` says that this run has a cancel request; a success applies in spite of one.
    """

    state: State
    fence: int
    owner: str | None = None
    lease: str | None = None
    cancelled: bool = False


class CancelRequest(NamedTuple):
    """A request to cancel a running job: by whom, why, and how long its handler may take to end by itself."""

    by: str
    reason: str | None
    grace: float


class Quota(NamedTuple):
    """How many jobs to claim from a lane; no job in it became ready before `since`."""

    lane: int
    most: int
    since: float = 0.0


class ActiveLane(NamedTuple):
    """A lane with ready jobs, and when the oldest of them became ready."""

    lane: Lane
    since: float


class Claim(NamedTuple):
    """A job that a worker has claimed. `age` and `time_left` are as of the claim."""

    id: str
    lane: Lane
    payload: str
    attempt: int
    crashes: int
    fence: int
    ready_at: float
    age: float
    time_left: float | None
    key: str | None
    options: str | None
    lease: Lease
    cancel: CancelRequest | None = None

    @property
    def hold(self) -> Hold:
        """The hold for settling this claim."""
        return _hold(self.fence, self.lease, self.cancel is not None)


@lru_cache(maxsize=1024)
def _hold(fence: int, lease: Lease, cancelled: bool) -> Hold:
    """Return a hold; most jobs of one claim share it."""
    return Hold(State.RUNNING, fence, lease.owner, lease.token, cancelled)


class Held(NamedTuple):
    """A live job as read by a settler other than its worker: the recoverer or an operator."""

    id: str
    lane: Lane
    attempt: int
    crashes: int
    age: float
    hold: Hold
    cancel: CancelRequest | None = None
    options: str | None = None
    place: int | None = None


class Ending(StrEnum):
    """How one run of a job ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    SNOOZED = "snoozed"  # the handler asked to run later
    DISCARDED = "discarded"  # the handler decided that the job is not needed
    RELEASED = "released"  # the worker stopped and gave the job back
    LOST = "lost"  # the lease ran out
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    __hash__ = str.__hash__


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as stored: bounded text. `failure` is None if nothing failed, as for a cancelled job."""

    type: str
    message: str
    traceback: str | None = None
    failure: FailureClass | None = FailureClass.APPLICATION
    retry_after: float | None = field(default=None, compare=False)  # the requested wait in seconds; not stored
    fingerprint: str | None = field(default=None, compare=False)  # derived from type, message and frame


class Outcome(NamedTuple):
    """How a run ended; core.jobs.settle decides what follows.

    `stored` is that decision if it is already stored, `checkpoint` the newest one of a run that was interrupted.
    """

    ending: Ending
    result: str | None = None
    error: ErrorInfo | None = None
    stored: "Settlement | None" = None
    checkpoint: LastCheckpoint | None = None


class Settlement(NamedTuple):
    """The state change that follows from an outcome; it applies only while `hold` holds."""

    id: str
    hold: Hold
    state: State
    attempt: int
    crashes: int
    ending: Ending
    delay: float = 0.0
    result: str | None = None
    error: ErrorInfo | None = None
    calls_back: bool = False  # the job names a callback endpoint
    retry_denied_by: RetryDenial | None = None
    checkpoint: LastCheckpoint | None = None  # with new counts of resumptions

    @property
    def recorded(self) -> bool:
        """Whether the run is stored as an attempt: every run but a successful one."""
        return self.ending is not Ending.SUCCEEDED and self.hold.state is State.RUNNING
