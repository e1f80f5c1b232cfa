"""Share: the account of a pool, party or tenant in fair queueing, with a heap of the shares below it.

*Virtual time* is the slot-seconds charged, divided by the weight. Jobs are charged in advance by an estimate;
`unearned` is the part that has not run yet in this worker.

The *floor* is the virtual time at which a share below starts when it becomes busy: the least virtual time of the busy
shares below, without its unearned part, so that a too long estimate harms nobody. It never falls. After a time without
busy shares it is the highest virtual time reached, so that use without competition is not held against anybody.

`virtual` is the store's value, raised to `begin` if the share became busy since, plus `pending`, the charges not sent
yet. Other workers charge the same account; adding makes the result independent of the order.

The heap is lazy: a charged share keeps its entry until that comes to the front. An entry's key is the virtual time plus
up to a quarter of the last charge, by a hash of worker and account (`spread`). Otherwise all workers would choose the
same tenant between two exchanges. A share that has just become busy was not charged and is not put back, and a refund
makes up for the part of it: a guess that was far too long does not keep a tenant waiting.
"""

from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from math import ceil
from typing import NamedTuple

from fairlead.core.fairness.entitlement import depend_on_numbers, effective_weights
from fairlead.core.fairness.tenancy import Weighting
from fairlead.core.jobs.model import ActiveLane

AGEING = 60.0  # seconds; a job that waits so much longer overtakes one of the next higher priority
NEVER = float("inf")
SLACK = 1_000  # stale entries that a heap may hold in addition to twice its busy shares
SPREAD = 0.25  # the largest part of its last charge by which a share is put back
TRIFLE = 1e-6  # slot-seconds; a share with a smaller refund keeps its heap entry

Entry = tuple[float, float, int, "Share"]
_numbers = count()


class Charge(NamedTuple):
    """A charge to store: raise the account's virtual time to `begin`, then by `virtual`; raise its floor."""

    pool: str
    account: str
    begin: float
    virtual: float
    floor: float


class Balance(NamedTuple):
    """The stored virtual time and floor of an account."""

    pool: str
    account: str
    virtual: float
    floor: float


def rank(active: ActiveLane) -> float:
    """Return the rank of a lane, lowest first: its priority, improved by its wait."""
    return active.lane.priority * AGEING + active.since


