"""The events of workers and services; `Telemetry` passes each to its listeners."""

import logging
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from fairlead.core.jobs.model import Claim

_log = logging.getLogger("fairlead")

current_claim: ContextVar[Claim | None] = ContextVar("current_claim", default=None)  # of the run that is being executed


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True, slots=True)
class WorkerStarted(Event):
    """A worker has registered and begins to claim."""

    worker: str
    pools: tuple[str, ...]
    slots: int


@dataclass(frozen=True, slots=True)
class WorkerStopped(Event):
    """A worker has ended and released its claimed jobs."""

    worker: str
    released: int


@dataclass(frozen=True, slots=True)
class JobStarted(Event):
    """A handler begins; `waited` is the time since the job became ready."""

    job: str
    type: str
    tenant: str
    attempt: int
    waited: float


@dataclass(frozen=True, slots=True)
class JobEnded(Event):
    """A run has ended and its next state is decided; it is stored afterwards."""

    job: str
    type: str
    tenant: str
    state: str
    ending: str
    attempt: int
    ran: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunFailed(Event):
    """A run failed; its job is tried again in `again_in` seconds, or is dead where that is None."""

    job: str
    type: str
    tenant: str
    attempt: int
    error_type: str
    error: str
    failure: str | None
    again_in: float | None
    traceback: str | None


@dataclass(frozen=True, slots=True)
class ResultDropped(Event):
    """A job succeeded, and its result could not be kept."""

    job: str
    type: str
    tenant: str
    error: str


@dataclass(frozen=True, slots=True)
class CancelAsked(Event):
    """A worker passes a request to cancel to the handler of a running job."""

    job: str
    type: str
    tenant: str
    by: str
    reason: str | None
    grace: float


@dataclass(frozen=True, slots=True)
class ThreadLost(Event):
    """A handler could not be stopped and runs on after its job was settled; `lost` such handlers occupy slots."""

    job: str
    type: str
    tenant: str
    lost: int


@dataclass(frozen=True, slots=True)
class WorkerWorn(Event):
    """Lost handlers occupy too many slots of a worker: it drains and is replaced."""

    worker: str
    lost: int


@dataclass(frozen=True, slots=True)
class SettlementRefused(Event):
    """A worker tried to settle a job it no longer owned; nothing changed."""

    job: str
    worker: str | None


@dataclass(frozen=True, slots=True)
class LeaseEnded(Event):
    """A worker could not keep its lease and stops its handlers."""

    worker: str
    reason: str


@dataclass(frozen=True, slots=True)
class JobsRecovered(Event):
    """Jobs of lost workers were made ready again, or dead."""

    count: int
    dead: int


@dataclass(frozen=True, slots=True)
class StraysReturned(Event):
    """Jobs of a claim whose answer was lost were released."""

    count: int


@dataclass(frozen=True, slots=True)
class ScheduleFired(Event):
    """A recurring schedule created a job, `late` seconds after its fire time."""

    schedule: str
    type: str
    tenant: str
    job: str
    fire_at: float
    late: float


@dataclass(frozen=True, slots=True)
class ScheduleSkipped(Event):
    """A fire created no job, because the job of an earlier fire has not ended (overlap policy)."""

    schedule: str
    fire_at: float
    overlap: str


@dataclass(frozen=True, slots=True)
class ScheduleMissed(Event):
    """Fires were missed and are not caught up; the last of them was due at `fire_at`."""

    schedule: str
    fire_at: float
    count: int
    catch_up: str


@dataclass(frozen=True, slots=True)
class SchedulesDeclared(Event):
    """The schedules that an app's code declares were written to the store."""

    app: str
    written: int
    retired: int


@dataclass(frozen=True, slots=True)
class LateExecution(Event):
    """A job expired, because it did not start before its not_after."""

    job: str
    type: str
    tenant: str
    late_by: float


@dataclass(frozen=True, slots=True)
class PromoterBehind(Event):
    """Due jobs wait for promotion: the rates hold them back, or no process promoted for a while."""

    oldest_due_unpromoted_age: float


@dataclass(frozen=True, slots=True)
class PromoterCaughtUp(Event):
    """Due jobs are promoted in time again."""


