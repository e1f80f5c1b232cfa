"""The results of a simulation: shares, waits and costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from typing import Any

from fairlead.core.fairness.entitlement import jain
from fairlead.sim.engine import Engine
from fairlead.sim.ledger import Ledger, Meter
from fairlead.sim.scenario import PoolPlan, Scenario

QUANTA = 20  # a tenant's share error counts if it was entitled to this many average jobs
DAY_HOURS = 24.0


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds from ready to running, and what they would be if the tenant had the pool for itself."""

    p50: float
    p99: float
    alone_p50: float
    alone_p99: float


@dataclass(frozen=True, slots=True)
class TenantFinding:
    """What one tenant got of one pool."""

    name: str
    tier: str
    weight: float
    jobs: int
    entitled: float
    delivered: float
    judged: bool
    waits: Waits | None

    @property
    def ratio(self) -> float:
        """Delivered over entitled."""
        return self.delivered / self.entitled if self.entitled > 0 else 1.0

    @property
    def error(self) -> float:
        """The share error: the difference of delivered and entitled, as a part of entitled."""
        return abs(self.ratio - 1.0)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        waits = None if self.waits is None else {name: getattr(self.waits, name) for name in Waits.__slots__}
        plain = {name: getattr(self, name) for name in ("name", "tier", "weight", "jobs", "entitled", "delivered")}
        return {**plain, "share_error": self.error, "judged": self.judged, "waits": waits}


@dataclass(frozen=True, slots=True)
class PoolFinding:
    """The results of one pool."""

    pool: str
    plan: PoolPlan
    seconds: float
    jobs: int
    busy: float
    waits: tuple[float, float, float] | None  # p50, p99, longest, over all jobs
    late: float | None  # the part of all jobs that waited longer than the target
    tenants: tuple[TenantFinding, ...]
    ledger: Ledger

    @property
    def judged(self) -> list[TenantFinding]:
        """The tenants that had enough work for their share to be judged; the largest errors first."""
        return sorted((tenant for tenant in self.tenants if tenant.judged), key=lambda one: -one.error)

    @property
    def jain(self) -> float:
        """Jain's index of delivered over entitled."""
        return jain([tenant.ratio for tenant in self.judged]) if self.judged else 1.0

    @property
    def worst_share_error(self) -> float:
        """The largest share error."""
        return self.judged[0].error if self.judged else 0.0

    @property
    def cost_per_day(self) -> float | None:
        """What the whole pool costs in a day, at the price of a slot-hour."""
        price = self.plan.slot_hour_price
        return None if price is None else self.plan.slots * DAY_HOURS * price

    def document(self) -> dict[str, Any]:
        """For JSON."""
        p50, p99, longest = self.waits or (None, None, None)
        return {
            "pool": self.pool,
            "slots": self.plan.slots,
            "simulated_slots": self.plan.simulated_slots,
            "workers": self.plan.workers,
            "measured_seconds": self.seconds,
            "jobs": self.jobs,
            "busy": self.busy,
            "jain": self.jain,
            "worst_share_error": self.worst_share_error,
            "tenants": len(self.tenants),
            "judged_tenants": len(self.judged),
            "wait_p50": p50,
            "wait_p99": p99,
            "wait_max": longest,
            "wait_target": self.plan.wait_target,
            "late_part": self.late,
            "cost_per_day": self.cost_per_day,
        }


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of a scenario."""

    scenario: Scenario
    pools: tuple[PoolFinding, ...]

    @property
    def jain(self) -> float:
        """The lowest of the pools."""
        return min(pool.jain for pool in self.pools)

    @property
    def worst_share_error(self) -> float:
        """The highest of the pools."""
        return max(pool.worst_share_error for pool in self.pools)

    @property
    def cost_per_day(self) -> float | None:
        """The sum of the pools, if every one of them has a price."""
        costs = [pool.cost_per_day for pool in self.pools]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def document(self, most: int) -> dict[str, Any]:
        """For JSON, with so many tenants of each pool, the largest errors first."""
        return {
            "scenario": self.scenario.name,
            "seed": self.scenario.seed,
            "jain": self.jain,
            "worst_share_error": self.worst_share_error,
            "jobs": sum(pool.jobs for pool in self.pools),
            "cost_per_day": self.cost_per_day,
            "pools": [
                {**pool.document(), "worst_tenants": [one.document() for one in listed(pool, most)]}
                for pool in self.pools
            ],
        }


def simulate(scenario: Scenario) -> Findings:
    """Run every pool of a scenario."""
    return Findings(scenario, tuple(_pool(scenario, name) for name in scenario.pools))


def listed(pool: PoolFinding, most: int) -> list[TenantFinding]:
    """The tenants to list: judged ones by error, then the others by entitlement, the largest first."""
    rest = sorted((tenant for tenant in pool.tenants if not tenant.judged), key=lambda one: -one.entitled)
    return [*pool.judged, *rest][:most]


def percentile(ordered: Sequence[float], percent: float) -> float:
    """A percentile of sorted values."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def waits_without_others(ready: Iterable[float], durations: Iterable[float], slots: int) -> list[float]:
    """The wait of each job if the tenant had all slots for itself, first come, first served."""
    ends: list[float] = []
    waits = []
    for instant, duration in sorted(zip(ready, durations, strict=True), key=lambda job: job[0]):
        while ends and ends[0] <= instant:
            heappop(ends)
        if len(ends) < slots:
            waits.append(0.0)
            heappush(ends, instant + duration)
        else:
            start = ends[0]
            waits.append(start - instant)
            heapreplace(ends, start + duration)
    return waits


