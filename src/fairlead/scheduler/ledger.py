"""Writes the ledger: the slot-seconds that each tenant was entitled to, beside those delivered."""

import time
from collections.abc import Callable

from fairlead.core.fairness.estimates import Estimates
from fairlead.core.fairness.ledger import Unsettled, WaitingWork, settle
from fairlead.core.fairness.tenancy import Tenants
from fairlead.core.jobs.model import Lane
from fairlead.core.jobs.pools import Pools
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.gates import why_closed
from fairlead.core.protection.run_counts import breakers_of
from fairlead.records.shares import LaneDepth
from fairlead.records.store import Store

INTERVAL = 10.0
MOST_COUNTED = 100_000  # jobs of a lane
UNSETTLED_FOR = 600.0
MEASURED_FOR = 24 * 3600.0
PRUNE_EVERY = 600.0
Backlogs = dict[tuple[str, str], WaitingWork]


class LedgerKeeper:
    """Divides the slot-seconds delivered since its last look by the tenants' entitlements."""

    name = "ledger"

    def __init__(self, store: Store, keep: float) -> None:
        self._store = store
        self._keep = keep
        self._before: Backlogs = {}
        self._pruned_at = 0.0
        self._controls = Controls()
        self._tenants = Tenants(self._controls)
        self._now = 0.0  # by the store's clock

    async def run_once(self) -> float:
        """Settle one period; returns the seconds until the next one."""
        depths = await self._store.shares.lane_depths(MOST_COUNTED)
        found, minute = await self._store.shares.unsettled_ledger(UNSETTLED_FOR)
        if depths or found or self._before:
            await self._settle(depths, found, minute)
        await self._prune()
        return INTERVAL

    async def _settle(self, depths: list[LaneDepth], found: list[Unsettled], minute: int) -> None:
        changed = await self._store.controls.read(self._controls.version)
        self._controls.follow(changed.controls)
        self._now = changed.now
        waiting = await self._backlogs(depths)
        names = {item.tenant for item in found} | {tenant for _, tenant in waiting}
        known = {name: self._tenants.get(name) for name in names}
        await self._store.shares.settle_ledger(settle(found, self._before, waiting, minute, known))
        self._before = waiting

    async def _backlogs(self, depths: list[LaneDepth]) -> Backlogs:
        estimates = Estimates(Pools(self._controls).get)
        for count in await self._store.shares.run_times(MEASURED_FOR) if depths else []:
            estimates.learn_type(count.type, count.runs, count.seconds)
        return backlogs_of(depths, estimates, self._is_closed)

    def _is_closed(self, lane: Lane) -> bool:
        """Whether a control or the type's breaker keeps the lane's jobs from starting; they earn no entitlement."""
        return why_closed(lane, self._controls, breakers_of(lane.type), self._now) is not None

    async def _prune(self) -> None:
        if time.monotonic() - self._pruned_at > PRUNE_EVERY:
            self._pruned_at = time.monotonic()
            await self._store.shares.prune(self._keep)


def backlogs_of(
    depths: list[LaneDepth], estimates: Estimates, is_closed: Callable[[Lane], bool] = lambda lane: False
) -> Backlogs:
    """The backlog of each tenant in each pool, in jobs and estimated seconds; closed lanes count no seconds."""
    found: Backlogs = {}
    for lane, _, depth in depths:
        before = found.get((lane.pool, lane.tenant), WaitingWork(0, 0.0))
        seconds = 0.0 if is_closed(lane) else depth * estimates.of_type(lane.pool, lane.type)
        found[lane.pool, lane.tenant] = WaitingWork(before.jobs + depth, before.seconds + seconds)
    return found
