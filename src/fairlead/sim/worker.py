"""A worker in virtual time, with its own view of the lanes, its own queue and its own estimates.

It uses the FairQueue, SlotUsage and Estimates of real workers. It reads the lanes every `view` seconds, and in between
learns of lanes that have become non-empty. Every `settle` seconds it corrects its charges by real run times, sooner
where the cost of some jobs was a guess. Every `tell` seconds it exchanges its charges with the other workers through
the pool, and before starting long jobs up to 25 times as often. It claims within `claim_gap` after a slot became free.
"""

from collections.abc import Callable
from random import Random

from fairlead.core.fairness.estimates import LONG, Estimates
from fairlead.core.fairness.queue import FairQueue, Grant
from fairlead.core.fairness.tenancy import Tenant
from fairlead.core.fairness.usage import SlotUsage
from fairlead.core.jobs.model import ActiveLane
from fairlead.core.jobs.pools import Pool
from fairlead.sim.event_queue import EventQueue
from fairlead.sim.pool import EndlessQueue, Queue, SimulatedPool
from fairlead.sim.scenario import PoolPlan

HINT_GAP = 0.02  # hints are not sent more often
NEVER = float("inf")
FEW = 64  # tenants with work, up to which first jobs of a known type are announced, too
HASTE = 25  # before long jobs are started, charges are exchanged up to so many times as often
HURRY = 10  # charges of long jobs are exchanged up to so many times as often

Run = tuple[int, Queue, float]  # number, lane, start