def _pool(scenario: Scenario, pool: str) -> PoolFinding:
    engine = Engine(scenario, pool)
    ledger = engine.run()
    every: list[float] = []
    tenants = []
    for number, meter in enumerate(ledger.meters):
        waits = _measured_waits(engine, number)
        every += waits
        tenants.append(_tenant(engine, number, meter, waits))
    every.sort()
    target = engine.plan.wait_target
    late = sum(1 for wait in every if wait > target) / len(every) if target is not None and every else None
    return PoolFinding(
        pool=pool,
        plan=engine.plan,
        seconds=engine.length - ledger.begin,
        jobs=sum(meter.ended for meter in ledger.meters),
        busy=ledger.busy,
        waits=(percentile(every, 50), percentile(every, 99), every[-1]) if every else None,
        late=late,
        tenants=tuple(tenants),
        ledger=ledger,
    )


def _measured_waits(engine: Engine, number: int) -> list[float]:
    """Waits of the jobs that became ready in the measured time; waiting jobs count with their wait so far."""
    begin, meter = engine.ledger.begin, engine.ledger.meters[number]
    waits = [wait for ready, wait in zip(meter.ready, meter.waits, strict=True) if ready >= begin]
    for queue in engine.own_queues[number]:
        waits += [engine.length - ready for ready in queue.times if ready >= begin]
    return waits


def _tenant(engine: Engine, number: int, meter: Meter, waits: list[float]) -> TenantFinding:
    ledger, tenant = engine.ledger, meter.tenant
    entitled = ledger.entitled[number]
    return TenantFinding(
        name=tenant.name,
        tier=tenant.tier,
        weight=tenant.weighting.weight,
        jobs=meter.ended,
        entitled=entitled,
        delivered=ledger.delivered[number],
        judged=entitled > 0 and entitled >= QUANTA * engine.job_times[number],
        waits=_waits(meter, waits, engine.plan.simulated_slots) if waits else None,
    )


def _waits(meter: Meter, waits: list[float], slots: int) -> Waits:
    ordered = sorted(waits)
    alone = sorted(waits_without_others(meter.ready, meter.durations, slots)) or [0.0]
    return Waits(percentile(ordered, 50), percentile(ordered, 99), percentile(alone, 50), percentile(alone, 99))
