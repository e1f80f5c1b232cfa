"""A share: the account of whoever competes for slots, and the heap of those who compete below it.

A share's *virtual time* is the slot-seconds it was charged, divided by its weight. Jobs are charged in advance, by an
estimate; `unearned` is the part of that which has not run yet in this worker.

A share's *floor* is where those begin that get work: the least virtual time of the busy ones below, less what is
unearned of it, so that an estimate that turns out too long is held against nobody. It never falls. When nobody was
busy, it rises to the highest that anybody had reached: what was used while nobody else wanted it is not held against
anybody either.

`virtual` is what the store said last, raised to `begin` if the share became busy since, plus `pending`, which the store
has not been told. Other workers charge the same account; adding what is pending to what the store says makes the
result independent of the order.

A share that is charged keeps its place in the heap until it comes to the front: only there it matters that it belongs
further back. So an entry's place is never behind its share's.

A share's *place* is its virtual time and a part of its last charge, a little for some and a quarter for others; which,
differs from worker to worker. Between two exchanges workers know the same, and all would choose the same tenant, which
had several long jobs at once then and waited the longer for the next. So they choose different ones of those whose
turn is near. Who just became busy was charged nothing yet, and is not put back.
"""

from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from math import ceil
from typing import NamedTuple

from fairlead.core.fairness.entitlement import depend_on_numbers, effective_weights
from fairlead.core.fairness.tenancy import Weighting
from fairlead.core.jobs.model import ActiveLane

AGEING = 60.0  # a job that waits so many seconds longer overtakes one of the next higher priority
NEVER = float("inf")
SLACK = 1_000  # entries out of date that a heap may hold beyond twice its busy ones
SPREAD = 0.25  # of its last charge, a share is put back at most
TRIFLE = 1e-6  # slot-seconds; a share that is given back less than this keeps its place

Entry = tuple[float, float, int, "Share"]
_numbers = count()


class Charge(NamedTuple):
    """What the store is told of an account: raise its virtual time to `begin`, then by `virtual`; raise its floor."""

    pool: str
    account: str
    begin: float
    virtual: float
    floor: float


class Balance(NamedTuple):
    """What the store says of an account."""

    pool: str
    account: str
    virtual: float
    floor: float


def rank(active: ActiveLane) -> float:
    """The order of urgency, lowest first: the priority, improved by waiting."""
    return active.lane.priority * AGEING + active.since


