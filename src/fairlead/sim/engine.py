"""One pool, from the first submission to the end of its time.

Pools share no workers and no accounts, so each is simulated alone, with its own part of the load and its own length.
"""

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from fairlead.core.fairness.tenancy import Tenant
from fairlead.sim.agenda import Agenda
from fairlead.sim.arrivals import Arrival, arrivals
from fairlead.sim.durations import Sampler, sampler
from fairlead.sim.ledger import Ledger
from fairlead.sim.meter import Meter
from fairlead.sim.population import Member, pick, population
from fairlead.sim.scenario import Scenario
from fairlead.sim.worker import Worker
from fairlead.sim.yard import EndlessQueue, Queue, Yard


class Source:
    """A tenant that submits."""

    def __init__(self, member: Member, queues: list[Queue], stream: Iterator[Arrival], rng: Random) -> None:
        self.queues = queues
        self.stream = stream
        self._rng = rng
        self._bounds = member.chooser()

    def queue(self) -> Queue:
        """The lane of the next job."""
        return self.queues[pick(self._bounds, self._rng)] if self._bounds else self.queues[0]

    def split(self, count: int) -> Iterator[tuple[Queue, int]]:
        """Many jobs at once, over the lanes by their parts."""
        bounds = [0, *(round(bound * count) for bound in self._bounds), count]
        for queue, first, last in zip(self.queues, bounds, bounds[1:], strict=False):
            if last > first:
                yield queue, last - first


class Engine:
    """The simulation of a pool."""

    def __init__(self, scenario: Scenario, pool: str) -> None:
        self.plan = scenario.pools[pool]
        self.length = scenario.length_of(pool)
        self.agenda = Agenda()
        self.yard = Yard(pool)
        self.idle: dict[Worker, None] = {}
        self._seed = f"{scenario.seed}/{pool}"
        self._rngs: dict[str, Random] = {}
        tenants: dict[str, Tenant] = {}
        self._samplers = {name: sampler(plan.duration) for name, plan in scenario.types.items()}
        self._means = {name: plan.duration.mean for name, plan in scenario.types.items()}
        self.meters: list[Meter] = []
        self.own_queues: list[list[Queue]] = []
        self.job_times: list[float] = []  # the mean of each tenant's jobs
        for member in population(scenario, pool):
            tenants[member.tenant.name] = member.tenant
            self._settle_in(member)
        self.workers = [self._worker(*slots, tenants.__getitem__) for slots in enumerate(self._slots())]
        warm_up = scenario.warm_up_of(pool)
        self.ledger = Ledger(self.meters, self.yard.waiting, self.plan.simulated_slots, warm_up)
        step = (self.length - warm_up) / self.plan.steps
        for number in range(self.plan.steps + 1):
            self.agenda.add(warm_up + number * step, self.ledger.step)

    def run(self) -> Ledger:
        """Simulate all of it."""
        for worker in self.workers:
            worker.wake(0.0)
        self.agenda.run(self.length)
        return self.ledger

    def _slots(self) -> list[int]:
        each, rest = divmod(self.plan.simulated_slots, self.plan.workers)
        return [each + (number < rest) for number in range(self.plan.workers)]

    def _worker(self, number: int, slots: int, tenant_of: Callable[[str], Tenant]) -> Worker:
        return Worker(f"worker-{number}", self.plan, slots, self.yard, self.agenda, self.idle, tenant_of, self._rng_of)

    def _settle_in(self, member: Member) -> None:
        """A tenant with its lanes and what it will submit."""
        meter = Meter(member.tenant)
        endless = member.plan.pattern == "backlog"
        queues = [self._queue(member, number, meter, endless) for number in range(len(member.streams))]
        self.meters.append(meter)
        self.own_queues.append(queues)
        self.job_times.append(sum(stream.part * self._means[stream.type] for stream in member.streams))
        for queue in queues:
            self.yard.add(queue)
            if endless:
                self.agenda.add(member.plan.begin, self._announce, queue)
                if member.plan.end is not None:
                    self.agenda.add(member.plan.end, self._withdraw, queue)
        rng = Random(f"{self._seed}/{member.tenant.name}/arrivals")
        stream = arrivals(member.plan, member.rate, member.jobs, rng)
        self._expect(Source(member, queues, stream, rng))

    def _queue(self, member: Member, number: int, meter: Meter, endless: bool) -> Queue:
        stream = member.streams[number]
        sample: Sampler = self._samplers[stream.type]
        mean = self._means[stream.type]
        if endless:
            return EndlessQueue(stream.lane, meter, sample, mean, member.plan.begin, stream.part)
        return Queue(stream.lane, meter, sample, mean)

    def _expect(self, source: Source) -> None:
        arrival = next(source.stream, None)
        if arrival is not None and arrival[0] < self.length:
            self.agenda.add(arrival[0], partial(self._arrive, source), arrival[1])

    def _arrive(self, source: Source, now: float, count: int) -> None:
        if count == 1:
            self.yard.submit(source.queue(), now)
        else:
            for queue, part in source.split(count):
                self.yard.submit(queue, now, part)
        self._hint(now, count)
        self._expect(source)

    def _announce(self, now: float, queue: EndlessQueue) -> None:
        self.yard.open(queue)
        self._hint(now, self.plan.simulated_slots)

    def _withdraw(self, now: float, queue: EndlessQueue) -> None:
        self.yard.close(queue)

    def _hint(self, now: float, count: int) -> None:
        """Idle workers wake up, as many as have slots for what has come."""
        idle = self.idle
        while idle and count > 0:
            worker = next(iter(idle))
            count -= worker.free
            worker.wake(now)

    def _rng_of(self, tenant: str) -> Random:
        rng = self._rngs.get(tenant)
        if rng is None:
            rng = self._rngs[tenant] = Random(f"{self._seed}/{tenant}/durations")
        return rng
