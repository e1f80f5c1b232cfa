"""Recurring schedules as data: schedules, their policies, fires, and the writes about both."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from fairlead.core.jobs.model import Lane, NewJob, Priority
from fairlead.core.jobs.states import State

DAY = 86_400.0


class Overlap(StrEnum):
    """What a fire does while the job of an earlier fire has not ended."""

    ALLOW = "allow"  # it makes its job all the same
    SKIP = "skip"  # it makes none
    QUEUE_ONE = "queue_one"  # it waits until that job has ended, unless another fire waits already


class CatchUp(StrEnum):
    """Which fires are made late after a time in which no scheduler ran."""

    NONE = "none"  # none: they are missed
    LAST = "last"  # the last one
    ALL = "all"  # all of them


class ScheduleState(StrEnum):
    """Whether a schedule fires."""

    ACTIVE = "active"
    PAUSED = "paused"  # by an operator
    RETIRED = "retired"  # no longer declared in code


class FireOutcome(StrEnum):
    """The outcome of a fire."""

    FIRED = "fired"  # it made a job
    SKIPPED = "skipped"  # its overlap policy forbade it
    MISSED = "missed"  # it was too late, by its catch-up policy


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """The settings of a schedule. `options` are the options of its jobs as JSON; durations are seconds."""

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
        """Return a copy for another version of the job type with these limits."""
        return replace(self, lane=self.lane._replace(version=version, limits=limits))


@dataclass(frozen=True, slots=True)
class Schedule:
    """A stored schedule. `owner` is the app whose code declares it; None if it was made through the client.

    Every fire up to `handled_until` is done, and `next_at` is the first one after that. Each write is a
    compare-and-swap on `version` and raises it.
    """

    spec: ScheduleSpec
    owner: str | None
    state: ScheduleState
    version: int
    handled_until: float
    next_at: float | None

    @property
    def name(self) -> str:
        """The unique name."""
        return self.spec.name


class DueSchedule(NamedTuple):
    """A schedule as read at the database's `now`.

    `live` counts the jobs of earlier fires that have not ended.
    """

    schedule: Schedule
    now: float
    live: int

    @property
    def is_due(self) -> bool:
        """Whether a fire is due."""
        schedule = self.schedule
        return schedule.state is ScheduleState.ACTIVE and schedule.next_at is not None and schedule.next_at <= self.now


class Fire(NamedTuple):
    """A fire to record, with its job if it makes one. A missed or skipped fire can stand for `times` fires."""

    at: float
    outcome: FireOutcome
    times: int = 1
    job: NewJob | None = None
    manual: bool = False


class FirePlan(NamedTuple):
    """The fires that a due schedule makes now, valid only while it has `version`."""

    name: str
    version: int
    fires: tuple[Fire, ...]
    handled_until: float
    next_at: float | None


class ScheduleWrite(NamedTuple):
    """A compare-and-swap of a schedule: it applies if the stored version is `seen`; None means that it is new."""

    schedule: Schedule
    seen: int | None
    fires: tuple[Fire, ...] = ()


class FireRecord(NamedTuple):
    """A stored fire; the job's fields are None if it made no job or the job's retention is over."""

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
    """A fire for display. A missed fire can stand for `times` fires; `at` is the last of them."""

    at: datetime
    outcome: FireOutcome
    times: int
    manual: bool
    job_id: str | None
    job_state: State | None


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """A schedule for display: settings, next fires and last fires."""

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
    """Return the schedule for display."""
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