class Share:
    """A pool, a party of it, or a tenant of a group. Tenants have lanes, the others have shares below them."""

    __slots__ = (
        "account",
        "begin",
        "below",
        "busy",
        "changed",
        "counts",
        "fixed",
        "floor",
        "heap",
        "lanes",
        "number",
        "parent",
        "peak",
        "pending",
        "placed",
        "pool",
        "put_back",
        "spread",
        "standing",
        "told_floor",
        "unearned",
        "virtual",
        "weighed",
        "weight",
        "weights",
    )

    def __init__(
        self, pool: str, account: str, parent: "Share | None", weighting: Weighting, changed: "dict[Share, None]"
    ) -> None:
        self.pool = pool
        self.account = account
        self.parent = parent
        self.weighting = weighting
        self.changed = changed  # the shares that have something to tell
        self.virtual = self.begin = self.pending = self.unearned = 0.0
        self.floor = self.told_floor = self.peak = 0.0
        self.spread = 0.0  # the part of its last charge that it is put back by, in this worker
        self.put_back = 0.0  # virtual time
        self.busy = False
        self.number = 0  # of its entry in the heap above that counts
        self.placed = 0.0  # the virtual time in that entry
        self.lanes: dict[int, ActiveLane] = {}
        self.heap: list[Entry] = []
        self.counts: dict[Weighting, int] = {}  # of the busy ones below
        self.below = 0  # how many they are
        self.weights: dict[Weighting, float] = {}  # theirs; empty: to be found again
        self.fixed = False  # they stay as they are, however many of each standing there are
        self.weight = weighting.weight
        self.weighed: dict[Weighting, float] | None = None  # the weights above that `weight` was taken from

    def enter(self) -> None:
        """It has work: it competes, and begins no lower than the floor."""
        if self.busy or self.parent is None:
            return
        floor = self.parent.settle_floor()
        if self.virtual < floor:
            self.begin = floor
            self.changed[self] = None
            self.virtual = floor + self.pending if self.pending > 0 else floor
        self.busy = True
        self.parent.count(self.weighting, 1)
        self.push()
        self.parent.enter()

    def leave(self) -> None:
        """It has no work any more."""
        if not self.busy or self.parent is None:
            return
        self.busy = False
        self._mark_peak()
        self.parent.count(self.weighting, -1)
        if self.parent.below == 0:
            self.parent.leave()

    def count(self, weighting: Weighting, change: int) -> None:
        """One more or one fewer below competes with this standing."""
        before = self.counts.get(weighting, 0)
        number = before + change
        self.below += change
        if number:
            self.counts[weighting] = number
        else:
            del self.counts[weighting]
        if not (self.fixed and before and number):
            self.weights = {}

    def settle_floor(self) -> float:
        """The floor as of now."""
        if self.first() is None:
            self._raise_floor(self.peak)
        return self.floor

    def push(self) -> None:
        """Take a place among the others."""
        assert self.parent is not None
        heap = self.parent.heap
        heappush(heap, self._entry())
        if len(heap) > SLACK and len(heap) > SLACK + 2 * self.parent.below:
            self.parent.heap = [entry for entry in heap if entry[3].busy and entry[2] == entry[3].number]
            heapify(self.parent.heap)

    def advance(self, slot_seconds: float) -> None:
        """Charge the first of the heap in advance; it finds its new place."""
        assert self.parent is not None
        self.put_back = self.spread * self._charge(slot_seconds)
        self.unearned += slot_seconds
        heapreplace(self.parent.heap, self._entry())

    def correct(self, slot_seconds: float, unearned: float) -> None:
        """Charge, or give back if it is less than nothing, and change what is unearned."""
        self._charge(slot_seconds)
        self.unearned = max(0.0, self.unearned + unearned)
        if self.busy:
            self._replace()
        else:
            self._mark_peak()

    def hear(self, virtual: float, floor: float) -> None:
        """The store says that the account stands so."""
        self.floor = max(self.floor, floor)
        self.virtual = max(virtual, self.begin) + self.pending
        if self.busy:
            self._replace()

    def tell(self) -> Charge | None:
        """What the store has to be told; it counts as told from now on."""
        if not self.pending and not self.begin and self.floor <= self.told_floor:
            return None
        charge = Charge(self.pool, self.account, self.begin, self.pending, self.floor)
        self.begin = self.pending = 0.0
        self.told_floor = self.floor
        return charge

    def first(self) -> "Share | None":
        """The busy one below whose turn it is; the floor follows it."""
        heap = self.heap
        while heap:
            _, _, number, share = heap[0]
            if not share.busy or number != share.number:
                heappop(heap)
            elif (share.virtual - share.placed) * share.weight > TRIFLE:
                heapreplace(heap, share._entry())
            else:
                if (earned := share.earned) > self.floor:
                    self._raise_floor(earned)
                return share
        return None

    def bound(self) -> float:
        """The place up to which the first certainly stays first."""
        heap = self.heap
        if len(heap) < 2:
            return NEVER
        return heap[1][0] if len(heap) == 2 else min(heap[1][0], heap[2][0])

    def run_length(self, cost: float, most: int) -> int:
        """How many jobs of that cost it gets, as the first, before another one is first."""
        assert self.parent is not None
        self._weigh()
        ahead = (self.parent.bound() - self.virtual - self.put_back) * self.weight / cost
        return most if ahead >= most else max(1, ceil(ahead))

    @property
    def earned(self) -> float:
        """Its virtual time without what was charged for time that has not run yet."""
        if not self.unearned:
            return self.virtual
        self._weigh()
        return self.virtual - self.unearned / self.weight

    @property
    def is_idle(self) -> bool:
        """Whether it is as good as unknown: it has no work, nothing to tell, and owes nothing."""
        if self.busy or self.pending or self.begin or self.unearned:
            return False
        return self.parent is not None and self.virtual <= self.parent.floor

    def most_urgent(self) -> ActiveLane:
        """The lane that goes next."""
        if len(self.lanes) == 1:
            return next(iter(self.lanes.values()))
        return min(self.lanes.values(), key=rank)

    def _weigh(self) -> None:
        """Find the weight that gives it its minimum and its cap among those who are busy."""
        assert self.parent is not None
        if self.weighed is self.parent.weights:
            return
        if not self.parent.weights and self.parent.counts:
            self.parent.weights = effective_weights(self.parent.counts)
            self.parent.fixed = not depend_on_numbers(self.parent.counts)
        self.weighed = self.parent.weights
        self.weight = self.weighed.get(self.weighting, self.weighting.weight)

    def _charge(self, slot_seconds: float) -> float:
        """Add to its virtual time; returns how much."""
        if self.parent is None or self.weighed is not self.parent.weights:
            self._weigh()
        virtual = slot_seconds / self.weight
        self.virtual += virtual
        self.pending += virtual
        self.changed[self] = None
        return virtual

    def _replace(self) -> None:
        """Find its new place, if it has moved towards the front."""
        if (self.placed - self.virtual) * self.weight > TRIFLE:
            self.push()

    def _raise_floor(self, floor: float) -> None:
        if floor > self.floor:
            self.floor = floor
            self.changed[self] = None

    def _mark_peak(self) -> None:
        assert self.parent is not None
        self.parent.peak = max(self.parent.peak, self.earned)

    def _entry(self) -> Entry:
        since = 0.0
        if len(self.lanes) == 1:
            for active in self.lanes.values():
                since = active.since
        elif self.lanes:
            since = self.most_urgent().since
        self.number = next(_numbers)
        self.placed = self.virtual
        return (self.virtual + self.put_back, since, self.number, self)


class PoolShare(Share):
    """A pool among the pools of this worker: its own virtual time concerns nobody else, the floor below it does."""

    __slots__ = ()

    def hear(self, virtual: float, floor: float) -> None:
        """Only the floor is shared."""
        self.floor = max(self.floor, floor)

    def tell(self) -> Charge | None:
        """Only the floor is shared."""
        if self.floor <= self.told_floor:
            return None
        self.told_floor = self.floor
        return Charge(self.pool, self.account, 0.0, 0.0, self.floor)
