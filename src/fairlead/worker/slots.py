"""The slots of a worker: each holds one running job, and every end of a run becomes a settlement.

A handler is stopped by cancelling it. A thread goes on all the same, and so may a coroutine that swallows the
cancellation: after a grace period its job is settled without it, and the slot it takes up is lost until it ends.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from random import Random

from fairlead.core.failure import FailureClass, Policies
from fairlead.core.model import CancelRequest, Claim, Ending, ErrorInfo, Lane, Outcome
from fairlead.core.settle import settle
from fairlead.handlers.options import overridden
from fairlead.handlers.spec import HandlerSpec, Registry
from fairlead.telemetry.events import CancelAsked, JobEnded, JobStarted, LateExecution, Telemetry
from fairlead.worker.health import Health
from fairlead.worker.lost import LostRuns
from fairlead.worker.runner import Runner
from fairlead.worker.settler import Settler

STOP_PATIENCE = 5.0
ANY = Policies()
SUCCEEDED = Ending.SUCCEEDED


class Running:
    """A job in a slot."""

    __slots__ = ("claim", "deadline", "patience", "policies", "spec", "started", "stopped_at", "stopped_by", "task")

    def __init__(self, claim: Claim, spec: HandlerSpec) -> None:
        timeout, self.policies = spec.timeout, spec.policies
        if claim.options is not None:
            timeout, self.policies = overridden(claim.options, timeout, self.policies)
        self.claim = claim
        self.spec = spec
        self.started = time.monotonic()
        self.deadline = None if timeout is None else self.started + timeout
        self.patience = STOP_PATIENCE
        self.stopped_by: Ending | None = None
        self.task: asyncio.Task[None] | None = None

    def stop(self, reason: Ending) -> None:
        """Cancel the handler; the reason decides what follows."""
        if self.stopped_by is None and self.task is not None:
            self.stopped_by = reason
            self.stopped_at = time.monotonic()
            self.task.cancel()

    def cancel(self, request: CancelRequest) -> None:
        """Tell the handler; a thread has until the end of the grace to look, and then is not waited for."""
        self.claim = self.claim._replace(cancel=request)
        if self.spec.is_async:
            self.patience = request.grace
            self.stop(Ending.CANCELLED)
        else:
            end = time.monotonic() + request.grace
            self.deadline = end if self.deadline is None else min(end, self.deadline)

    def does_not_stop(self, now: float) -> bool:
        """Whether it was told to stop and has had time to."""
        return self.stopped_by is not None and now > self.stopped_at + self.patience


class Slots:
    """Starts claimed jobs as slots become free."""

    def __init__(
        self,
        size: int,
        registry: Registry,
        runner: Runner,
        lost: LostRuns,
        settler: Settler,
        health: Health,
        telemetry: Telemetry,
        on_freed: Callable[[], None],
        on_ended: Callable[[Lane, float], None] = lambda lane, ran: None,
        on_started: Callable[[tuple[str, float, float]], None] = lambda began: None,
    ) -> None:
        self.size = size
        self.capacity = size
        self.lost = lost
        lost.on_change = self._resize
        self.running: dict[tuple[str, int], Running] = {}
        self.waiting: deque[Claim] = deque()
        self._registry = registry
        self._runner = runner
        self._settler = settler
        self._health = health
        self._telemetry = telemetry
        self._on_freed = on_freed
        self._on_ended = on_ended
        self._on_started = on_started
        self._random = Random()
        self._loop = asyncio.get_running_loop()

    @property
    def taken(self) -> int:
        """How many jobs are in this worker's hands."""
        return len(self.running) + len(self.waiting)

    def in_hand(self, pool: str) -> int:
        """How many of them are of a pool."""
        running = sum(running.claim.lane.pool == pool for running in self.running.values())
        return running + sum(claim.lane.pool == pool for claim in self.waiting)

    def times(self) -> Iterator[tuple[Lane, float]]:
        """The lane of each job in this worker's hands, and for how long it has run."""
        now = time.monotonic()
        for running in self.running.values():
            yield running.claim.lane, now - running.started
        for claim in self.waiting:
            yield claim.lane, 0.0

    def admit(self, claims: list[Claim]) -> None:
        """Start the jobs, or hold them until a slot is free."""
        self.waiting.extend(claims)
        self._fill()

    def stop_overdue(self, now: float) -> None:
        """Stop the handlers whose time is up, and go on without those that do not stop."""
        for running in list(self.running.values()):
            if running.deadline is not None and now > running.deadline:
                running.stop(Ending.TIMED_OUT if running.claim.cancel is None else Ending.CANCELLED)
            if running.does_not_stop(now):
                self._lose(running, _outcome_of_stop(running))
        self.lost.look()

    def cancel(self, requests: Mapping[tuple[str, int], CancelRequest]) -> None:
        """Stop what is to be cancelled: jobs that have not started at once, handlers with their grace."""
        for running in list(self.running.values()):
            request = requests.get((running.claim.id, running.claim.fence))
            if request is not None and request != running.claim.cancel:
                running.cancel(request)
                lane = running.claim.lane
                self._telemetry.emit(CancelAsked(running.claim.id, lane.type, lane.tenant, *request))
        kept: deque[Claim] = deque()
        while self.waiting:
            claim = self.waiting.popleft()
            request = requests.get((claim.id, claim.fence))
            if request is None:
                kept.append(claim)
            else:
                self._settle(claim._replace(cancel=request), Outcome(Ending.CANCELLED), ANY)
        self.waiting = kept

    def release_waiting(self) -> None:
        """Give back the jobs that have not started."""
        while self.waiting:
            self._settle(self.waiting.popleft(), Outcome(Ending.RELEASED), ANY)

    def stop_all(self, reason: Ending) -> None:
        """Stop every handler."""
        for running in list(self.running.values()):
            running.stop(reason)

    def give_up(self, reason: Ending) -> int:
        """Settle what does not stop, threads above all, as if it had; returns how many there were."""
        stuck = list(self.running.values())
        for running in stuck:
            self._lose(running, Outcome(reason))
        return len(stuck)

    def _lose(self, running: Running, outcome: Outcome) -> None:
        """Settle a job whose handler does not end."""
        del self.running[running.claim.id, running.claim.fence]
        self._settle(running.claim, outcome, running.policies, running.started)
        if running.task is not None:
            self.lost.add(running.claim, running.task.done)

    def _resize(self) -> None:
        """What lost handlers take up is not handed out."""
        self.capacity = self.size - len(self.lost)
        self._fill()
        self._on_freed()

    def _fill(self) -> None:
        while self.waiting and len(self.running) < self.capacity:
            claim = self.waiting.popleft()
            running = Running(claim, self._registry[claim.lane.type])
            self.running[claim.id, claim.fence] = running
            running.task = self._loop.create_task(self._run(running))
            self._on_started((claim.lane.pool, claim.ready_at, running.started))

    async def _run(self, running: Running) -> None:
        claim = running.claim
        if self._telemetry:
            waited = max(0.0, time.time() - claim.ready_at)
            self._telemetry.emit(JobStarted(claim.id, claim.lane.type, claim.lane.tenant, claim.attempt, waited))
        try:
            outcome = await self._runner.run(claim, running.spec, running)
        except asyncio.CancelledError:
            outcome = _outcome_of_stop(running)
        if self.running.pop((claim.id, claim.fence), None) is not None:
            self._settle(running.claim, outcome, running.policies, running.started)
        if self.waiting:
            self._fill()
        self._on_freed()

    def _settle(self, claim: Claim, outcome: Outcome, policies: Policies, started: float | None = None) -> None:
        if outcome.ending is not SUCCEEDED and started is not None:
            claim = claim._replace(age=claim.age + time.monotonic() - started)
            if outcome.ending is Ending.EXPIRED:
                late_by = -(claim.time_left or 0.0)
                self._telemetry.emit(LateExecution(claim.id, claim.lane.type, claim.lane.tenant, late_by))
        relief = self._health.ended(claim, outcome)
        if outcome.stored is None:
            settlement = settle(claim, outcome, policies, self._random, relief)
            self._settler.add(settlement)
        else:
            settlement = outcome.stored
            self._settler.count([settlement])
        if relief is not None:
            self._health.decided(claim, relief, settlement)
        if started is not None:
            self._on_ended(claim.lane, time.monotonic() - started)
        if self._telemetry:
            self._telemetry.emit(
                JobEnded(
                    job=claim.id,
                    type=claim.lane.type,
                    tenant=claim.lane.tenant,
                    state=settlement.state,
                    ending=settlement.ending,
                    attempt=claim.attempt,
                    ran=0.0 if started is None else time.monotonic() - started,
                    error=settlement.error.message if settlement.error else None,
                )
            )


def _outcome_of_stop(running: Running) -> Outcome:
    """What a cancelled handler ended in; one that cancelled itself has failed."""
    if running.stopped_by is Ending.TIMED_OUT:
        ran = time.monotonic() - running.started
        reason = f"stopped after {ran:.1f} s by its timeout"
        return Outcome(Ending.TIMED_OUT, error=ErrorInfo("TimedOut", reason, failure=FailureClass.TIMEOUT))
    if running.stopped_by is not None:
        return Outcome(running.stopped_by)
    return Outcome(Ending.FAILED, error=ErrorInfo("CancelledError", "the handler cancelled itself"))
