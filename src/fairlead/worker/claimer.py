"""Which jobs to take next: look at the active lanes, allocate the free slots fairly, claim.

The view of active lanes is read again when it is older than a fraction of a second, and when it has run empty. After a
hint a look at the lanes that are not in the view is enough. Reading a view of thousands of lanes takes a while, so it
is read again no sooner than eighty times that later, after a hint nine times; claims keep it right meanwhile.

Lanes that are closed are left out of the view: paused, behind an open breaker, of a type, a version or a tenant that
this worker does not serve. Lanes with a full limit are kept aside (worker.limits). Lanes behind a breaker that lets a
few runs through are claimed from with permits (worker.breakers).
"""

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence

from fairlead.core.fairness.estimates import LONG, Estimates
from fairlead.core.fairness.queue import FairQueue, Grant
from fairlead.core.fairness.tenancy import Tenants
from fairlead.core.fairness.usage import SlotUsage
from fairlead.core.jobs.model import ActiveLane, Claim, Lane, Lease, Quota
from fairlead.core.jobs.pools import Pools
from fairlead.core.protection.gates import has_gates, limiting, why_closed
from fairlead.core.protection.limits import LIMIT, LimitedQuota
from fairlead.errors import StoreError
from fairlead.handlers.spec import HandlerSpec
from fairlead.records.store import Store
from fairlead.runtime.breakers import Breakers, Permit, TrippingBreakers, spread
from fairlead.runtime.controls import ControlView
from fairlead.telemetry.events import Telemetry
from fairlead.worker.limits import LimitGate
from fairlead.worker.unanswered_claims import UnansweredClaims

FRESH = 0.25
THRIFTY = 80  # times what a view cost, it is used before it is read again
PATIENT = 9  # and as often where there is something new
LATE = 0.03  # seconds; by so much later than others a job may be committed and is found after the next hint
MANY = 500  # tenants with work, beyond which looking for others is no cheaper than looking at all
CONTROLS_FRESH = 1.0
FEW = 64  # tenants with work, up to which first jobs of a known type are announced, too

Announce = Callable[[], Awaitable[bool]]  # exchange charges with other workers; False if that was done just now


