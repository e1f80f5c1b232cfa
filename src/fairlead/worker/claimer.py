"""Which jobs to take next: the view of active lanes, the allocation, the claim.

The view is read again when it is older than a fraction of a second, and when it has run empty. After a hint it is
enough to look for lanes that are not in it, which costs little however busy the others are. Lanes that were active
lately are tried first after a hint, which saves a round trip when a quiet system gets a job, and are taken for active
after one that comes too soon for another look: a slot may be free for a moment only.

The controls are read with the view; closed lanes are left out of it. Without a view they are at most a second old.
Lanes behind a breaker that lets a few through are no part of the view either: they are claimed from with permits.

Lanes under limits are claimed from by a verb of their own, which holds the limits; while one is full, its lanes are
kept out of the view (worker.limits).

A job whose type, or whose payload version, this process does not know stays in its lane for a worker that does. A
worker with reserved slots takes the jobs of its tenants only.

Reading a view of thousands of lanes takes a while. It is read again no sooner than eighty times that later, and after a
hint no sooner than nine times, and then as a whole; what is claimed meanwhile keeps it right as far as it goes.
"""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fairlead.core.alike import only_lane
from fairlead.core.fairness.estimates import Estimates
from fairlead.core.fairness.queue import FairQueue, Grant, out_of_turn
from fairlead.core.fairness.tenancy import Tenants
from fairlead.core.fairness.usage import SlotUsage
from fairlead.core.jobs.model import ActiveLane, Claim, Lane, Lease, Quota
from fairlead.core.jobs.pools import Pools
from fairlead.core.protection.gates import has_gates, limiting, why_closed
from fairlead.core.protection.limits import LIMIT
from fairlead.errors import StoreError
from fairlead.handlers.spec import HandlerSpec
from fairlead.records.store import Store
from fairlead.telemetry.events import Telemetry
from fairlead.worker.breakers import Breakers, Permit, spread
from fairlead.worker.controls import ControlView
from fairlead.worker.limits import LimitGate
from fairlead.worker.recent import MOST, RecentLanes
from fairlead.worker.strays import Strays
from fairlead.worker.suspects import Suspects

FRESH = 0.25
THRIFTY = 80  # times what a view cost, it is used before it is read again
PATIENT = 9  # and as often where there is something new
LATE = 0.03  # seconds; by so much later than others a job may be committed and is found after the next hint
MANY = 500  # tenants with work, beyond which looking for others is no cheaper than looking at all
CONTROLS_FRESH = 1.0
LONG = 1.0  # seconds; what will probably take so long is told to the other workers at once
NOTHING = (0, 0.0)


