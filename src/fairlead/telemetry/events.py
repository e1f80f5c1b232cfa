"""What happens in the engine, as data; `Telemetry` hands each event to whoever listens."""

import logging
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from fairlead.core.jobs.model import Claim, Settlement
from fairlead.core.jobs.states import State

_log = logging.getLogger("fairlead")

current_claim: ContextVar[Claim | None] = ContextVar("current_claim", default=None)  # of the run that is being executed


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""


@dataclass(frozen=True, slots=True)
class WorkerStarted(Event):
    """A worker has registered and begins to claim."""

    worker: str
    pools: tuple[str, ...]
    slots: int


@dataclass(frozen=True, slots=True)
class WorkerStopped(Event):
    """A worker has ended and given back what it held."""

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
    """A run has ended and its consequence is decided; it is stored next."""

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
class CancelAsked(Event):
    """A worker has heard that a job of its own is to be cancelled, and tells the handler."""

    job: str
    type: str
    tenant: str
    by: str
    reason: str | None
    grace: float


@dataclass(frozen=True, slots=True)
class ThreadLost(Event):
    """A handler cannot be stopped and goes on although its job was settled; `lost` of them take up slots now."""

    job: str
    type: str
    tenant: str
    lost: int


@dataclass(frozen=True, slots=True)
class WorkerWorn(Event):
    """Too many slots of a worker are taken by lost handlers: it drains and is replaced."""

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
    """Jobs of lost workers were given a new chance, or ended."""

    count: int
    dead: int


@dataclass(frozen=True, slots=True)
class StraysReturned(Event):
    """Jobs that the store had given to this worker in an answer that never arrived went back to their lanes."""

    count: int


@dataclass(frozen=True, slots=True)
class ScheduleFired(Event):
    """A fire of a recurring schedule made its job, `late` seconds after its time."""

    schedule: str
    type: str
    tenant: str
    job: str
    fire_at: float
    late: float


@dataclass(frozen=True, slots=True)
class ScheduleSkipped(Event):
    """A fire made no job, since one of an earlier fire has not ended and the overlap policy forbids a second."""

    schedule: str
    fire_at: float
    overlap: str


@dataclass(frozen=True, slots=True)
class ScheduleMissed(Event):
    """Fires were not made in time and are not caught up; the last of them was due at `fire_at`."""

    schedule: str
    fire_at: float
    count: int
    catch_up: str


@dataclass(frozen=True, slots=True)
class SchedulesDeclared(Event):
    """The schedules of an app's code were brought into the store."""

    app: str
    written: int
    retired: int


@dataclass(frozen=True, slots=True)
class LateExecution(Event):
    """A job would have started after its not_after, and was expired instead."""

    job: str
    type: str
    tenant: str
    late_by: float


@dataclass(frozen=True, slots=True)
class PromoterBehind(Event):
    """Due jobs wait to become ready: the rates hold them back, or nobody promoted for a while."""

    oldest_due_unpromoted_age: float


@dataclass(frozen=True, slots=True)
class PromoterCaughtUp(Event):
    """Due jobs become ready in time again."""


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
    """The future jobs of a type go to another pool, because of what its jobs took."""

    type: str
    declared: str
    old: str
    new: str
    why: str


@dataclass(frozen=True, slots=True)
class ServiceFailed(Event):
    """A background service met an error that is not the store's; it will be run again."""

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
    """Too much has failed: nothing that goes through this breaker starts for `cooldown` seconds, then a few do.

    `since` is an instant of the store's clock.
    """

    breaker: str
    why: str
    openings: int
    cooldown: float
    since: float


@dataclass(frozen=True, slots=True)
class BreakerHalfOpen(Event):
    """The cool-down is over: so many probes may start."""

    breaker: str
    probes: int
    since: float


@dataclass(frozen=True, slots=True)
class BreakerRamping(Event):
    """The probes went well: more and more may start, over so many seconds."""

    breaker: str
    ramp: float
    since: float


@dataclass(frozen=True, slots=True)
class BreakerClosed(Event):
    """All is well again."""

    breaker: str


@dataclass(frozen=True, slots=True)
class TypeQuarantined(Event):
    """A type has failed for so long that its jobs get few attempts, or none, until somebody releases it."""

    type: str
    why: str
    advice: str


@dataclass(frozen=True, slots=True)
class AlertRaised(Event):
    """Something is wrong that somebody should know of; `about` is the pool, type, breaker or pause, if it is one's."""

    code: str
    about: str | None
    severity: str
    sentence: str
    hint: str


@dataclass(frozen=True, slots=True)
class AlertCleared(Event):
    """What an alert told of is over."""

    code: str
    about: str | None


@dataclass(frozen=True, slots=True)
class RetriesDelayed(Event):
    """A tenant has used up its retry budget: `delayed` retries wait for longer, the last of them `longest` seconds."""

    tenant: str
    delayed: int
    longest: float
    retries: int
    allowed: int


@dataclass(frozen=True, slots=True)
class RetriesRefused(Event):
    """A tenant has used up its retry budget: `refused` jobs are dead letters before their attempts were used up."""

    tenant: str
    refused: int
    retries: int
    allowed: int


class Telemetry:
    """Hands events to listeners; falsy while nobody wants those of single jobs, so that none needs to be built."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Event], None]] = []
        self._failures: set[tuple[int, type[Exception]]] = set()
        self._jobs_wanted = False

    def __bool__(self) -> bool:
        return self._jobs_wanted

    def listen(self, listener: Callable[[Event], None], jobs: bool = True) -> None:
        """Hand every further event to this listener; `jobs` asks for those of single jobs too."""
        self._listeners.append(listener)
        self._jobs_wanted = self._jobs_wanted or jobs

    def emit(self, event: Event) -> None:
        """Tell everyone. A listener that fails, as a log on a full disk does, is nobody else's concern."""
        for listener in self._listeners:
            try:
                listener(event)
            except Exception as error:
                self._say_so(listener, error)

    def _say_so(self, listener: Callable[[Event], None], error: Exception) -> None:
        """Once for each listener and kind of error, by the standard library, which raises nothing itself."""
        failure = (id(listener), type(error))
        if failure not in self._failures:
            self._failures.add(failure)
            _log.error("a listener for events failed (%r); jobs go on without it", error, exc_info=error)


def tell_failure(telemetry: Telemetry, claim: Claim, settlement: Settlement) -> None:
    """Emit RunFailed where a run has failed, whether events of single jobs are wanted or not."""
    error = settlement.error
    if error is None or settlement.state not in (State.RETRYING, State.DEAD):
        return
    telemetry.emit(
        RunFailed(
            job=claim.id,
            type=claim.lane.type,
            tenant=claim.lane.tenant,
            attempt=claim.attempt,
            error_type=error.type,
            error=error.message,
            failure=error.failure,
            again_in=settlement.delay if settlement.state is State.RETRYING else None,
            traceback=error.traceback,
        )
    )