@dataclass(frozen=True, slots=True)
class LeadTaken(Event):
    """This process leads the services from now on; the term rises with every change of leader."""

    identity: str
    term: int


@dataclass(frozen=True, slots=True)
class LeadLost(Event):
    """This process no longer leads: another does, or it could not renew in time."""

    identity: str
    term: int


@dataclass(frozen=True, slots=True)
class StoreAway(Event):
    """The store cannot be used now; the service goes on trying."""

    service: str
    reason: str


@dataclass(frozen=True, slots=True)
class StoreBack(Event):
    """The store can be used again."""

    service: str


@dataclass(frozen=True, slots=True)
class TypeMoved(Event):
    """Future jobs of a type go to another pool, because of the type's run times."""

    type: str
    declared: str
    old: str
    new: str
    why: str


@dataclass(frozen=True, slots=True)
class ServiceFailed(Event):
    """A background service failed with an error that is not the store's; it will be run again."""

    service: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProcessEnded(Event):
    """A worker process ended without being told to; another takes its place."""

    pid: int
    code: int
    restart_in: float


@dataclass(frozen=True, slots=True)
class BreakerOpened(Event):
    """A breaker opened: its jobs do not start for `cooldown` seconds; then a few do, as probes.

    `since` is an instant of the store's clock.
    """

    breaker: str
    why: str
    openings: int
    cooldown: float
    since: float


@dataclass(frozen=True, slots=True)
class BreakerHalfOpen(Event):
    """A breaker's cool-down is over; `probes` jobs may start."""

    breaker: str
    probes: int
    since: float


@dataclass(frozen=True, slots=True)
class BreakerRamping(Event):
    """A breaker's probes succeeded; more and more jobs may start during `ramp` seconds."""

    breaker: str
    ramp: float
    since: float


@dataclass(frozen=True, slots=True)
class BreakerClosed(Event):
    """A breaker closed."""

    breaker: str


@dataclass(frozen=True, slots=True)
class TypeQuarantined(Event):
    """A type was quarantined: its jobs get few attempts, or do not start, until an operator releases it."""

    type: str
    why: str
    advice: str


@dataclass(frozen=True, slots=True)
class AlertRaised(Event):
    """A problem of the system began; `about` names the pool, type, breaker or pause that it concerns."""

    code: str
    about: str | None
    severity: str
    sentence: str
    hint: str


@dataclass(frozen=True, slots=True)
class AlertCleared(Event):
    """The problem of an alert is over."""

    code: str
    about: str | None


@dataclass(frozen=True, slots=True)
class RetriesDelayed(Event):
    """A tenant has used up its retry budget: `delayed` retries wait longer, up to `longest` seconds."""

    tenant: str
    delayed: int
    longest: float
    retries: int
    allowed: int


@dataclass(frozen=True, slots=True)
class RetriesRefused(Event):
    """A tenant has used up its retry budget: `refused` jobs became dead letters with attempts left."""

    tenant: str
    refused: int
    retries: int
    allowed: int


class Telemetry:
    """Passes events to listeners; falsy while no listener wants events of single jobs, so that these are not built."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Event], None]] = []
        self._failures: set[tuple[int, type[Exception]]] = set()
        self._jobs_wanted = False

    def __bool__(self) -> bool:
        return self._jobs_wanted

    def listen(self, listener: Callable[[Event], None], jobs: bool = True) -> None:
        """Pass every further event to this listener; `jobs` includes the events of single jobs."""
        self._listeners.append(listener)
        self._jobs_wanted = self._jobs_wanted or jobs

    def emit(self, event: Event) -> None:
        """Pass an event to all listeners; a listener's error is logged once and affects nobody else."""
        for listener in self._listeners:
            try:
                listener(event)
            except Exception as error:
                self._say_so(listener, error)

    def _say_so(self, listener: Callable[[Event], None], error: Exception) -> None:
        """Log a listener's error once for each listener and type of error."""
        failure = (id(listener), type(error))
        if failure not in self._failures:
            self._failures.add(failure)
            _log.error("a listener for events failed (%r); jobs go on without it", error, exc_info=error)
