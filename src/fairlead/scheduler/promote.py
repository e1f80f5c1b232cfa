"""Promotes due jobs to ready, at a bounded rate for the shard and for each tenant.

Usually all due jobs fit into the rates and become ready in the order of their time. When more are due, as after an
outage, the lanes with due jobs are read one by one, and each gets its part of the rates; see core.promotion.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from fairlead.core.jobs.model import Quota
from fairlead.core.protection.token_bucket import Bucket
from fairlead.core.schedule.promotion import DueJobs, DueLane, share_out, spend, tokens
from fairlead.records.store import Store
from fairlead.telemetry.events import PromoterBehind, PromoterCaughtUp, Telemetry

BATCH = 1000
LONGEST_SLEEP = 2.0
PACE = 0.1  # seconds between two rounds while the rates hold jobs back
FRESH = 10.0  # the view of due lanes is kept for so many times as long as reading it took
BEHIND = 5.0
SAY_EVERY = 10.0


class Budget:
    """How many jobs may be promoted now: token buckets of the shard and of recently promoted tenants."""

    def __init__(self, rate: float, tenant_rate: float) -> None:
        self._rate = rate
        self._tenant_rate = tenant_rate
        self._shard: Bucket | None = None
        self._tenants: dict[str, Bucket] = {}

    def left(self, now: float) -> int:
        """Tokens left for the shard."""
        return int(tokens(self._shard, self._rate, now))

    def left_of(self, lanes: Sequence[DueLane], now: float) -> dict[str, int]:
        """Tokens left for each tenant of these lanes."""
        tenants = {lane.lane.tenant for lane in lanes}
        return {tenant: int(tokens(self._tenants.get(tenant), self._tenant_rate, now)) for tenant in tenants}

    def spend(self, moved: Mapping[str, int], now: float) -> None:
        """Take tokens for promoted jobs; full buckets are dropped."""
        self._shard = spend(self._shard, self._rate, now, sum(moved.values()))
        for tenant, count in moved.items():
            self._tenants[tenant] = spend(self._tenants.get(tenant), self._tenant_rate, now, count)
        full = tokens(None, self._tenant_rate, now)
        self._tenants = {
            tenant: bucket for tenant, bucket in self._tenants.items() if tokens(bucket, self._tenant_rate, now) < full
        }


class Promoter:
    """Sleeps until the next job is due; a hint wakes it when an earlier one arrives."""

    name = "promote"

    def __init__(
        self,
        store: Store,
        rate: float,
        tenant_rate: float,
        telemetry: Telemetry,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._budget = Budget(rate, tenant_rate)
        self._telemetry = telemetry
        self._clock = clock
        self._crowd: list[DueLane] = []
        self._look_at = float("-inf")
        self._said_at: float | None = None
        self.oldest_due_unpromoted_age = 0.0

    async def run_once(self) -> float:
        """Promote one batch; returns the seconds until the next job is due or may be promoted."""
        due = await self._store.promotion.due(BATCH)
        self._note_age(due.overdue or 0.0)
        if not due.lanes:
            return LONGEST_SLEEP if due.next_due is None else min(due.next_due, LONGEST_SLEEP)
        quotas, all_fit = await self._share_out(due)
        if not quotas:
            return PACE
        promoted = await self._store.promotion.promote(sum(quota.most for quota in quotas), None if all_fit else quotas)
        self._budget.spend(promoted.tenants, self._clock())
        if promoted.pools:
            await self._store.jobs.wake(promoted.pools)
        return 0.0 if promoted.moved and (all_fit or promoted.moved >= BATCH) else PACE

    async def _share_out(self, due: DueJobs) -> tuple[list[Quota], bool]:
        """The quotas that the rates allow, and whether they cover all due jobs."""
        now = self._clock()
        lanes = due.lanes if due.is_complete else await self._all_due_lanes()
        quotas = share_out(lanes, min(BATCH, self._budget.left(now)), self._budget.left_of(lanes, now))
        wanted = sum(lane.jobs for lane in lanes)
        return quotas, due.is_complete and sum(quota.most for quota in quotas) == wanted

    async def _all_due_lanes(self) -> Sequence[DueLane]:
        began = self._clock()
        if not self._crowd or began >= self._look_at:
            self._crowd = await self._store.promotion.due_lanes()
            ended = self._clock()
            self._look_at = ended + (ended - began) * FRESH
        return self._crowd

    def _note_age(self, age: float) -> None:
        """Record the age of the oldest due job that is not promoted, and emit an event when it is high."""
        self.oldest_due_unpromoted_age = age
        now = self._clock()
        if age >= BEHIND and (self._said_at is None or now - self._said_at >= SAY_EVERY):
            self._said_at = now
            self._telemetry.emit(PromoterBehind(age))
        elif age < BEHIND and self._said_at is not None:
            self._said_at = None
            self._telemetry.emit(PromoterCaughtUp())
