"""Simulates one pool. Pools share no workers and no balances, so each has its own load and its own length."""

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from fairlead.core.fairness.tenancy import Tenant
from fairlead.sim.event_queue import EventQueue
from fairlead.sim.ledger import Ledger, Meter
from fairlead.sim.load import Arrival, Sampler, arrivals, sampler
from fairlead.sim.pool import EndlessQueue, Queue, SimulatedPool
from fairlead.sim.population import Member, pick, population
from fairlead.sim.scenario import Scenario
from fairlead.sim.worker import Worker


class Source:
    """A tenant's stream of submissions."""

    def __init__(self, member: Member, queues: list[Queue], stream: Iterator[Arrival], rng: Random) -> None:
        self.queues = queues
        self.stream = stream
        self._rng = rng
        self._bounds = member.chooser()

    def queue(self) -> Queue:
        """Draw the lane of the next job."""
        return self.queues[pick(self._bounds, self._rng)] if self._bounds else self.queues[0]

    def split(self, count: int) -> Iterator[tuple[Queue, int]]:
        """Divide many jobs over the lanes by their parts."""
        bounds = [0, *(round(bound * count) for bound in self._bounds), count]
        for queue, first, last in zip(self.queues, bounds, bounds[1:], strict=False):
            if last > first:
                yield queue, last - first


class Engine:
    """The simulation of a pool."""

    def __init__(self, scenario: Scenario, pool: str) -> None:
        self.plan = scenario.pools[pool]
        self.length = scenario.length_of(pool)
        self.events = EventQueue()
        self.pool = SimulatedPool(pool)
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
            self._add_tenant(member)
        self.workers = [self._worker(*slots, tenants.__getitem__) for slots in enumerate(self._slots())]
        warm_up = scenario.warm_up_of(pool)
        self.ledger = Ledger(self.meters, self.pool.waiting, self.plan.simulated_slots, warm_up)
        step = (self.length - warm_up) / self.plan.steps
        for number in range(self.plan.steps + 1):
            self.events.add(warm_up + number * step, self.ledger.step)

    def run(self) -> Ledger:
        """Run the simulation to its end."""
        for worker in self.workers:
            worker.wake(0.0)
        self.events.run(self.length)
        return self.ledger

    def _slots(self) -> list[int]:
        each, rest = divmod(self.plan.simulated_slots, self.plan.workers)
        return [each + (number < rest) for number in range(self.plan.workers)]

    def _worker(self, number: int, slots: int, tenant_of: Callable[[str], Tenant]) -> Worker:
        return Worker(f"worker-{number}", self.plan, slots, self.pool, self.events, self.idle, tenant_of, self._rng_of)

    def _add_tenant(self, member: Member) -> None:
        """Add a tenant with its lanes and its submissions."""
        meter = Meter(member.tenant)
        endless = member.plan.pattern == "backlog"
        queues = [self._queue(member, number, meter, endless) for number in range(len(member.streams))]
        self.meters.append(meter)
        self.own_queues.append(queues)
        self.job_times.append(
            sum(stream.part * queue.mean for stream, queue in zip(member.streams, queues, strict=True))
        )
        for queue in queues:
            self.pool.add(queue)
            if endless:
                self.events.add(member.plan.begin, self._announce, queue)
                if member.plan.end is not None:
                    self.events.add(member.plan.end, self._withdraw, queue)
        rng = Random(f"{self._seed}/{member.tenant.name}/arrivals")
        stream = arrivals(member.plan, member.rate, member.jobs, rng)
        self._expect(Source(member, queues, stream, rng))

    def _queue(self, member: Member, number: int, meter: Meter, endless: bool) -> Queue:
        stream = member.streams[number]
        own = member.plan.duration
        sample: Sampler = self._samplers[stream.type] if own is None else sampler(own)
        mean = self._means[stream.type] if own is None else own.mean
        if endless:
            return EndlessQueue(stream.lane, meter, sample, mean, member.plan.begin, stream.part)
        return Queue(stream.lane, meter, sample, mean)

    def _expect(self, source: Source) -> None:
        arrival = next(source.stream, None)
        if arrival is not None and arrival[0] < self.length:
            self.events.add(arrival[0], partial(self._arrive, source), arrival[1])

    def _arrive(self, source: Source, now: float, count: int) -> None:
        if count == 1:
            self.pool.submit(source.queue(), now)
        else:
            for queue, part in source.split(count):
                self.pool.submit(queue, now, part)
        self._hint(now, count)
        self._expect(source)

    def _announce(self, now: float, queue: EndlessQueue) -> None:
        self.pool.open(queue)
        self._hint(now, self.plan.simulated_slots)

    def _withdraw(self, now: float, queue: EndlessQueue) -> None:
        self.pool.close(queue)

    def _hint(self, now: float, count: int) -> None:
        """Wake idle workers until they have slots for so many jobs."""
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
