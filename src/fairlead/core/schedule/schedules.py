"""Recurring jobs as data: what a schedule is, what its fires became, and what is to be written about both."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from fairlead.core.jobs.model import Lane, NewJob, Priority
from fairlead.core.jobs.states import State

DAY = 86_400.0


class Overlap(StrEnum):
    """What a fire does while a job of an earlier one has not ended."""

    ALLOW = "allow"  # it makes its job all the same
    SKIP = "skip"  # it makes none
    QUEUE_ONE = "queue_one"  # it makes one that waits, unless one waits already


class CatchUp(StrEnum):
    """What becomes of fires that nobody made in time, since no scheduler ran."""

    NONE = "none"  # they are missed
    LAST = "last"  # the last of them is made
    ALL = "all"  # all of them are made


class ScheduleState(StrEnum):
    """Whether a schedule fires."""

    ACTIVE = "active"
    PAUSED = "paused"  # by an operator
    RETIRED = "retired"  # declared in code once, and no longer


class FireOutcome(StrEnum):
    """What became of a fire."""

    FIRED = "fired"  # it made a job
    SKIPPED = "skipped"  # its overlap policy forbade it
    MISSED = "missed"  # it was too late, by its catch-up policy


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """What a schedule is to do. `options` are those of its jobs, as JSON text; durations are seconds."""

    name: str
    expression: str
    zone: str
    lane: Lane
    payload: str
    options: str | None = None
    overlap: Overlap = Overlap.ALLOW
    catch_up: CatchUp = CatchUp.LAST
    window: float = DAY
    start_within: float | None = None

    def of_version(self, version: int, limits: str) -> "ScheduleSpec":
        """The same for a payload of another version of its type, and with the marks of its limits."""
        return replace(self, lane=self.lane._replace(version=version, limits=limits))


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it is kept. `owner` is the app whose code declares it; None if it was made through the client.

    Every fire up to `handled_until` is dealt with, and `next_at` is the first one after that. Each write raises
    `version`, and counts only if it found the version that its decision was taken on.
    """

    spec: ScheduleSpec
    owner: str | None
    state: ScheduleState
    version: int
    handled_until: float
    next_at: float | None

    @property
    def name(self) -> str:
        """Its name, which is unique."""
        return self.spec.name


class DueSchedule(NamedTuple):
    """A schedule by the store's `now`, at which its next fire may have come.

    `live` counts the jobs of earlier fires that have not ended, `waiting` those of them that no worker has begun.
    """

    schedule: Schedule
    now: float
    live: int
    waiting: int

    @property
    def is_due(self) -> bool:
        """Whether there are fires to be dealt with."""
        schedule = self.schedule
        return schedule.state is ScheduleState.ACTIVE and schedule.next_at is not None and schedule.next_at <= self.now


class Fire(NamedTuple):
    """A fire to be recorded, with its job if it makes one. A record of missed fires stands for `times` of them."""

    at: float
    outcome: FireOutcome
    times: int = 1
    job: NewJob | None = None
    manual: bool = False


class FirePlan(NamedTuple):
    """What a due schedule does now, valid only while it has `version`."""

    name: str
    version: int
    fires: tuple[Fire, ...]
    handled_until: float
    next_at: float | None


class ScheduleWrite(NamedTuple):
    """A schedule as it should be, where it is still of the version that was seen; None: where there is none yet."""

    schedule: Schedule
    seen: int | None
    fires: tuple[Fire, ...] = ()


class FireRecord(NamedTuple):
    """A fire as it is kept; what is known of its job is None where it made none or the job's retention is over."""

    schedule: str
    at: float
    manual: bool
    outcome: FireOutcome
    times: int
    job_id: str | None
    recorded_at: float
    job_state: State | None = None
    job_tenant: str | None = None


@dataclass(frozen=True, slots=True)
class PastFire:
    """A fire as people read it. A record of missed fires stands for `times` of them, the last of which it names."""

    at: datetime
    outcome: FireOutcome
    times: int
    manual: bool
    job_id: str | None
    job_state: State | None


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """A schedule as people read it: what it does, when it fires next, and what its last fires became."""

    name: str
    expression: str
    tz: str
    type: str
    tenant: str
    pool: str
    priority: Priority
    payload: str
    options: str | None
    overlap: Overlap
    catch_up: CatchUp
    catch_up_window: float
    start_within: float | None
    app: str | None
    state: ScheduleState
    next_fires: tuple[datetime, ...]
    fires: tuple[PastFire, ...]
    version: int = 0


def record_of(schedule: Schedule, next_fires: list[float], fires: list[FireRecord]) -> ScheduleRecord:
    """The schedule for people."""
    spec, lane = schedule.spec, schedule.spec.lane
    return ScheduleRecord(
        name=spec.name,
        expression=spec.expression,
        tz=spec.zone,
        type=lane.type,
        tenant=lane.tenant,
        pool=lane.pool,
        priority=lane.priority,
        payload=spec.payload,
        options=spec.options,
        overlap=spec.overlap,
        catch_up=spec.catch_up,
        catch_up_window=spec.window,
        start_within=spec.start_within,
        app=schedule.owner,
        state=schedule.state,
        next_fires=tuple(datetime.fromtimestamp(at, UTC) for at in next_fires),
        fires=tuple(
            PastFire(
                datetime.fromtimestamp(item.at, UTC), item.outcome, item.times, item.manual, item.job_id, item.job_state
            )
            for item in fires
        ),
        version=schedule.version,
    )