class Claimer:
    """Claims for one worker; `reserve` are the only tenants it serves, if there are any."""

    def __init__(
        self,
        store: Store,
        owner: str,
        pools: frozenset[str],
        specs: Mapping[str, HandlerSpec],
        in_hand: Callable[[str], int] = lambda pool: 0,
        reserve: frozenset[str] = frozenset(),
        controls: ControlView | None = None,
        breakers: Breakers | None = None,
        strays: Strays | None = None,
        suspects: Suspects | None = None,
    ) -> None:
        self._store = store
        self._owner = owner
        self._pools = pools
        self._specs = specs
        self._in_hand = in_hand
        self._reserve = reserve
        self._read_at = 0.0
        self._read_for = 0.0
        self._glanced_at = 0.0
        self._glanced_for = 0.0
        self._look_back = 0.0  # seconds before what was claimed last, for jobs that were committed late
        self._left_out: set[int] = set()  # lanes that had work at the last look, none of which is to be claimed
        self._recent = RecentLanes()
        self._hinted = False
        self._has_guessed = False  # which lanes the last hint was about
        self._is_in_use = False  # jobs came after the last hint, and were claimed at once
        self._control_view = controls or ControlView(store)
        self._control_view.watchers.append(self._follow_controls)
        self.controls = self._control_view.known
        self.gate = LimitGate(specs)
        self._breakers = breakers or Breakers(store, self._control_view, Telemetry())
        self._strays = strays or Strays(store, Telemetry())
        self._suspects = suspects
        if suspects is not None:
            suspects.on_change = self._distrust_view
        self._behind_breakers: list[ActiveLane] = []
        self._unaccounted: tuple[list[Grant], list[Claim]] = ([], [])
        self._pool_settings = Pools(self.controls)
        self.queue = FairQueue(Tenants(self.controls).get)
        self.tally = SlotUsage(Estimates(self._pool_settings.get))
        self.on_long_jobs: Callable[[], None] = lambda: None
        self.is_held_back = False  # there is work that waits for room in its pool, not for a slot

    @property
    def has_unaccounted(self) -> bool:
        """Whether jobs were taken out of turn that nobody was charged for."""
        return bool(self._unaccounted[1])

    @property
    def is_hinted(self) -> bool:
        """Whether there was a hint since the last look."""
        return self._hinted

    def hint(self) -> None:
        """There may be new work, in lanes that are not in the view or since it was read."""
        self._hinted, self._has_guessed = True, False

    def hint_controls(self) -> None:
        """Controls have changed: trust neither them nor the view."""
        self._control_view.distrust()
        self._distrust_view()

    async def take(self, free_slots: int) -> list[Claim]:
        """Claim up to so many jobs; none means that there is nothing for this worker now."""
        self.account()
        if self._hinted and not self.queue and self._recent.may_go_first():
            self._hinted = False
            await self._control_view.refresh(CONTROLS_FRESH)
            claims = await self._claim_out_of_turn(self._recent_grants(free_slots))
            self._is_in_use = bool(claims)
            if claims:
                return claims
        for lane_id, active in self.gate.reopened().items():
            self.queue.add(active)
            self._left_out.discard(lane_id)
        if self._view_is_old():
            await self._look()
        elif self._hinted:
            await self._heed_hint()
        permitted = await self._claim_with_permits(free_slots) if self._behind_breakers else []
        return permitted or await self._claim_from_view(free_slots)

    def account(self) -> None:
        """Charge for what was taken out of turn; the next call of `take` does it at the latest."""
        (grants, claims), self._unaccounted = self._unaccounted, ([], [])
        if claims:
            self.queue.charge(grants)
            self._account(grants, claims)

    def _distrust_view(self) -> None:
        self._read_at = 0.0

    def _view_is_old(self) -> bool:
        age, fresh = time.monotonic() - self._read_at, max(FRESH, THRIFTY * self._read_for)
        if self._hinted and len(self.queue) > MANY:
            fresh = PATIENT * self._read_for
        return not self.queue or age > fresh

    async def _heed_hint(self) -> None:
        """Somebody may have got work: look who, unless that was done just now."""
        if time.monotonic() - self._glanced_at > PATIENT * self._glanced_for and len(self.queue) <= MANY:
            await self._glance()
        elif not self._has_guessed:
            self._guess()

    def _guess(self) -> None:
        """Those that had work lately may have some again; one that has not costs a claim little."""
        self._has_guessed = True
        for active in self._recent:
            if self._is_open(active.lane):
                self.queue.expect(active)

    async def _claim_from_view(self, free_slots: int) -> list[Claim]:
        """Each round that finds nothing takes the lanes it asked out of the view, so this ends."""
        claims: list[Claim] = []
        self.is_held_back = False
        while self.queue and not claims:
            grants = self.queue.allocate(free_slots, self.tally.estimates.of, self._room(self.queue.pools()))
            self.is_held_back = not grants
            if not grants:
                break
            claims = await self._claim(grants)
        return claims

    def _room(self, pools: Iterable[str]) -> dict[str, int]:
        """How many more jobs of a pool this worker may take, for those of the pools that have such a limit."""
        alone, get = len(self._pools) == 1, self._pool_settings.get
        return {pool: most - self._in_hand(pool) for pool in pools if (most := get(pool).room(alone)) is not None}

    async def _look(self) -> None:
        self._hinted = False
        self._recent.looked()
        began = time.monotonic()
        found = await self._store.reader.active_lanes()
        ours = [active for active in found if self._is_ours(active.lane)]
        if ours:
            await self._control_view.refresh()
        elif self._is_in_use:  # more may come soon, and should not have to wait for this
            self._is_in_use = False
            await self._control_view.refresh(CONTROLS_FRESH / 2)
        gated = self._has_gates()
        admitted = self.gate.admit(item for item in ours if not gated or self._passes(item.lane))
        self.queue.update(admitted.values())
        self._left_out = {active.lane.id for active in found} - admitted.keys() if len(admitted) < len(found) else set()
        self._behind_breakers = [item for item in ours if self._awaits_permit(item.lane)] if gated else []
        self._read_at = time.monotonic()
        self._read_for = self._read_at - began

    async def _glance(self) -> None:
        """Look for lanes that are not in the view."""
        self._hinted = False
        began = time.monotonic()
        await self._control_view.refresh(CONTROLS_FRESH)
        known = {active.lane.id for active in self.queue.lanes()} | self._left_out | self.gate.aside.keys()
        for active in await self._store.reader.active_lanes(known):
            self._place(active)
        self._look_back = LATE
        self._glanced_at = time.monotonic()
        self._glanced_for = self._glanced_at - began

    def _place(self, active: ActiveLane) -> None:
        """Put a lane that has got work where a look at all lanes would put it."""
        lane = active.lane
        ours = self._is_ours(lane)
        if ours and self._is_open(lane):
            self.queue.add(active)
            return
        self._left_out.add(lane.id)
        if ours and self._passes(lane):
            self.gate.aside[lane.id] = active
        elif ours and self._awaits_permit(lane):
            self._behind_breakers.append(active)

    def _follow_controls(self, kinds: frozenset[str]) -> None:
        if LIMIT in kinds:
            self.gate.follow(self.controls)

    async def _claim_with_permits(self, free_slots: int) -> list[Claim]:
        """Claim what breakers permit, from the first group of lanes that has something; each is tried once a look."""
        groups = self._by_breakers(self._behind_breakers)
        for names, lanes in list(groups.items()):
            del groups[names]
            self._behind_breakers = [active for left in groups.values() for active in left]
            given = await self._breakers.ask(names, free_slots)
            claims = await self._claim_permitted(given, lanes) if given else []
            if claims:
                return claims
        return []

    async def _claim_permitted(self, given: Permit, lanes: list[ActiveLane]) -> list[Claim]:
        """Charged as every claim is, but these lanes stay out of the view."""
        shares, cost = spread(lanes, given.runs).items(), self.tally.estimates.of
        grants = [Grant(lane, most, 0.0, cost(lane.pool, lane.type)) for lane, most in shares]
        self.queue.charge(grants)
        claims: list[Claim] = []
        try:
            claims = await self._pop(grants)
        finally:
            self._breakers.began(given, claims)
            taken = Counter(claim.lane.id for claim in claims)
            for grant in grants:
                self.tally.started(grant.lane, taken[grant.lane.id], grant.cost)
                self.queue.give_back(grant, taken[grant.lane.id])
        return claims

    def _by_breakers(self, lanes: list[ActiveLane]) -> dict[tuple[str, ...], list[ActiveLane]]:
        grouped: dict[tuple[str, ...], list[ActiveLane]] = {}
        for active in lanes:
            names = limiting(self.controls, self._specs[active.lane.type].breakers)
            grouped.setdefault(names, []).append(active)
        return grouped

    def _has_gates(self) -> bool:
        """Whether any lane may be closed, for one reason or another."""
        return has_gates(self.controls) or bool(self._suspects)

    def _is_open(self, lane: Lane) -> bool:
        return (not self._has_gates() or self._passes(lane)) and self.gate.is_open(lane)

    def _passes(self, lane: Lane) -> bool:
        """Whether nobody has closed it, and no breaker is in its way or about to be."""
        breakers = self._specs[lane.type].breakers
        if limiting(self.controls, breakers) or (self._suspects is not None and self._suspects.hold(breakers)):
            return False
        return why_closed(lane, self.controls) is None

    def _awaits_permit(self, lane: Lane) -> bool:
        """Whether it is not closed, but behind a breaker that lets a few through."""
        names = limiting(self.controls, self._specs[lane.type].breakers)
        return bool(names) and why_closed(lane, self.controls, names, self._control_view.now) is None

    def _is_ours(self, lane: Lane) -> bool:
        if lane.pool not in self._pools or lane.type not in self._specs:
            return False
        if self._reserve and lane.tenant not in self._reserve:
            return False
        return lane.version <= self._specs[lane.type].version

    async def _claim(self, grants: list[Grant]) -> list[Claim]:
        if not grants:
            return []
        claims: list[Claim] = []
        try:
            claims = await self._pop(grants)
        finally:
            self._account(grants, claims)
        return claims

    async def _claim_out_of_turn(self, grants: list[Grant]) -> list[Claim]:
        """The same for a quiet system, where a job should start before it is accounted for."""
        claims = await self._pop(grants) if grants else []
        if claims:
            self._unaccounted = (grants, claims)
        return claims

    async def _pop(self, grants: list[Grant]) -> list[Claim]:
        """Claim what was granted, as far as limits allow."""
        back, self._look_back = self._look_back, 0.0
        quotas = [Quota(grant.lane.id, grant.most, grant.since - back) for grant in grants]
        if self.gate.rules.any:
            return await self._claim_by_limits(quotas, {grant.lane.id: grant.lane for grant in grants})
        return await self._claim_plain(quotas)

    async def _claim_plain(self, quotas: list[Quota]) -> list[Claim]:
        lease = self._new_lease()
        with self._strays.doubting(lease):
            return await self._store.jobs.claim(quotas, lease)

    def _new_lease(self) -> Lease:
        return Lease(self._owner, str(uuid.uuid4()))

    async def _claim_by_limits(self, quotas: list[Quota], lanes: Mapping[int, Lane]) -> list[Claim]:
        """What was claimed without limits is not lost when the store goes away before the rest."""
        plain, wanted = self.gate.split(quotas, lanes.__getitem__)
        claims = await self._claim_plain(plain) if plain else []
        if not wanted:
            return claims
        lease = self._new_lease()
        try:
            with self._strays.doubting(lease):
                answer = await self._store.limits.claim(wanted, self.gate.rules, lease)
        except StoreError:
            if not claims:
                raise
            return claims
        self.gate.learn(wanted, answer)
        return claims + answer.claims

    def _account(self, grants: list[Grant], claims: list[Claim]) -> None:
        """A lane that gave less than asked for is empty; of the others, nothing before the last job is left.

        One that is kept aside, since a limit is full, comes back by itself.
        """
        taken, rests, lately = _by_lane(claims), [], []
        for grant in grants:
            lane = grant.lane
            count, last = taken.get(lane.id, NOTHING)
            self.tally.started(lane, count, grant.cost)
            active = ActiveLane(lane, last)
            if count:
                lately.append(active)
            if count < grant.most:
                rests.append((grant, grant.most - count))
            elif lane.id in self.gate.aside:
                self.queue.drop(lane)
            else:
                self.queue.add(active)
        for grant, _ in rests:  # before they are given back: who does not compete needs no new place
            self.queue.drop(grant.lane)
        self.queue.give_back_all(rests)
        guesses = self.tally.guessed  # wait for the next exchange: they are mostly too long, and soon put right
        if claims and any(grant.cost >= LONG and grant.lane.type not in guesses for grant in grants):
            self.on_long_jobs()
        self._recent.remember(lately[-MOST:])

    def _recent_grants(self, free_slots: int) -> list[Grant]:
        """What is older than what they gave last was claimed, or is found by the next look."""
        lanes = [ActiveLane(lane, since - LATE) for lane, since in self._recent if self._is_open(lane)]
        return out_of_turn(
            lanes, free_slots, self.tally.estimates.of, self._room({active.lane.pool for active in lanes})
        )


def _by_lane(claims: list[Claim]) -> dict[int, tuple[int, float]]:
    """How many jobs of each lane there are, and since when the last one was ready."""
    if (only := only_lane(claims)) is not None:
        return {only.id: (len(claims), claims[-1].ready_at)}
    found: dict[int, list[Any]] = {}  # by the object, since lanes themselves are slow to find
    for claim in claims:
        seen = found.get(key := id(claim.lane))
        if seen is None:
            found[key] = [1, claim]
        else:
            seen[0] += 1
            seen[1] = claim
    return {last.lane.id: (count, last.ready_at) for count, last in found.values()}
