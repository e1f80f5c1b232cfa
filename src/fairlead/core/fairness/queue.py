"""FairQueue decides which job comes next: start-time fair queueing by slot-seconds over pools, parties and tenants.

The next slot goes to the party with the least virtual time. A claimed job is charged its estimated run time at once;
the difference to the real run time is charged or refunded later (core.fairness.usage). So parties with backlog keep
about equal virtual times, and their slot-seconds are in the ratio of their weights, whatever the length and number of
jobs.

A party that becomes busy starts at the floor: it gets no credit for idle time and no debt for what others used.
Minimums and caps are turned into weights among the busy parties (entitlement.effective_weights).

The tree has up to four levels: this worker's pools, which share its slots evenly; a pool's parties; the tenants of a
group; and each tenant's lanes, most urgent first. All levels below the pools are shared with other workers through the
store (`tell`, `hear`).

Choosing takes logarithmic time. With more than 64 busy parties each gets a bundle of short jobs, up to 50 ms in all, so
that a claim does not take one job each from hundreds of lanes. A bundle counts like one job of that length.
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from itertools import chain
from math import ceil
from typing import NamedTuple

from fairlead.core.fairness.share import AGEING, NEVER, SPREAD, Balance, Charge, PoolShare, Share
from fairlead.core.fairness.tenancy import Tenant, Weighting, group_weighting
from fairlead.core.jobs.model import ActiveLane, Lane

POOL = "@"  # the account of a pool; a group's account is "@" and its name. No tenant's name starts with it.
EQUAL = Weighting(1.0)
MANY = 64  # parties
FEW = 16  # with MANY parties, about so many get slots in one claim
BUNDLE = 0.05  # slot-seconds
NO_LIMITS: Mapping[str, int] = {}
KEPT_IDLE = 1_000  # idle shares kept in addition to twice the busy ones

__all__ = ["AGEING", "POOL", "Balance", "Charge", "FairQueue", "Grant", "urgency"]


class Grant(NamedTuple):
    """Up to `most` jobs of a lane may be claimed; each was charged `cost`."""

    lane: Lane
    most: int
    since: float
    cost: float


def urgency(lane: ActiveLane, now: float) -> float:
    """Return the rank of a lane, lowest first: its priority, improved by its wait."""
    return lane.lane.priority - (now - lane.since) / AGEING


class FairQueue:
    """The lanes with ready jobs as one worker sees them, in fair order."""

    def __init__(self, tenant_of: Callable[[str], Tenant] = Tenant) -> None:
        self._tenant_of = tenant_of
        self._worker = ""
        self._changed: dict[Share, None] = {}  # shares with changes for the store, in order of change
        self._root = Share("", "", None, EQUAL, self._changed)
        self._accounts: dict[tuple[str, str], Share] = {}
        self._seats: dict[tuple[str, str], tuple[Tenant, Share]] = {}
        self._busy: set[Share] = set()
        self._pools: list[Share] = []

    def __len__(self) -> int:
        """Return the number of busy tenants, counted in each pool."""
        return len(self._busy)

    def differ(self, worker: str) -> None:
        """Spread this worker's choice among tenants with nearly equal virtual time; see core.fairness.share."""
        self._worker = worker
        for share in self._accounts.values():
            if share.account != POOL:
                share.spread = _spread(worker, share.account)

    def lanes(self) -> list[ActiveLane]:
        """Return all lanes with ready jobs."""
        return list(chain.from_iterable(share.lanes.values() for share in self._busy))

    def update(self, lanes: Iterable[ActiveLane]) -> None:
        """Replace all lanes with ready jobs."""
        fresh: dict[Share, dict[int, ActiveLane]] = {}
        for active in lanes:
            fresh.setdefault(self._seat(active.lane), {})[active.lane.id] = active
        for share in self._busy - fresh.keys():
            share.lanes = {}
            share.leave()
        for share, own in fresh.items():
            share.lanes = own
            share.enter()
        self._busy = set(fresh)
        self._forget_idle()

    def add(self, active: ActiveLane) -> None:
        """Add a lane with ready jobs, or change when its first job became ready."""
        share = self._find(active.lane)
        share.lanes[active.lane.id] = active
        if not share.busy:
            share.enter()
            self._busy.add(share)

    def drop(self, lane: Lane) -> None:
        """Remove a lane without ready jobs."""
        share = self._find(lane)
        share.lanes.pop(lane.id, None)
        if not share.lanes:
            share.leave()
            self._busy.discard(share)

    def pools(self) -> list[str]:
        """Return the pools with ready jobs."""
        return [share.pool for share in self._pools if share.busy]

    def allocate(
        self, free_slots: int, estimate: Callable[[Lane], float], room: Mapping[str, int] = NO_LIMITS
    ) -> list[Grant]:
        """Divide the free slots among lanes, and charge them by `estimate(lane)`.

        `room` is the most jobs of each pool; pools that it does not name have no bound.
        """
        grants: dict[int, Grant] = {}
        most = {share: min(free_slots, room.get(share.pool, free_slots)) for share in self._pools if share.busy}
        left = {share: slots for share, slots in most.items() if slots > 0}
        charged = dict.fromkeys(left, 0.0)
        bundle = free_slots // FEW
        while free_slots > 0 and left:
            pool, ahead = _next_pool(left, charged)
            given, cost = _allocate(pool, min(free_slots, left[pool]), ahead, bundle, estimate, grants)
            free_slots -= given
            left[pool] -= given
            charged[pool] += cost
            if left[pool] <= 0:
                del left[pool]
        for pool, slot_seconds in charged.items():
            pool.correct(slot_seconds, slot_seconds)
        return list(grants.values())

    def charge(self, grants: Iterable[Grant]) -> None:
        """Charge for jobs that are claimed out of turn."""
        costs = ((grant.lane, grant.most * grant.cost) for grant in grants)
        self.correct_all((lane, cost, cost) for lane, cost in costs)

    def give_back(self, grant: Grant, taken: int) -> None:
        """Refund a grant of which only `taken` jobs were claimed."""
        self.give_back_all([(grant, grant.most - taken)])

    def give_back_all(self, rests: Iterable[tuple[Grant, int]]) -> None:
        """Refund the unclaimed jobs of each grant."""
        costs = ((grant.lane, -left * grant.cost) for grant, left in rests)
        self.correct_all((lane, cost, cost) for lane, cost in costs)

    def correct(self, lane: Lane, slot_seconds: float, unearned: float) -> None:
        """Charge the lane's tenant (negative is a refund), and change its unearned part."""
        self.correct_all([(lane, slot_seconds, unearned)])

    def correct_all(self, corrections: Iterable[tuple[Lane, float, float]]) -> None:
        """Charge many lanes; each share above them is charged the sum once."""
        above: dict[Share, tuple[float, float]] = {}
        for lane, slot_seconds, unearned in corrections:
            share = self._find(lane)
            share.correct(slot_seconds, unearned)
            self._add_up(above, share.parent, slot_seconds, unearned)
        while above:
            share, (slot_seconds, unearned) = above.popitem()
            share.correct(slot_seconds, unearned)
            self._add_up(above, share.parent, slot_seconds, unearned)

    def _add_up(self, above: dict[Share, tuple[float, float]], share: Share | None, charge: float, more: float) -> None:
        if share is not None and share is not self._root:
            before = above.get(share, (0.0, 0.0))
            above[share] = (before[0] + charge, before[1] + more)

    def tell(self) -> list[Charge]:
        """Return the charges that the store does not have yet, and mark them as sent."""
        charges = [share.tell() for share in self._changed if share is not self._root]
        self._changed.clear()
        return [charge for charge in charges if charge is not None]

    def hear(self, balances: Iterable[Balance]) -> None:
        """Apply the store's balances, which include the charges of other workers.

        An account unknown here matters only above the floor, where it would start otherwise.
        """
        for pool, account, virtual, floor in sorted(balances):  # pools and groups come before their tenants
            share = self._accounts.get((pool, account))
            if share is None:
                parent, _ = self._above(pool, account)
                if virtual <= parent.floor and not account.startswith(POOL):
                    continue
                share = self._account(pool, account)
            share.hear(virtual, floor)

    def _find(self, lane: Lane) -> Share:
        """Return the share of the lane's tenant with the settings last seen."""
        seat = self._seats.get((lane.pool, lane.tenant))
        return self._seat(lane) if seat is None else seat[1]

    def _seat(self, lane: Lane) -> Share:
        """Return the share of the lane's tenant, moved if its tier or weight has changed."""
        key = (lane.pool, lane.tenant)
        tenant = self._tenant_of(lane.tenant)
        seat = self._seats.get(key)
        if seat is not None and (seat[0] is tenant or seat[0] == tenant):
            return seat[1]
        share = self._account(lane.pool, account_of(tenant))
        if seat is not None:
            self._reseat(seat[1], share)
        share.weighting, share.weighed = tenant.weighting, None
        self._seats[key] = (tenant, share)
        if share.lanes:
            share.enter()
        return share

    def _reseat(self, old: Share, new: Share) -> None:
        lanes, old.lanes = old.lanes, {}
        old.leave()
        new.lanes = lanes
        if old in self._busy:
            self._busy.remove(old)
            self._busy.add(new)

    def _account(self, pool: str, account: str) -> Share:
        share = self._accounts.get((pool, account))
        if share is None:
            parent, weighting = self._above(pool, account)
            kind = PoolShare if account == POOL else Share
            share = self._accounts[pool, account] = kind(pool, account, parent, weighting, self._changed)
            if account == POOL:
                self._pools.append(share)
            elif self._worker:
                share.spread = _spread(self._worker, account)
        return share

    def _above(self, pool: str, account: str) -> tuple[Share, Weighting]:
        """Return the parent of an account, by its name, and its weighting."""
        if account == POOL:
            return self._root, EQUAL
        if not account.startswith(POOL):
            return self._account(pool, POOL), EQUAL
        group, _, member = account[len(POOL) :].partition(" ")
        if member:
            return self._account(pool, POOL + group), EQUAL
        return self._account(pool, POOL), group_weighting(group)

    def _forget_idle(self) -> None:
        """Drop tenants without work and debt if there are many."""
        if len(self._seats) <= KEPT_IDLE + 2 * len(self._busy):
            return
        for key, (_, share) in list(self._seats.items()):
            if share.is_idle:
                del self._seats[key]
                del self._accounts[share.pool, share.account]


