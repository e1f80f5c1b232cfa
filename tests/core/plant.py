"""A plant in virtual time: slots, tenants with endless or timed work, and the real fair queue between them."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from fairlead.core.fairness.queue import FairQueue
from fairlead.core.fairness.tenancy import Tenant
from fairlead.core.fairness.usage import SlotUsage
from fairlead.core.jobs.model import ActiveLane, Lane, Priority

SETTLE_EVERY = 0.25


@dataclass
class Source:
    """A tenant's work: one type, jobs of one length after the other, from `begin` on until there are no more."""

    tenant: Tenant
    lengths: Iterator[float]
    begin: float = 0.0
    priority: Priority = Priority.DEFAULT
    jobs: int | None = None
    pool: str = "default"

    @property
    def lane(self) -> Lane:
        return Lane(self.pool, self.tenant.name, f"work-{self.tenant.name}", self.priority, 1)


@dataclass
class Plant:
    """Runs sources on slots; `delivered` counts slot-seconds from `measure_from` on."""

    slots: int
    sources: list[Source]
    settle_every: float = SETTLE_EVERY
    measure_from: float = 0.0
    now: float = 0.0
    delivered: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    started: Counter[int] = field(default_factory=Counter)
    always_new: set[int] = field(default_factory=set)  # lanes whose first job has just become ready, whenever one looks
    idle_while_waiting: float = 0.0

    def __post_init__(self) -> None:
        tenants = {source.tenant.name: source.tenant for source in self.sources}
        self.queue = FairQueue(tenants.__getitem__)
        self.tally = SlotUsage()
        self.estimates = self.tally.estimates
        self._running: dict[int, tuple[Lane, float]] = {}
        self._by_lane = {source.lane.id: source for source in self.sources}
        self._left = {source.lane.id: source.jobs for source in self.sources}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def run(self, until: float) -> Mapping[str, float]:
        """Run to that instant; returns the slot-seconds delivered to each tenant."""
        for source in self.sources:
            self._at(source.begin, partial(self.queue.add, ActiveLane(source.lane, source.begin)))
        self._at(self.settle_every, self._settle)
        while self._events and self._events[0][0] <= until:
            at, _, act = heapq.heappop(self._events)
            if self.queue:
                self.idle_while_waiting += (self.slots - len(self._running)) * (at - self.now)
            self.now = at
            act()
            if not self._events or self._events[0][0] > at:
                self._fill()
        self.now = until
        for lane, began in self._running.values():
            self._deliver(lane, began)
        return self.delivered

    def _fill(self) -> None:
        while (free := self.slots - len(self._running)) > 0 and self.queue:
            for grant in self.queue.allocate(free, self.estimates.of):
                left = self._left[grant.lane.id]
                taken = grant.most if left is None else min(left, grant.most)
                self.tally.started(grant.lane, taken, grant.cost)
                self._left[grant.lane.id] = None if left is None else left - taken
                if taken < grant.most:
                    self.queue.give_back(grant, taken)
                if taken < grant.most or left == taken:
                    self.queue.drop(grant.lane)
                elif grant.lane.id in self.always_new:
                    self.queue.add(ActiveLane(grant.lane, self.now))
                for _ in range(taken):
                    self._start(grant.lane)

    def _start(self, lane: Lane) -> None:
        source = self._by_lane[lane.id]
        number = next(self._numbers)
        self._running[number] = (lane, self.now)
        self.started[lane.id] += 1
        self._at(self.now + next(source.lengths), lambda: self._end(number))

    def _end(self, number: int) -> None:
        lane, began = self._running.pop(number)
        self.tally.ended([(lane, self.now - began)])
        self._deliver(lane, began)

    def _deliver(self, lane: Lane, began: float) -> None:
        self.delivered[lane.tenant] += max(0.0, self.now - max(began, self.measure_from))

    def _settle(self) -> None:
        for usage in self.tally.settle((lane, self.now - began) for lane, began in self._running.values()):
            self.queue.correct(usage.lane, usage.charge, usage.unearned)
        self._at(self.now + self.settle_every, self._settle)

    def _at(self, moment: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._numbers), act))
