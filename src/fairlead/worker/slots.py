"""The slots of a worker: each holds one running job, and every end of a run becomes a settlement.

A handler is stopped by cancelling it. A thread goes on all the same, and so may a coroutine that swallows the
cancellation: after a grace period its job is settled without it, and the slot it takes up is lost until it ends.

Runs that never wait for anything take turns in one task, since a task of its own costs more than such a run. A type is
taken for quick after a run that did not wait, until one does; that one keeps the task, and the others go on in another.
Runs that succeed in such a spell are settled and accounted for together when it is over, which is milliseconds later.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from random import Random

from fairlead.core.fairness.usage import SlotUsage
from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.model import CancelRequest, Claim, Ending, Lane, Outcome, Settlement
from fairlead.core.jobs.settle import settle, succeed
from fairlead.core.protection.controls import Controls
from fairlead.handlers.spec import HandlerSpec, Registry
from fairlead.telemetry.events import CancelAsked, JobEnded, JobStarted, LateExecution, Telemetry
from fairlead.worker.containing import FROM_OUTSIDE
from fairlead.worker.failures import outcome_of
from fairlead.worker.health import Health
from fairlead.worker.lead import Waiting, lead
from fairlead.worker.lost import LostRuns
from fairlead.worker.runner import WELL, Runner
from fairlead.worker.running import ITS_OWN_DOING, Running
from fairlead.worker.settler import Settler
from fairlead.worker.spell import Spell, begun_of
from fairlead.worker.terms import Terms
from fairlead.worker.turns import in_turns

PATIENCE = 2.0  # seconds within which jobs that were claimed ahead should start
ANY = Policies()
SUCCEEDED = Ending.SUCCEEDED


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
        on_freed: Callable[[int], None],
        tally: SlotUsage | None = None,
        terms: Terms | None = None,
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
        self._tally = tally or SlotUsage()
        self._terms = terms or Terms(Controls())
        self._random = Random()
        self._quick: dict[str, HandlerSpec] = {}  # types whose last run did not wait
        self._shared: asyncio.Task[None] | None = None  # in which quick runs take turns
        self._ended = 0  # since somebody was told that slots are free
        self._begun = 0  # since somebody looked whether those that wait start soon
        self._looked_at = time.monotonic()
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
        """Start the jobs, or hold them until a slot is free; of those that have to wait, tenants take turns."""
        self.waiting.extend(claims)
        if len(self.waiting) > self.capacity - len(self.running):
            self.waiting = in_turns(self.waiting)
        self._fill()

    def stop_overdue(self, now: float) -> None:
        """Stop the handlers whose time is up, and go on without those that do not stop."""
        for running in list(self.running.values()):
            if running.deadline is not None and now > running.deadline:
                running.stop(Ending.TIMED_OUT if running.claim.cancel is None else Ending.CANCELLED)
            if running.does_not_stop(now):
                self._lose(running, running.outcome_of_stop())
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
        self._release(len(self.waiting))

    def give_back_late(self, now: float) -> None:
        """Give back the jobs claimed ahead that will not start soon at the present pace, for others to take."""
        if now - self._looked_at < PATIENCE:
            return
        begun, self._begun, self._looked_at = self._begun, 0, now
        self._release(min(len(self.waiting), self.taken - self.capacity - begun))

    def _release(self, count: int) -> None:
        """Give back so many of those that wait, the last ones first."""
        for _ in range(count):
            self._settle(self.waiting.pop(), Outcome(Ending.RELEASED), ANY)

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
        self._settle(running.claim, outcome, running.policies(self._terms), running.started)
        if running.task is not None:
            self.lost.add(running.claim, running.task.done)

    def _resize(self) -> None:
        """What lost handlers take up is not handed out."""
        self.capacity = self.size - len(self.lost)
        self._fill()
        self._on_freed(0)

    def _fill(self) -> None:
        """Start what there are slots for."""
        while self.waiting and len(self.running) < self.capacity:
            if self.waiting[0].lane.type in self._quick:
                self._share()
                return
            self._start(self.waiting.popleft())

    def _share(self) -> None:
        """Have quick runs take turns."""
        if self._shared is None:
            self._shared = self._loop.create_task(self._take_turns())

    async def _take_turns(self) -> None:
        """Run what there is in spells; a run that waits has kept the task when it ends."""
        task = self._shared
        assert task is not None
        try:
            while self._shared is task and self.waiting and len(self.running) < self.capacity:
                stayed = self._take_spell(task)
                if stayed is not None:
                    running, rest = stayed
                    self._end(running, await self._go_through(running, rest))
                if task.cancelling():  # by itself
                    break
                self._tell_freed()
                await asyncio.sleep(0)
        finally:
            if self._shared is task:
                self._shared = None
            self._go_on()

    def _take_spell(self, task: asyncio.Task[None]) -> tuple[Running, Waiting[Outcome | None]] | None:
        """Run quick jobs one after the other, until the spell is over or one of them waits, which is returned."""
        spell = Spell(time.monotonic(), task)
        try:
            while not spell.is_over:
                rest = lead(self._run_on(spell))
                if isinstance(rest, Waiting):
                    spell.is_left = True
                    return spell.running(), rest
            return None
        finally:
            self._begun += len(spell.claims)
            self._tally.waits.begun_alike(spell.runs, spell.begun)
            self._end_well(spell)

    async def _run_on(self, spell: Spell) -> Outcome | None:
        """Run quick jobs in one coroutine, since one for each would cost more than a run that does nothing.

        When one of them has to wait, the others go on in another: this one returns what it ended in. What a run sets in
        context variables stays with it: the one after it begins in a coroutine with a context of its own.
        """
        waiting, task, last, spec = self.waiting, spell.task, None, None
        telling, given, runner = bool(self._telemetry), copy_context(), self._runner
        now, until = spell.instants[-1], spell.until
        while waiting and now < until and not task.cancelling():
            claim = waiting.popleft()
            if claim.lane is not last:
                last, spec = claim.lane, self._quick.get(claim.lane.type)
                load = None if spec is None else spec.loading(claim.lane.version)
                if load is not None:
                    spell.turn_to(last)
            if spec is None or load is None:
                last = None
                self._start(claim)
                if len(self.running) >= self.capacity:
                    break
                continue
            if telling:
                self._tell_start(claim)
            spell.claims.append(claim)
            spell.spec, spell.record = spec, None
            try:
                if spec.is_bare and claim.time_left is None:
                    result = await spec.function(**load(claim.payload))
                    outcome = WELL if result is None else runner.succeeded(result)
                else:
                    outcome = await runner.run(claim, spec, spell.running())
            except asyncio.CancelledError:
                if spell.is_left:
                    raise
                outcome = ITS_OWN_DOING
            except FROM_OUTSIDE:
                raise
            except BaseException as error:
                outcome = outcome_of(error, spec)
            if spell.is_left:
                return outcome
            now = time.monotonic()
            spell.instants.append(now)
            if outcome is WELL and not telling:
                spell.results.append(None)
            elif outcome.ending is SUCCEEDED and outcome.stored is None and not telling:
                spell.results.append(outcome.result)
            else:  # what went well before it counts before it
                self._end_well(spell)
                spell.taken += 1
                self._end(spell.running(), outcome)
            if copy_context() != given:
                return None
        spell.is_over = True
        return None

    def _end_well(self, spell: Spell) -> None:
        """Settle runs of a spell that succeeded, each with its result."""
        claims, results, took = spell.take_well()
        if not claims:
            return
        self._ended += len(claims)
        self._health.ended_well(claims, spell.only_lane)
        self._settler.add(succeed(claims, results))
        if spell.only_lane is not None:
            self._tally.ended_alike(spell.only_lane, took)
        else:
            self._tally.ended([(claim.lane, ran) for claim, ran in zip(claims, took, strict=True)])

    def _start(self, claim: Claim) -> None:
        """Run a job in a task of its own."""
        running = Running(claim, self._registry[claim.lane.type], time.monotonic())
        self._enter(running)
        running.task = self._loop.create_task(self._run_alone(running))

    async def _run_alone(self, running: Running) -> None:
        claim = running.claim
        self._tally.waits.begun([begun_of(claim, running.started)])
        outcome = self._begin(running)
        if isinstance(outcome, Waiting):
            outcome = await self._go_through(running, outcome)
        else:
            self._quick[running.spec.name] = running.spec
        self._end(running, outcome)
        self._go_on()

    def _enter(self, running: Running) -> None:
        running.agree(self._terms)
        self.running[running.claim.id, running.claim.fence] = running

    async def _go_through(self, running: Running, rest: Waiting[Outcome] | Waiting[Outcome | None]) -> Outcome:
        """A run waits: if it was its turn, the task is now its own, and others share another."""
        self._quick.pop(running.spec.name, None)
        if running.task is self._shared:
            self._shared = None
            self._enter(running)
            self._go_on()
        try:
            outcome = await rest
        except asyncio.CancelledError:
            return running.outcome_of_stop()
        assert outcome is not None
        return outcome

    def _go_on(self) -> None:
        """Start what there is room for, and tell how many runs have ended."""
        if self.waiting:
            self._fill()
        self._tell_freed()

    def _tell_freed(self) -> None:
        ended, self._ended = self._ended, 0
        if ended:
            self._on_freed(ended)

    def _begin(self, running: Running) -> Outcome | Waiting[Outcome]:
        """Run a job up to where it waits for the first time."""
        self._begun += 1
        if self._telemetry:
            self._tell_start(running.claim)
        try:
            return self._runner.begin(running.claim, running.spec, running)
        except asyncio.CancelledError:
            return running.outcome_of_stop()

    def _tell_start(self, claim: Claim) -> None:
        waited = max(0.0, time.time() - claim.ready_at)
        self._telemetry.emit(JobStarted(claim.id, claim.lane.type, claim.lane.tenant, claim.attempt, waited))

    def _end(self, running: Running, outcome: Outcome) -> None:
        """Settle a run, unless that was done without it."""
        self._ended += 1
        claim = running.claim
        if running.task is not self._shared and self.running.pop((claim.id, claim.fence), None) is None:
            return
        policies = ANY if outcome.ending is SUCCEEDED else running.policies(self._terms)
        self._settle(claim, outcome, policies, running.started)

    def _settle(self, claim: Claim, outcome: Outcome, policies: Policies, started: float | None = None) -> None:
        ran = 0.0 if started is None else time.monotonic() - started
        if outcome.ending is not SUCCEEDED and started is not None:
            claim = claim._replace(age=claim.age + ran)
            if outcome.ending is Ending.EXPIRED:
                late_by = -(claim.time_left or 0.0)
                self._telemetry.emit(LateExecution(claim.id, claim.lane.type, claim.lane.tenant, late_by))
        adjustment = self._health.ended(claim, outcome)
        if outcome.stored is None:
            settlement = settle(claim, outcome, policies, self._random, adjustment)
            self._settler.add([settlement])
        else:
            settlement = outcome.stored
            self._settler.count([settlement])
        if adjustment is not None:
            self._health.decided(claim, adjustment, settlement)
        if started is not None:
            self._tally.ended([(claim.lane, ran)])
        if self._telemetry:
            self._tell_end(claim, settlement, ran)

    def _tell_end(self, claim: Claim, settlement: Settlement, ran: float) -> None:
        self._telemetry.emit(
            JobEnded(
                job=claim.id,
                type=claim.lane.type,
                tenant=claim.lane.tenant,
                state=settlement.state,
                ending=settlement.ending,
                attempt=claim.attempt,
                ran=ran,
                error=settlement.error.message if settlement.error else None,
            )
        )