def _next_pool(left: Iterable[Share], charged: Mapping[Share, float]) -> tuple[Share, float]:
    """Return the pool that comes next, and how many slot-seconds it is behind the one after it."""
    first, *others = left
    if not others:
        return first, NEVER
    ahead, behind = sorted((share.virtual + charged[share], index) for index, share in enumerate(left))[:2]
    return [first, *others][ahead[1]], behind[0] - ahead[0]


def _allocate(
    pool: Share,
    most: int,
    ahead: float,
    bundle: int,
    estimate: Callable[[Lane], float],
    grants: dict[int, Grant],
) -> tuple[int, float]:
    """Give slots to a pool's tenants while it is the next pool; returns how many, and their cost."""
    given, charged = 0, 0.0
    while given < most and (charged < ahead or not given):
        path = _path(pool)
        lane, since = path[-1].most_urgent()
        cost = estimate(lane)
        run = _run_length(path, cost, most - given, ahead - charged, bundle)
        for share in path:
            share.advance(run * cost)
        lane_id = lane.id
        before = grants[lane_id].most if lane_id in grants else 0
        grants[lane_id] = Grant(lane, before + run, since, cost)
        given += run
        charged += run * cost
    return given, charged


def _path(pool: Share) -> list[Share]:
    """Return the shares from below the pool to the tenant that comes next."""
    path: list[Share] = []
    share = pool.first()
    while share is not None:
        path.append(share)
        share = None if share.lanes else share.first()
    return path


def _run_length(path: list[Share], cost: float, most: int, ahead: float, bundle: int) -> int:
    """Return how many jobs in a row the tenant at the end of the path gets."""
    above = path[-1].parent
    if above is not None and above.below > MANY:
        return max(1, min(most, bundle, int(BUNDLE / cost)))
    run = most if ahead >= most * cost else max(1, ceil(ahead / cost))
    for share in path:
        run = share.run_length(cost, run)
    return run


def _spread(worker: str, account: str) -> float:
    """Return a hash of worker and account between 0 and SPREAD."""
    digest = blake2b(f"{worker} {account}".encode(), digest_size=4).digest()
    return SPREAD * int.from_bytes(digest) / 2**32


def account_of(tenant: Tenant) -> str:
    """Return the name of a tenant's account: its own, or one within its group."""
    return tenant.name if tenant.group is None else f"{POOL}{tenant.group} {tenant.name}"