class Claimer:
    """Claims for one worker; `reserve` are the only tenants it serves, if there are any."""

    def __init__(
        self,
        store: Store,
        owner: str,
        pools: frozenset[str],
        specs: Mapping[str, HandlerSpec],
        reserve: frozenset[str] = frozenset(),
        controls: ControlView | None = None,
        breakers: Breakers | None = None,
        unanswered: UnansweredClaims | None = None,
        tripping: TrippingBreakers | None = None,
    ) -> None:
        self._store = store
        self._owner = owner
        self._pools = pools
        self._specs = specs
        self._reserve = reserve
        self._view = View()
        self._hinted = False
        self._look_back = 0.0  # seconds before what was claimed last, for jobs that were committed late
        self._control_view = controls or ControlView(store)
        self._control_view.watchers.append(self._follow_controls)
        self.controls = self._control_view.known
        self.gate = LimitGate(specs)
        self._breakers = breakers or Breakers(store, self._control_view, Telemetry())
        self._unanswered = unanswered or UnansweredClaims(store, Telemetry())
        self._tripping = tripping
        self._trips_seen = 0
        self._pool_settings = Pools(self.controls)
        self.queue = FairQueue(Tenants(self.controls).get)
        self.queue.differ(owner)
        self.usage = SlotUsage(Estimates(self._pool_settings.get))
        self.long_jobs = asyncio.Event()  # jobs were claimed that will probably take long
        self._announced = frozenset[int]()  # lanes whose charges other workers know before the claim
        self.is_held_back = False  # there is work that waits for room in its pool, not for a slot

    def hint(self) -> None:
        """There may be new work, in lanes that are not in the view or since it was read."""
        self._hinted = True

    def hint_controls(self) -> None:
        """Controls have changed: trust neither them nor the view."""
        self._control_view.distrust()
        self._view.distrust()

    async def take(
        self, wanted: int, in_hand: Callable[[str], int] = lambda pool: 0, announce: Announce | None = None
    ) -> list[Claim]:
        """Claim up to so many jobs; none means that there is nothing for this worker now.

        `in_hand` is how many jobs of a pool this worker holds.
        """
        claims: list[Claim] = []
        while not claims:
            for active in self.gate.reopened().values():
                self.queue.add(active)
            if self._view_is_old():
                await self._look()
            elif self._hinted:
                await self._look_for_new_lanes()
            claims = await self._claim_behind_breakers(wanted) or await self._claim_in_turn(wanted, in_hand, announce)
            if self.queue or not self._hinted:
                break
        return claims

    def _view_is_old(self) -> bool:
        if self._tripping is not None and self._tripping.changes != self._trips_seen:
            return True
        return not self.queue or self._view.is_old(self._hinted and len(self.queue) > MANY)

    async def _look(self) -> None:
        """Read the view of all active lanes."""
        self._hinted = False
        self._trips_seen = self._tripping.changes if self._tripping is not None else 0
        began = time.monotonic()
        found = await self._store.reader.active_lanes()
        ours = [active for active in found if self._is_ours(active.lane)]
        if ours:
            await self._control_view.refresh()
        gated = self._has_gates()
        admitted = self.gate.admit(item for item in ours if not gated or self._passes(item.lane))
        self.queue.update(admitted.values())
        left_out = {active.lane.id for active in found} - admitted.keys() if len(admitted) < len(found) else set()
        behind = [item for item in ours if self._awaits_permit(item.lane)] if gated else []
        self._view.was_read(began, left_out, behind)

    async def _look_for_new_lanes(self) -> None:
        """After a hint: look for lanes that are not in the view, unless that was done just now."""
        if len(self.queue) > MANY or not self._view.may_look_for_more():
            return
        self._hinted = False
        began = time.monotonic()
        await self._control_view.refresh(CONTROLS_FRESH)
        known = {active.lane.id for active in self.queue.lanes()} | self._view.left_out | self.gate.aside.keys()
        for active in await self._store.reader.active_lanes(known):
            self._place(active)
        self._look_back = LATE
        self._view.looked_for_more(began)

    def _place(self, active: ActiveLane) -> None:
        """Put a lane that has got work where a look at all lanes would put it."""
        lane = active.lane
        ours = self._is_ours(lane)
        if ours and self._is_open(lane):
            self.queue.add(active)
            return
        self._view.left_out.add(lane.id)
        if ours and self._passes(lane):
            self.gate.aside[lane.id] = active
        elif ours and self._awaits_permit(lane):
            self._view.behind_breakers.append(active)

    async def _claim_in_turn(
        self, wanted: int, in_hand: Callable[[str], int], announce: Announce | None
    ) -> list[Claim]:
        """Claim for the tenants whose turn it is. Each round that finds nothing shortens the view, so this ends."""
        claims: list[Claim] = []
        self.is_held_back = False
        self._announced = frozenset()
        while self.queue and not claims:
            grants = self._allocate(wanted, in_hand)
            if announce is not None and self._are_long(grants):
                await self._announce(grants, announce)
                grants = self._allocate(wanted, in_hand)
                if not self._announced <= {grant.lane.id for grant in grants}:
                    self.long_jobs.set()  # the other workers should soon know what was given back
            self.is_held_back = not grants
            if not grants:
                break
            claims = await self._claim(grants)
        return claims

    def _allocate(self, wanted: int, in_hand: Callable[[str], int]) -> list[Grant]:
        return self.queue.allocate(wanted, self.usage.estimates.of, self._room(in_hand))

    def _are_long(self, grants: Sequence[Grant]) -> bool:
        """Whether tenants compete for the slots, and other workers should know of the grants before the claim."""
        return len(self.queue) > 1 and any(grant.cost >= LONG and self._is_announced(grant.lane) for grant in grants)

    def _is_announced(self, lane: Lane) -> bool:
        """Whether other workers are told before a claim from the lane.

        A tenant that already has jobs here may have one too many. Guesses of the pool are far too long to be told.
        """
        if self.usage.has_jobs(lane):
            return False
        estimates = self.usage.estimates
        if len(self.queue) > FEW:
            return not estimates.is_guess(lane)
        return not estimates.is_unknown(lane.type)

    async def _announce(self, grants: Sequence[Grant], announce: Announce) -> None:
        """Let other workers know of the charges, and hear of theirs; then give the grants back, to allocate again.

        Else two workers would both start a long job of a tenant that is due one of them.
        """
        try:
            if await announce():
                self._announced = frozenset(grant.lane.id for grant in grants if grant.cost >= LONG)
        finally:
            self.queue.give_back_all((grant, grant.most) for grant in grants)

    async def _claim_behind_breakers(self, wanted: int) -> list[Claim]:
        """Claim what breakers permit, from the first group of lanes that has something; each is tried once a look."""
        while self._view.behind_breakers:
            names = self._breakers_of(self._view.behind_breakers[0].lane)
            group: list[ActiveLane] = []
            others: list[ActiveLane] = []
            for active in self._view.behind_breakers:
                (group if self._breakers_of(active.lane) == names else others).append(active)
            self._view.behind_breakers = others
            permit = await self._breakers.ask(names, wanted)
            if permit is not None and (claims := await self._claim(self._permitted(permit, group), permit)):
                return claims
        return []

    def _permitted(self, permit: Permit, lanes: list[ActiveLane]) -> list[Grant]:
        """The permitted runs as grants, charged as all grants are."""
        cost = self.usage.estimates.of
        shares = spread(lanes, permit.runs).items()
        grants = [Grant(lane, most, 0.0, cost(lane)) for lane, most in shares]
        self.queue.charge(grants)
        return grants

    async def _claim(self, grants: Sequence[Grant], permit: Permit | None = None) -> list[Claim]:
        """Claim what was granted as far as there are jobs and limits allow, and account for it."""
        claims: list[Claim] = []
        try:
            plain, limited = self._split_by_limits(grants)
            if plain:
                claims = await self._claim_plain(plain)
            if limited:
                claims = claims + await self._claim_limited(limited, is_alone=not claims)
        finally:
            self._account(grants, claims, permit)
        return claims

    def _split_by_limits(self, grants: Sequence[Grant]) -> tuple[list[Quota], list[LimitedQuota]]:
        back, self._look_back = self._look_back, 0.0
        quotas = [Quota(grant.lane.id, grant.most, grant.since - back) for grant in grants]
        if not self.gate.rules.any:
            return quotas, []
        return self.gate.split(quotas, {grant.lane.id: grant.lane for grant in grants}.__getitem__)

    async def _claim_plain(self, quotas: list[Quota]) -> list[Claim]:
        with self._unanswered.doubting(self._new_lease()) as lease:
            return await self._store.jobs.claim(quotas, lease)

    async def _claim_limited(self, wanted: list[LimitedQuota], is_alone: bool) -> list[Claim]:
        """Claim under limits; if the store goes away here, what was claimed without limits must not be lost."""
        try:
            with self._unanswered.doubting(self._new_lease()) as lease:
                answer = await self._store.limits.claim(wanted, self.gate.rules, lease)
        except StoreError:
            if is_alone:
                raise
            return []
        self.gate.learn(wanted, answer)
        return answer.claims

    def _new_lease(self) -> Lease:
        """A lease with a token of its own for each claim, which tells an answer that was lost from all others."""
        return Lease(self._owner, str(uuid.uuid4()))

    def _account(self, grants: Sequence[Grant], claims: list[Claim], permit: Permit | None) -> None:
        """Charge for the claims, give back the rest of the grants, and keep the view right.

        A lane that gave less than asked for is empty; of the others, nothing before the last job is left. Lanes behind
        breakers are in no view.
        """
        taken = Counter([claim.lane.id for claim in claims])
        last = {claim.lane.id: claim.ready_at for claim in claims} if permit is None else {}
        rests = []
        for grant in grants:
            count = taken[grant.lane.id]
            self.usage.started(grant.lane, count, grant.cost)
            if count < grant.most:
                rests.append((grant, grant.most - count))
            elif permit is None:
                self._keep_in_view(ActiveLane(grant.lane, last[grant.lane.id]))
            if count and grant.cost >= LONG and grant.lane.id not in self._announced:
                self._hint_long_jobs(grant.lane)
        if permit is None:
            for grant, _ in rests:  # before they are given back: who does not compete needs no new place
                self.queue.drop(grant.lane)
        else:
            self._breakers.began(permit, claims)
        self.queue.give_back_all(rests)

    def _hint_long_jobs(self, lane: Lane) -> None:
        if not self.usage.estimates.is_guess(lane):
            self.long_jobs.set()

    def _keep_in_view(self, active: ActiveLane) -> None:
        """A lane that is kept aside, since a limit is full, comes back by itself."""
        if active.lane.id in self.gate.aside:
            self.queue.drop(active.lane)
        else:
            self.queue.add(active)

    def _room(self, in_hand: Callable[[str], int]) -> dict[str, int]:
        """How many more jobs of a pool this worker may take, for those of the pools that have such a limit."""
        alone, get = len(self._pools) == 1, self._pool_settings.get
        pools = self.queue.pools()
        return {pool: most - in_hand(pool) for pool in pools if (most := get(pool).room(alone)) is not None}

    def _follow_controls(self, kinds: frozenset[str]) -> None:
        if LIMIT in kinds:
            self.gate.follow(self.controls)

    def _has_gates(self) -> bool:
        """Whether any lane may be closed, for one reason or another."""
        return has_gates(self.controls) or bool(self._tripping)

    def _is_open(self, lane: Lane) -> bool:
        return (not self._has_gates() or self._passes(lane)) and self.gate.is_open(lane)

    def _passes(self, lane: Lane) -> bool:
        """Whether nobody has closed it, and no breaker is in its way or about to be."""
        breakers = self._specs[lane.type].breakers
        if limiting(self.controls, breakers, lane.tenant):
            return False
        if self._tripping is not None and self._tripping.hold(breakers, lane.tenant):
            return False
        return why_closed(lane, self.controls) is None

    def _breakers_of(self, lane: Lane) -> tuple[str, ...]:
        """The breakers that are not closed and that its runs go through."""
        return limiting(self.controls, self._specs[lane.type].breakers, lane.tenant)

    def _awaits_permit(self, lane: Lane) -> bool:
        """Whether it is not closed, but behind a breaker that lets a few through."""
        names = self._breakers_of(lane)
        if not names:
            return False
        return why_closed(lane, self.controls, self._specs[lane.type].breakers, self._control_view.now) is None

    def _is_ours(self, lane: Lane) -> bool:
        if lane.pool not in self._pools or lane.type not in self._specs:
            return False
        if self._reserve and lane.tenant not in self._reserve:
            return False
        return lane.version <= self._specs[lane.type].version


