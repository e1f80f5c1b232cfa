"""The slots of a worker: runners take claimed jobs one after the other, and each end becomes a settlement.

A runner is a task that runs jobs until none waits or 5 ms have passed. When it begins a job it calls the next runner,
which the event loop starts as soon as the job waits for something. So handlers that never wait share one task, and
handlers that wait fill all slots. A run that changed a context variable or was cancelled is its task's last one: the
next job begins with the context of the worker.

Ends of runs are collected over one turn of the event loop, then decided and handed to the settler together.

A thread goes on although its run was cancelled, and so may a coroutine that swallows the cancellation: after a grace
its job is settled without it, and the slot is lost until the handler ends.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextvars import copy_context
from random import Random

from fairlead.core.fairness.usage import SlotUsage
from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.model import CancelRequest, Claim, Ending, Lane, Outcome, Settlement
from fairlead.core.jobs.pools import POOL, Pools, TypeTerms, terms_in
from fairlead.core.jobs.settle import settle
from fairlead.core.protection.controls import Controls
from fairlead.handlers.options import overridden
from fairlead.handlers.spec import HandlerSpec, Registry
from fairlead.runtime.controls import ControlView
from fairlead.telemetry.events import (
    CancelAsked,
    JobEnded,
    JobStarted,
    LateExecution,
    Telemetry,
    ThreadLost,
    current_claim,
)
from fairlead.worker.failures import tell_failure
from fairlead.worker.forks import ForkGuard
from fairlead.worker.health import Health
from fairlead.worker.pace import Pace
from fairlead.worker.runner import Run, Runner
from fairlead.worker.settler import Settler

TURN = 0.005  # seconds, after which a runner lets the event loop do other things
PATIENCE = 1.0  # seconds within which jobs that were claimed ahead should start
FOREVER = float("inf")
SUCCEEDED = Ending.SUCCEEDED
NO_POLICIES = Policies()

_log = logging.getLogger("fairlead")

End = tuple[Claim, Outcome, float, float]  # of a run: its claim and outcome, when it began and when it ended


class Slots:
    """Starts claimed jobs as slots become free."""

    def __init__(
        self,
        size: int,
        registry: Registry,
        runner: Runner,
        settler: Settler,
        health: Health,
        usage: SlotUsage,
        view: ControlView,
        telemetry: Telemetry,
    ) -> None:
        self.size = size
        self.running: set[Run] = set()
        self.waiting: deque[Claim] = deque()
        self.freed = asyncio.Event()  # a run has ended since somebody looked
        self.pace = Pace()
        self._registry = registry
        self._runner = runner
        self._settler = settler
        self._health = health
        self._usage = usage
        self._view = view
        self._terms = Terms(view.known)
        view.watchers.append(self._terms.follow)
        self._telemetry = telemetry
        self._lost: list[Run] = []
        self._random = Random()
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()  # of a runner between two runs
        self._context.run(current_claim.set, None)
        self._fork_guard = ForkGuard()
        self._is_runner_coming = False
        self._turn_ends = 0.0
        self._begun: list[tuple[str, float]] = []  # in this turn: the pool, and how long the job had waited
        self._ended: list[End] = []  # in this turn
        self._starts = 0  # since somebody looked whether jobs start soon enough
        self._looked_at = time.monotonic()

    @property
    def capacity(self) -> int:
        """The slots that are not lost."""
        return self.size - len(self._lost)

    @property
    def free(self) -> int:
        """How many jobs to claim: for free slots, and for slots that will be free in moments.

        At most half of what this worker may hold, so that the next claim is on its way while these jobs run.
        """
        most = self.capacity + self.pace.allowance(self.capacity)
        return min(most - self.taken, max(self.capacity, most // 2))

    @property
    def lost(self) -> int:
        """The slots taken up by handlers that do not stop."""
        return len(self._lost)

    @property
    def taken(self) -> int:
        """How many jobs are in this worker's hands."""
        return len(self.running) + len(self.waiting)

    def count(self, pool: str) -> int:
        """How many jobs of a pool are in this worker's hands."""
        running = sum(run.claim.lane.pool == pool for run in self.running)
        return running + sum(claim.lane.pool == pool for claim in self.waiting)

    def times(self) -> Iterator[tuple[Lane, float]]:
        """The lane of each job in this worker's hands, and for how long it has run."""
        now = time.monotonic()
        for run in self.running:
            yield run.claim.lane, now - run.started
        for claim in self.waiting:
            yield claim.lane, 0.0

    def admit(self, claims: list[Claim]) -> None:
        """Start the jobs, or hold them until a slot is free."""
        self.waiting.extend(claims)
        if len({claim.lane.tenant for claim in self.waiting}) > 1:
            self.waiting = round_robin(self.waiting)
        self._call_runner()

    def stop_overdue(self, now: float) -> None:
        """Stop the handlers whose time is up, and go on without those that do not stop."""
        self._fork_guard.end_copy()
        for run in list(self.running):
            if now > self._deadline(run):
                run.stop(Ending.TIMED_OUT if run.claim.cancel is None else Ending.CANCELLED)
            if run.ignores_stop(now):
                self._end(run, run.outcome_of_stop(), now)
        if any(run.is_over for run in self._lost):
            self._lost = [run for run in self._lost if not run.is_over]
            self._call_runner()
            self.freed.set()

    def cancel(self, requests: Mapping[tuple[str, int], CancelRequest]) -> None:
        """Cancel jobs on request: those that have not started at once, handlers with their grace."""
        for run in list(self.running):
            request = requests.get((run.claim.id, run.claim.fence))
            if request is not None and request != run.claim.cancel:
                self._deadline(run)
                run.cancel(request)
                lane = run.claim.lane
                self._telemetry.emit(CancelAsked(run.claim.id, lane.type, lane.tenant, *request))
        waiting, self.waiting = self.waiting, deque()
        for claim in waiting:
            request = requests.get((claim.id, claim.fence))
            if request is None:
                self.waiting.append(claim)
            else:
                self._settle([(claim._replace(cancel=request), Outcome(Ending.CANCELLED), 0.0)])

    def release_waiting(self) -> None:
        """Give back the jobs that have not started."""
        self._release(len(self.waiting))

    def release_late(self, now: float) -> None:
        """Give back the jobs claimed ahead that will not start soon at the present pace, for others to take."""
        if now - self._looked_at >= PATIENCE:
            starts, self._starts, self._looked_at = self._starts, 0, now
            self._release(min(len(self.waiting), self.taken - self.capacity - starts))

    def stop_all(self, reason: Ending) -> None:
        """Stop every handler."""
        for run in list(self.running):
            run.stop(reason)

    def give_up_all(self, reason: Ending) -> None:
        """Settle the jobs of handlers that do not stop, threads above all, as if they had."""
        for run in list(self.running):
            self._end(run, Outcome(reason), time.monotonic())

    def _release(self, count: int) -> None:
        """Give back so many of the jobs that wait, the last ones first."""
        if count > 0:
            self._settle([(self.waiting.pop(), Outcome(Ending.RELEASED), 0.0) for _ in range(count)])

    def _call_runner(self) -> None:
        """Have the event loop start a runner, if there is a job and a slot for it."""
        if self.waiting and not self._is_runner_coming and len(self.running) < self.capacity:
            self._is_runner_coming = True
            self._loop.create_task(self._run_jobs(), context=self._context.copy())

    async def _run_jobs(self) -> None:
        """A runner: run jobs until none waits or the turn is over; then leave the rest to the next runner."""
        self._is_runner_coming = False
        task, now = asyncio.current_task(), time.monotonic()
        assert task is not None
        self._turn_ends = now + TURN
        while self.waiting and len(self.running) < self.capacity:
            run = self._begin(self.waiting.popleft(), task, now)
            self._call_runner()
            try:
                outcome = await self._runner.run(run)
            except BaseException:  # a defect of Fairlead: it costs this run and keeps nobody else waiting
                self.running.discard(run)
                self._call_runner()
                raise
            current_claim.set(None)
            self._fork_guard.end_copy()
            run.has_ended = True
            now = time.monotonic()
            self._end(run, outcome, now)
            if now > self._turn_ends or task.cancelling() or self._has_changed_context():
                break
        self._call_runner()

    def _has_changed_context(self) -> bool:
        """Whether the context variables differ from the worker's; so do values that cannot be compared."""
        try:
            return copy_context() != self._context
        except Exception:
            return True

    def _begin(self, claim: Claim, task: "asyncio.Task[None] | None", now: float) -> Run:
        run = Run(claim, self._registry[claim.lane.type], task, now)
        self.running.add(run)
        self._plan_end_of_turn()
        waited = max(0.0, now + self._view.ahead - claim.ready_at)
        self._begun.append((claim.lane.pool, waited))
        if self._telemetry:
            self._telemetry.emit(JobStarted(claim.id, claim.lane.type, claim.lane.tenant, claim.attempt, waited))
        return run

    def _end(self, run: Run, outcome: Outcome, now: float) -> None:
        """Take a run out of its slot, unless its job was settled without it."""
        if run not in self.running:
            return
        self.running.discard(run)
        self._plan_end_of_turn()
        self._ended.append((run.claim, outcome, run.started, now))
        if not run.is_over:
            self._lost.append(run)
            lane = run.claim.lane
            self._telemetry.emit(ThreadLost(run.claim.id, lane.type, lane.tenant, len(self._lost)))

    def _plan_end_of_turn(self) -> None:
        if not self._begun and not self._ended:
            self._loop.call_soon(self.end_turn)

    async def settled(self) -> None:
        """Wait until the end of every run is stored."""
        self.end_turn()
        await self._settler.flushed()

    def end_turn(self) -> None:
        """Account for the runs that have begun and ended in this turn of the event loop, and settle the ended."""
        self._fork_guard.end_copy()
        begun, self._begun = self._begun, []
        ended, self._ended = self._ended, []
        self._starts += len(begun)
        self._usage.waits.begun(begun)
        if ended:
            self._usage.ended([(claim.lane, end - start) for claim, _, start, end in ended])
            self._settle((claim, outcome, end - start) for claim, outcome, start, end in ended)
            self.pace.ended(len(ended), self.taken)
            self.freed.set()

    def _settle(self, ends: Iterable[tuple[Claim, Outcome, float]]) -> None:
        """Decide what becomes of jobs that ran so long, and have it stored."""
        stored: list[Settlement] = []
        decided: list[Settlement] = []
        for claim, outcome, ran in ends:
            try:
                (decided if outcome.stored is None else stored).append(self._decide(claim, outcome, ran))
            except Exception:  # a defect of Fairlead: it costs this job its lease's time, and no other
                _log.exception("the end of job %s could not be decided", claim.id)
        self._settler.add(decided)
        if stored:
            self._settler.stored(stored)

    def _decide(self, claim: Claim, outcome: Outcome, ran: float) -> Settlement:
        adjustment, policies = None, NO_POLICIES
        if outcome.ending is SUCCEEDED:
            self._health.succeeded(claim)
        else:
            left = None if claim.time_left is None else claim.time_left - ran
            claim = claim._replace(age=claim.age + ran, time_left=left)
            adjustment = self._health.failed(claim, outcome)
            policies = self._terms.of(claim, self._registry[claim.lane.type]).policies
        settlement = outcome.stored or settle(claim, outcome, policies, self._random, adjustment)
        if adjustment is not None:
            self._health.decided(claim, adjustment, settlement)
        if settlement.error is not None:
            tell_failure(self._telemetry, claim, settlement)
        if self._telemetry:
            self._tell_end(claim, settlement, ran)
        return settlement

    def _tell_end(self, claim: Claim, settlement: Settlement, ran: float) -> None:
        lane, error = claim.lane, settlement.error
        if settlement.ending is Ending.EXPIRED:
            self._telemetry.emit(LateExecution(claim.id, lane.type, lane.tenant, -(claim.time_left or 0.0)))
        self._telemetry.emit(
            JobEnded(
                job=claim.id,
                type=lane.type,
                tenant=lane.tenant,
                state=settlement.state,
                ending=settlement.ending,
                attempt=claim.attempt,
                ran=ran,
                error=error.message if error else None,
            )
        )

    def _deadline(self, run: Run) -> float:
        """When the run's timeout is over."""
        if run.deadline is None:
            timeout = self._terms.of(run.claim, run.spec).timeout
            run.deadline = FOREVER if timeout is None else run.started + timeout
        return run.deadline