class Share:
    """The account of a pool, a party or a tenant of a group. Tenants have lanes, the others have shares below."""

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
        "told_floor",
        "unearned",
        "virtual",
        "weighed",
        "weight",
        "weighting",
        "weights",
    )

    def __init__(
        self, pool: str, account: str, parent: "Share | None", weighting: Weighting, changed: "dict[Share, None]"
    ) -> None:
        self.pool = pool
        self.account = account
        self.parent = parent
        self.weighting = weighting
        self.changed = changed  # the shares with changes for the store
        self.virtual = self.begin = self.pending = self.unearned = 0.0
        self.floor = self.told_floor = self.peak = 0.0
        self.spread = 0.0  # the part of its last charge by which it is put back in this worker
        self.put_back = 0.0  # virtual time
        self.busy = False
        self.number = 0  # of its valid entry in the parent's heap
        self.placed = 0.0  # the virtual time in that entry
        self.lanes: dict[int, ActiveLane] = {}
        self.heap: list[Entry] = []
        self.counts: dict[Weighting, int] = {}  # of the busy shares below, by weighting
        self.below = 0  # the number of busy shares below
        self.weights: dict[Weighting, float] = {}  # of the busy shares below; empty: to be computed
        self.fixed = False  # the weights do not depend on how many parties of each weighting are busy
        self.weight = weighting.weight
        self.weighed: dict[Weighting, float] | None = None  # the parent's weights that `weight` was taken from

    def enter(self) -> None:
        """Become busy, with a virtual time not below the floor."""
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
        """Become idle."""
        if not self.busy or self.parent is None:
            return
        self.busy = False
        self._mark_peak()
        self.parent.count(self.weighting, -1)
        if self.parent.below == 0:
            self.parent.leave()

    def count(self, weighting: Weighting, change: int) -> None:
        """Count one more or one fewer busy share below with this weighting."""
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
        """Update and return the floor."""
        if self.first() is None:
            self._raise_floor(self.peak)
        return self.floor

    def push(self) -> None:
        """Push an entry into the parent's heap, and remove stale entries if there are many."""
        assert self.parent is not None
        heap = self.parent.heap
        heappush(heap, self._entry())
        if len(heap) > SLACK and len(heap) > SLACK + 2 * self.parent.below:
            self.parent.heap = [entry for entry in heap if entry[3].busy and entry[2] == entry[3].number]
            heapify(self.parent.heap)

    def advance(self, slot_seconds: float) -> None:
        """Charge the first share of the heap in advance and move its entry."""
        assert self.parent is not None
        self.put_back = self.spread * self._charge(slot_seconds)
        self.unearned += slot_seconds
        heapreplace(self.parent.heap, self._entry())

    def correct(self, slot_seconds: float, unearned: float) -> None:
        """Charge (negative is a refund), and change the unearned part."""
        virtual = self._charge(slot_seconds)
        if virtual < 0.0:
            self.put_back = max(0.0, self.put_back + self.spread * virtual)
        self.unearned = max(0.0, self.unearned + unearned)
        if self.busy:
            self._replace()
        else:
            self._mark_peak()

    def hear(self, virtual: float, floor: float) -> None:
        """Apply the stored balance of the account."""
        self.floor = max(self.floor, floor)
        self.virtual = max(virtual, self.begin) + self.pending
        if self.busy:
            self._replace()

    def tell(self) -> Charge | None:
        """Return the charge that the store does not have yet, and mark it as sent; None if there is none."""
        if not self.pending and not self.begin and self.floor <= self.told_floor:
            return None
        charge = Charge(self.pool, self.account, self.begin, self.pending, self.floor)
        self.begin = self.pending = 0.0
        self.told_floor = self.floor
        return charge

    def first(self) -> "Share | None":
        """Return the busy share below that comes next, and raise the floor to it."""
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
        """Return the heap key up to which the first share certainly stays first."""
        heap = self.heap
        if len(heap) < 2:
            return NEVER
        return heap[1][0] if len(heap) == 2 else min(heap[1][0], heap[2][0])

    def run_length(self, cost: float, most: int) -> int:
        """Return how many jobs of this cost the first share gets before another share is first."""
        assert self.parent is not None
        self._weigh()
        ahead = (self.parent.bound() - self.virtual - self.put_back) * self.weight / cost
        return most if ahead >= most else max(1, ceil(ahead))

    @property
    def earned(self) -> float:
        """The virtual time without the unearned part."""
        if not self.unearned:
            return self.virtual
        self._weigh()
        return self.virtual - self.unearned / self.weight

    @property
    def is_idle(self) -> bool:
        """Whether the share can be dropped: no work, nothing to send, and not above the floor."""
        if self.busy or self.pending or self.begin or self.unearned:
            return False
        return self.parent is not None and self.virtual <= self.parent.floor

    def most_urgent(self) -> ActiveLane:
        """Return the lane that comes next."""
        if len(self.lanes) == 1:
            return next(iter(self.lanes.values()))
        return min(self.lanes.values(), key=rank)

    def _weigh(self) -> None:
        """Compute the weight that gives the share its minimum and cap among the busy shares."""
        assert self.parent is not None
        if self.weighed is self.parent.weights:
            return
        if not self.parent.weights and self.parent.counts:
            self.parent.weights = effective_weights(self.parent.counts)
            self.parent.fixed = not depend_on_numbers(self.parent.counts)
        self.weighed = self.parent.weights
        self.weight = self.weighed.get(self.weighting, self.weighting.weight)

    def _charge(self, slot_seconds: float) -> float:
        """Add a charge to the virtual time; returns how much."""
        if self.parent is None or self.weighed is not self.parent.weights:
            self._weigh()
        virtual = slot_seconds / self.weight
        self.virtual += virtual
        self.pending += virtual
        self.changed[self] = None
        return virtual

    def _replace(self) -> None:
        """Push a new entry if the share has moved towards the front."""
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
    """A pool of this worker: its virtual time is local, the floor below it is shared."""

    __slots__ = ()

    def hear(self, virtual: float, floor: float) -> None:
        """Apply only the floor."""
        self.floor = max(self.floor, floor)

    def tell(self) -> Charge | None:
        """Return a charge with only the floor."""
        if self.floor <= self.told_floor:
            return None
        self.told_floor = self.floor
        return Charge(self.pool, self.account, 0.0, 0.0, self.floor)