class View:
    """What is known of active lanes besides those in the queue, and when to look again."""

    def __init__(self) -> None:
        self.left_out: set[int] = set()  # lanes that had work at the last look, none of which is to be claimed
        self.behind_breakers: list[ActiveLane] = []  # lanes to be claimed from with permits
        self._read_at = 0.0
        self._read_for = 0.0
        self._more_at = 0.0
        self._more_for = 0.0

    def distrust(self) -> None:
        """Look at all lanes before the next claim."""
        self._read_at = 0.0

    def is_old(self, is_hinted: bool) -> bool:
        """Whether to look at all lanes before the next claim."""
        fresh = PATIENT * self._read_for if is_hinted else max(FRESH, THRIFTY * self._read_for)
        return time.monotonic() - self._read_at > fresh

    def was_read(self, began: float, left_out: set[int], behind_breakers: list[ActiveLane]) -> None:
        """A look at all lanes is over."""
        self.left_out, self.behind_breakers = left_out, behind_breakers
        self._read_at = time.monotonic()
        self._read_for = self._read_at - began

    def may_look_for_more(self) -> bool:
        """Whether a look for new lanes would not take too much of the time."""
        return time.monotonic() - self._more_at > PATIENT * self._more_for

    def looked_for_more(self, began: float) -> None:
        """A look for new lanes is over."""
        self._more_at = time.monotonic()
        self._more_for = self._more_at - began
