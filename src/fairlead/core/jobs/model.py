"""The words of Fairlead as data: what a job is to the client, to a worker and to the store.

Instants are seconds since 1970 by the database's clock, durations are seconds; what people read has datetimes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from fairlead.core.durations import instant as instant
from fairlead.core.jobs.failure import FailureClass, RetryDenial
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import READY, State
from fairlead.errors import ConfigError


class Priority(IntEnum):
    """The order of work within a tenant; a lower number goes first."""

    CRITICAL = 0
    HIGH = 1
    DEFAULT = 2
    LOW = 3

    @classmethod
    def parse(cls, value: "Priority | str | int") -> "Priority":
        """The priority by its name or number."""
        try:
            return cls[value.upper()] if isinstance(value, str) else cls(value)
        except (KeyError, ValueError):
            names = ", ".join(member.name.lower() for member in cls)
            raise ConfigError(f"{value!r} is not a priority; it must be one of {names}") from None

    @property
    def word(self) -> str:
        """The name as users write it."""
        return self.name.lower()


class LaneFields(NamedTuple):
    """What a lane consists of."""

    pool: str
    tenant: str
    type: str
    priority: Priority
    version: int
    limits: str = ""  # marks of what the handler declared (core.limits)


class Lane(LaneFields):
    """All ready jobs of one pool, tenant, type, priority, payload version and limits: alike, first in first out."""

    @cached_property
    def id(self) -> int:
        """A number that every process computes alike, so that no look-up is needed to enqueue."""
        return _lane_id(self)

    @property
    def is_keyed(self) -> bool:
        """Whether a key of the payload is part of it, so that there may be any number of such lanes."""
        return "=" in self.limits


@lru_cache(maxsize=65536)
def _lane_id(lane: Lane) -> int:
    parts = [lane.pool, lane.tenant, lane.type, str(int(lane.priority)), str(lane.version)]
    text = "\x00".join([*parts, lane.limits] if lane.limits else parts)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


class Scope(StrEnum):
    """For how long an idempotency key keeps its job."""

    ACTIVE = "active"  # until the job has ended
    WINDOW = "window"  # for a time after submission
    FOREVER = "forever"


@dataclass(frozen=True, slots=True)
class Unique:
    """An idempotency key and its reach."""

    key: str
    scope: Scope = Scope.ACTIVE
    window: float | None = None


@dataclass(slots=True)
class NewJob:
    """A job about to be stored. `delay` counts from the store's now; `run_at` is an instant the caller named."""

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
    deferred: float | None = None  # seconds that it was put off, since the system is overloaded

    @property
    def is_plain(self) -> bool:
        """Whether it is ready now and has nothing but its lane and its payload."""
        return (
            self.state is READY
            and self.run_at is None
            and self.not_after is None
            and self.unique is None
            and self.options is None
            and self.parent is None
        )


class Enqueued(NamedTuple):
    """What became of a submission: the id it has in the store, whether that job was there before, or was shed."""

    id: str
    duplicate: bool
    shed: bool = False


class Lease(NamedTuple):
    """A worker's right to what it claims: its boot id and a random token for this claim."""

    owner: str
    token: str


class Hold(NamedTuple):
    """The exact situation a writer saw; a write counts only if the job is still in it.

    `cancelled` says that somebody has asked to cancel this run; a success counts all the same.
    """

    state: State
    fence: int
    owner: str | None = None
    lease: str | None = None
    cancelled: bool = False


class CancelRequest(NamedTuple):
    """Somebody's wish that a running job ends: who, why, and how long its handler may take to end by itself."""

    by: str
    reason: str | None
    grace: float


class Quota(NamedTuple):
    """How many jobs to take from a lane; nothing that became ready before `since` needs to be looked at."""

    lane: int
    most: int
    since: float = 0.0


class ActiveLane(NamedTuple):
    """A lane with ready jobs, and when the first of them became ready."""

    lane: Lane
    since: float


class Claim(NamedTuple):
    """A job in a worker's hands. `age` and `time_left` are as of the claim."""

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
    place: int | None = None  # where the store keeps it, if it says so

    @property
    def hold(self) -> Hold:
        """What a settlement of this claim must find unchanged."""
        return _hold(self.fence, self.lease, self.cancel is not None)


