"""A pool in virtual time: waiting jobs by lane, and the tenants' balances that workers exchange (the store's part)."""

from collections import deque
from collections.abc import Iterable, Iterator

from fairlead.core.fairness.queue import Balance, Charge
from fairlead.core.jobs.model import ActiveLane, Lane
from fairlead.sim.ledger import Meter
from fairlead.sim.load import Sampler

INFINITY = float("inf")
ENDLESS_STEP = 1e-9  # seconds between the jobs of an endless lane, so that the lanes of one tenant take turns


class Queue:
    """A lane with the times at which its jobs became ready."""

    __slots__ = ("lane", "mean", "meter", "sample", "times")

    def __init__(self, lane: Lane, meter: Meter, sample: Sampler, mean: float) -> None:
        self.lane = lane
        self.meter = meter
        self.sample = sample
        self.mean = mean
        self.times: deque[float] = deque()

    def __len__(self) -> int:
        return len(self.times)

    @property
    def active(self) -> ActiveLane:
        """The lane as a worker sees it."""
        return ActiveLane(self.lane, self.times[0])

    @property
    def work(self) -> float:
        """The estimated slot-seconds of the waiting jobs."""
        return len(self.times) * self.mean

    def take(self, most: int) -> list[float]:
        """Take up to so many jobs, the oldest first; returns when they became ready."""
        times = self.times
        if most == 1:
            return [times.popleft()] if times else []
        return [times.popleft() for _ in range(min(most, len(times)))]


class EndlessQueue(Queue):
    """A lane that is never empty while it is open."""

    __slots__ = ("next", "open", "step")

    def __init__(self, lane: Lane, meter: Meter, sample: Sampler, mean: float, begin: float, part: float) -> None:
        super().__init__(lane, meter, sample, mean)
        self.next = begin
        self.step = ENDLESS_STEP / part
        self.open = False

    def __len__(self) -> int:
        return int(self.open)

    @property
    def active(self) -> ActiveLane:
        """The lane as a worker sees it."""
        return ActiveLane(self.lane, self.next)

    @property
    def work(self) -> float:
        """Unlimited."""
        return INFINITY

    def take(self, most: int) -> list[float]:
        """Take so many jobs."""
        if not self.open:
            return []
        first = self.next
        self.next += self.step * most
        return [first] * most


class SimulatedPool:
    """The lanes of a pool and the balances of its tenants."""

    def __init__(self, pool: str) -> None:
        self.pool = pool
        self.queues: dict[int, Queue] = {}
        self.waiting: dict[int, Queue] = {}  # lanes with jobs
        self.jobs = 0.0  # waiting jobs
        self.news: list[Queue] = []  # lanes in the order in which they became non-empty
        self._accounts: dict[str, tuple[int, Balance]] = {}  # in the order of their last change
        self.version = 0
        self._endless = 0

    def add(self, queue: Queue) -> None:
        """Add a lane."""
        self.queues[queue.lane.id] = queue

    def submit(self, queue: Queue, now: float, count: int = 1) -> None:
        """Make jobs ready."""
        if count == 1:
            queue.times.append(now)
        else:
            queue.times.extend([now] * count)
        self.jobs += count
        self._announce(queue)

    def open(self, queue: "EndlessQueue") -> None:
        """Open an endless lane."""
        queue.open = True
        self._endless += 1
        self.jobs = INFINITY
        self._announce(queue)

    def close(self, queue: "EndlessQueue") -> None:
        """Close an endless lane."""
        queue.open = False
        self._endless -= 1
        del self.waiting[queue.lane.id]
        if not self._endless:
            self.jobs = float(sum(len(other) for other in self.waiting.values()))

    def _announce(self, queue: Queue) -> None:
        lane_id = queue.lane.id
        if lane_id not in self.waiting:
            self.waiting[lane_id] = queue
            self.news.append(queue)

    def take(self, lane_id: int, most: int) -> tuple[Queue, list[float]]:
        """Claim from a lane."""
        queue = self.queues[lane_id]
        taken = queue.take(most)
        self.jobs -= len(taken)
        if not queue:
            self.waiting.pop(lane_id, None)
        return queue, taken

    def charge(self, charges: Iterable[Charge]) -> None:
        """Add a worker's charges to the balances."""
        for pool, account, begin, virtual, floor in charges:
            before = self._accounts.pop(account, None)
            was = before[1] if before else Balance(pool, account, 0.0, 0.0)
            self.version += 1
            new = Balance(pool, account, max(was.virtual, begin) + virtual, max(was.floor, floor))
            self._accounts[account] = (self.version, new)

    def balances(self, since: int) -> Iterator[Balance]:
        """The balances that changed since a version."""
        for version, balance in reversed(self._accounts.values()):
            if version <= since:
                return
            yield balance