class Worker:
    """Some slots of a pool."""

    def __init__(
        self,
        name: str,
        plan: PoolPlan,
        slots: int,
        waiting: SimulatedPool,
        events: EventQueue,
        idle: "dict[Worker, None]",
        tenant_of: Callable[[str], Tenant],
        rngs: Callable[[str], Random],
    ) -> None:
        self.free = slots
        self.queue = FairQueue(tenant_of)
        self.queue.differ(name)
        pool = Pool(waiting.pool, estimate=plan.estimate)
        self.estimates = Estimates(lambda name: pool)
        self.tally = SlotUsage(self.estimates)
        self._running: dict[int, tuple[Queue, float]] = {}
        self._started = 0
        self._plan = plan
        self._pool = waiting
        self._events = events
        self._idle = idle
        self._rngs = rngs
        self._due = False
        self._looked_at = self._heard_at = -1e9
        self._settled_at = self._told_at = 0.0
        self._announced_at = -1e9
        self._tells_at = NEVER
        self._hurry = False
        self._announced = frozenset[int]()  # lanes whose charges other workers know before the claim
        self._news = 0
        self._version = 0

    def wake(self, now: float) -> None:
        """Claim soon."""
        if not self._due:
            self._due = True
            self._idle.pop(self, None)
            self._events.add(now + self._plan.claim_gap, self._claim)

    def _claim(self, now: float, _: object) -> None:
        self._due = False
        self._announced = frozenset()
        if now - self._told_at >= self._plan.tell:
            self._exchange(now)
        self._settle_if_due(now)
        self._refresh(now)
        while self.free and self._pool.jobs and (self.queue or self._look_again(now)):
            # A real worker asks for all its slots and gives back the rest at once; this saves the simulation that step.
            slots = int(min(self.free, self._pool.jobs))
            for grant in self._allocate(slots, now):
                self._take(grant, now)
        self._plan_to_tell(now)
        if self.free:
            self._idle[self] = None

    def _allocate(self, slots: int, now: float) -> list[Grant]:
        """Allocate; where long jobs are among the grants, tell other workers and hear of theirs, and allocate again."""
        grants = self.queue.allocate(slots, self.estimates.of)
        if now < self._announced_at + self._plan.tell / HASTE or not self._are_long(grants):
            return grants
        self._announced_at = now
        self._exchange(now)
        self.queue.give_back_all((grant, grant.most) for grant in grants)
        self._announced = frozenset(grant.lane.id for grant in grants if grant.cost >= LONG)
        grants = self.queue.allocate(slots, self.estimates.of)
        self._hurry = self._hurry or not self._announced <= {grant.lane.id for grant in grants}
        return grants

    def _are_long(self, grants: list[Grant]) -> bool:
        contended = self._plan.workers > 1 and len(self.queue) > 1
        return contended and any(grant.cost >= LONG and self._is_announced(grant) for grant in grants)

    def _is_announced(self, grant: Grant) -> bool:
        if self.tally.has_jobs(grant.lane):
            return False
        if len(self.queue) > FEW:
            return not self.estimates.is_guess(grant.lane)
        return not self.estimates.is_unknown(grant.lane.type)

    def _refresh(self, now: float) -> None:
        if now - self._looked_at >= self._plan.view:
            self._look(now)
        elif now - self._heard_at >= HINT_GAP:
            self._hear_news(now)

    def _look(self, now: float) -> None:
        self._looked_at = self._heard_at = now
        self._news = len(self._pool.news)
        self.queue.update([queue.active for queue in self._pool.waiting.values()])

    def _hear_news(self, now: float) -> None:
        self._heard_at = now
        news = self._pool.news
        for queue in news[self._news :]:
            if queue:
                self.queue.add(queue.active)
        self._news = len(news)

    def _look_again(self, now: float) -> bool:
        """Read the lanes, since the view is empty; returns whether there is work."""
        self._look(now)
        return bool(self.queue)

    def _take(self, grant: Grant, now: float) -> None:
        queue, taken = self._pool.take(grant.lane.id, grant.most)
        for ready in taken:
            self._start(queue, ready, now)
        self.tally.started(grant.lane, len(taken), grant.cost)
        self._hurry = self._hurry or (bool(taken) and self._is_news(grant))
        if len(taken) < grant.most:
            self.queue.give_back(grant, len(taken))
            self.queue.drop(grant.lane)
        else:
            self.queue.add(ActiveLane(grant.lane, taken[-1]))

    def _is_news(self, grant: Grant) -> bool:
        is_long = grant.cost >= LONG and not self.estimates.is_guess(grant.lane)
        return is_long and grant.lane.id not in self._announced

    def _start(self, queue: Queue, ready: float, now: float) -> None:
        meter = queue.meter
        duration = queue.sample(self._rngs(meter.tenant.name))
        self.free -= 1
        meter.started(now)
        if type(queue) is not EndlessQueue:
            meter.waited(ready, now, duration)
        self._started += 1
        self._running[self._started] = (queue, now)
        self._events.add(now + duration, self._end, (self._started, queue, now))

    def _end(self, now: float, run: Run) -> None:
        number, queue, started = run
        del self._running[number]
        queue.meter.finished(now)
        self.free += 1
        self.tally.ended([(queue.lane, now - started)])
        self.wake(now)

    def _settle_if_due(self, now: float) -> None:
        """Correct charges by real run times."""
        if now - self._settled_at < self._plan.settle and not self.tally.knows_more:
            return
        self._settled_at = now
        usages = self.tally.settle((queue.lane, now - start) for queue, start in self._running.values())
        self.queue.correct_all((usage.lane, usage.charge, usage.unearned) for usage in usages)

    def _plan_to_tell(self, now: float) -> None:
        """Schedule the next exchange of charges: soon after long jobs were started, else after `tell` seconds."""
        hurries = self._hurry and self._plan.workers > 1
        pause = self._plan.tell / HURRY if hurries else self._plan.tell
        at = max(now, self._told_at + pause)
        self._hurry = False
        if self._running and at < self._tells_at:
            self._tells_at = at
            self._events.add(at, self._tell, at)

    def _tell(self, now: float, planned: float) -> None:
        """Exchange charges, unless that was done in the meantime."""
        if planned == self._tells_at:
            self._exchange(now)
            self._plan_to_tell(now)

    def _exchange(self, now: float) -> None:
        """Correct charges by real run times, publish them, and read those of the other workers."""
        self._told_at = now
        self._tells_at = NEVER
        self._settle_if_due(now)
        if self._plan.workers > 1:
            self._pool.charge(self.queue.tell())
            self.queue.hear(self._pool.balances(self._version))
            self._version = self._pool.version