@lru_cache(maxsize=1024)
def _hold(fence: int, lease: Lease, cancelled: bool) -> Hold:
    """The jobs of one claim mostly share it."""
    return Hold(State.RUNNING, fence, lease.owner, lease.token, cancelled)


class Held(NamedTuple):
    """A live job as a settler other than its worker sees it: the recoverer, or an operator."""

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
    SNOOZED = "snoozed"  # the handler wants to run later
    DISCARDED = "discarded"  # the handler says that the job is not needed
    RELEASED = "released"  # the worker stopped and gave the job back
    LOST = "lost"  # the lease ran out
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    __hash__ = str.__hash__


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as it is kept: bounded text, never an object. `failure` is None where nothing has failed."""

    type: str
    message: str
    traceback: str | None = None
    failure: FailureClass | None = FailureClass.APPLICATION
    retry_after: float | None = field(default=None, compare=False)  # the wait that was asked for; it is not kept
    fingerprint: str | None = field(default=None, compare=False)  # follows from the rest and the place it came from


class Outcome(NamedTuple):
    """What a run ended in; core.settle decides what follows. `stored` is that decision, where it is stored already."""

    ending: Ending
    result: str | None = None
    error: ErrorInfo | None = None
    stored: "Settlement | None" = None


class Settlement(NamedTuple):
    """The state change that follows from an outcome, valid only while `hold` still holds."""

    id: str
    hold: Hold
    state: State
    attempt: int
    crashes: int
    ending: Ending
    delay: float = 0.0
    result: str | None = None
    error: ErrorInfo | None = None
    calls_back: bool = False  # the job wants somebody told when it ends
    place: int | None = None  # where the store keeps the job, if it said so
    retry_denied_by: RetryDenial | None = None

    @property
    def recorded(self) -> bool:
        """Whether the attempt gets a row of its own: all do but those that ended the job well."""
        return self.ending is not Ending.SUCCEEDED and self.hold.state is State.RUNNING


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker process as it registers itself; the id is new at every boot."""

    id: str
    host: str
    pid: int
    pools: tuple[str, ...]
    types: tuple[str, ...]
    slots: int
    version: str


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A registered worker as an operator sees it."""

    info: WorkerInfo
    started_at: datetime
    lease_left: float
    state: str
    report: Mapping[str, Any]

    @property
    def live(self) -> bool:
        """Whether its lease still runs."""
        return self.lease_left > 0


@dataclass(frozen=True, slots=True)
class JobType:
    """A registered type: what a process without the handler's code needs in order to submit to it."""

    name: str
    version: int
    pool: str
    schema: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One run of a job that did not end it well."""

    fence: int
    attempt: int
    worker: str | None
    started_at: datetime | None
    ended_at: datetime
    ending: Ending
    error: ErrorInfo | None
    due_at: datetime | None = None  # when this run was due, and when the job became ready for it
    ready_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as it is read, live or finished."""

    id: str
    type: str
    tenant: str
    pool: str
    priority: Priority
    version: int
    state: State
    payload: str
    attempt: int
    crashes: int
    fence: int
    created_at: datetime
    run_at: datetime
    not_after: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    result: Any  # JSON text as a store has it; in a program what the handler returned
    error: ErrorInfo | None
    key: str | None
    options: str | None
    parent: str | None
    replays: int = 0
    limits: str = ""
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs a listing wants; an empty field does not restrict. A live job has no fingerprint and no end."""

    states: tuple[State, ...] = ()
    type: str | None = None
    tenant: str | None = None
    pool: str | None = None
    priority: Priority | None = None
    key: str | None = None
    fingerprint: str | None = None
    error_type: str | None = None
    finished_after: float | None = None
    finished_before: float | None = None


@dataclass(frozen=True, slots=True)
class DeadGroup:
    """Dead jobs of one type that died of errors with one fingerprint; the newest of them is the sample."""

    fingerprint: str | None
    type: str
    error_type: str | None
    message: str
    sample: str
    count: int
    tenants: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """Jobs, newest first, and the cursor that continues after them."""

    jobs: tuple[JobRecord, ...]
    cursor: str | None