class Terms:
    """The timeout and the retry policies of jobs, as type, pool and the job's own options have them."""

    def __init__(self, controls: Controls) -> None:
        self._pools = Pools(controls)
        self._known: dict[tuple[str, str], TypeTerms] = {}

    def follow(self, kinds: frozenset[str]) -> None:
        """Controls of these kinds have changed."""
        if POOL in kinds:
            self._known.clear()

    def of(self, claim: Claim, spec: HandlerSpec) -> TypeTerms:
        """The terms of one job."""
        key = (spec.name, claim.lane.pool)
        found = self._known.get(key)
        if found is None:
            pool = self._pools.get(claim.lane.pool)
            found = self._known[key] = terms_in(pool, spec.timeout, spec.policies, spec.usual_retry)
        return found if claim.options is None else TypeTerms(*overridden(claim.options, *found))


def round_robin(claims: Iterable[Claim]) -> deque[Claim]:
    """Interleave claims by tenant, each tenant's own in their order."""
    by_tenant: dict[str, deque[Claim]] = {}
    for claim in claims:
        by_tenant.setdefault(claim.lane.tenant, deque()).append(claim)
    ordered: deque[Claim] = deque()
    while by_tenant:
        for tenant, own in list(by_tenant.items()):
            ordered.append(own.popleft())
            if not own:
                del by_tenant[tenant]
    return ordered
