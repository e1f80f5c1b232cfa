"""A worker in virtual time: its own view of the lanes, its own idea of whose turn it is, its own estimates.

It runs the same FairQueue, SlotUsage and Estimates as a real one. It looks at the lanes every `view` seconds, and in
between hears of lanes that got their first job. Every `tell` seconds it settles what its jobs really took, tells the
store what it charged, and hears what the others told; until then each decides by what it knew before. Where it has
begun long jobs it tells so at once, up to ten times as often. After a slot became free it claims within
`claim_gap`, together with what became free meanwhile.
"""

from collections.abc import Callable
from random import Random

from fairlead.core.fairness.estimates import Estimates
from fairlead.core.fairness.queue import FairQueue, Grant
from fairlead.core.fairness.tenancy import Tenant
from fairlead.core.fairness.usage import SlotUsage
from fairlead.core.jobs.model import ActiveLane
from fairlead.core.jobs.pools import Pool
from fairlead.sim.agenda import Agenda
from fairlead.sim.scenario import PoolPlan
from fairlead.sim.yard import EndlessQueue, Queue, Yard
from fairlead.worker.claimer import LONG

HINT_GAP = 0.02  # hints are not sent more often
NEVER = float("inf")
HURRY = 10  # times as often as otherwise charges are told, at most, where there are long jobs among them

Run = tuple[int, Queue, float]  # its number, the lane, the start


class Worker:
    """Some slots of a pool."""

    def __init__(
        self,
        name: str,
        plan: PoolPlan,
        slots: int,
        yard: Yard,
        agenda: Agenda,
        idle: "dict[Worker, None]",
        tenant_of: Callable[[str], Tenant],
        rngs: Callable[[str], Random],
    ) -> None:
        self.free = slots
        self.queue = FairQueue(tenant_of)
        self.queue.differ(name)
        pool = Pool(yard.pool, estimate=plan.estimate)
        self.estimates = Estimates(lambda name: pool)
        self.tally = SlotUsage(self.estimates)
        self._running: dict[int, tuple[Queue, float]] = {}
        self._started = 0
        self._plan = plan
        self._yard = yard
        self._agenda = agenda
        self._idle = idle
        self._rngs = rngs
        self._due = False
        self._looked_at = self._heard_at = -1e9
        self._settled_at = self._told_at = 0.0
        self._tells_at = NEVER
        self._hurry = False
        self._news = 0
        self._version = 0

    def wake(self, now: float) -> None:
        """Claim soon."""
        if not self._due:
            self._due = True
            self._idle.pop(self, None)
            self._agenda.add(now + self._plan.claim_gap, self._claim)

    def _claim(self, now: float, _: object) -> None:
        self._due = False
        if now - self._told_at >= self._plan.tell:
            self._keep_in_step(now)
        self._refresh(now)
        while self.free and self._yard.jobs and (self.queue or self._look_again(now)):
            # More than there is would be given back at once; a real worker does not know, and does just that.
            slots = int(min(self.free, self._yard.jobs))
            for grant in self.queue.allocate(slots, self.estimates.of):
                self._take(grant, now)
        self._plan_to_tell(now)
        if self.free:
            self._idle[self] = None

    def _refresh(self, now: float) -> None:
        if now - self._looked_at >= self._plan.view:
            self._look(now)
        elif now - self._heard_at >= HINT_GAP:
            self._hear_news(now)

    def _look(self, now: float) -> None:
        self._looked_at = self._heard_at = now
        self._news = len(self._yard.news)
        self.queue.update([queue.active for queue in self._yard.waiting.values()])

    def _hear_news(self, now: float) -> None:
        self._heard_at = now
        news = self._yard.news
        for queue in news[self._news :]:
            if queue:
                self.queue.add(queue.active)
        self._news = len(news)

    def _look_again(self, now: float) -> bool:
        """There is work, although the view has run empty."""
        self._look(now)
        return bool(self.queue)

    def _take(self, grant: Grant, now: float) -> None:
        queue, taken = self._yard.take(grant.lane.id, grant.most)
        for ready in taken:
            self._start(queue, ready, now)
        self.tally.started(grant.lane, len(taken), grant.cost)
        self._hurry = self._hurry or (grant.cost >= LONG and bool(taken))
        if len(taken) < grant.most:
            self.queue.give_back(grant, len(taken))
            self.queue.drop(grant.lane)
        else:
            self.queue.add(ActiveLane(grant.lane, taken[-1]))

    def _start(self, queue: Queue, ready: float, now: float) -> None:
        meter = queue.meter
        duration = queue.sample(self._rngs(meter.tenant.name))
        self.free -= 1
        meter.started(now)
        if type(queue) is not EndlessQueue:
            meter.waited(ready, now, duration)
        self._started += 1
        self._running[self._started] = (queue, now)
        self._agenda.add(now + duration, self._end, (self._started, queue, now))

    def _end(self, now: float, run: Run) -> None:
        number, queue, started = run
        del self._running[number]
        queue.meter.finished(now)
        self.free += 1
        self.tally.ended([(queue.lane, now - started)])
        self.wake(now)

    def _plan_to_tell(self, now: float) -> None:
        """Long jobs that were begun are told at once, or as soon as it may be told again; all else in a while."""
        hurries = self._hurry and self._plan.workers > 1
        pause = self._plan.tell / HURRY if hurries else self._plan.tell
        at = max(now, self._told_at + pause)
        self._hurry = False
        if self._running and at < self._tells_at:
            self._tells_at = at
            self._agenda.add(at, self._tell, at)

    def _tell(self, now: float, planned: float) -> None:
        """Keep in step, unless that was done in the meantime."""
        if planned == self._tells_at:
            self._keep_in_step(now)
            self._plan_to_tell(now)

    def _keep_in_step(self, now: float) -> None:
        """Charge what jobs took beyond what they were charged, or give it back; tell it, and hear what others told."""
        self._told_at = now
        self._tells_at = NEVER
        if now - self._settled_at >= self._plan.tell:
            self._settled_at = now
            usages = self.tally.settle((queue.lane, now - start) for queue, start in self._running.values())
            self.queue.correct_all((usage.lane, usage.charge, usage.unearned) for usage in usages)
        if self._plan.workers > 1:
            self._yard.told(self.queue.tell())
            self.queue.hear(self._yard.balances(self._version))
            self._version = self._yard.version
