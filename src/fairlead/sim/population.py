"""The tenants of a pool, and how many jobs of which type and priority each submits."""

from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from fairlead.core.fairness.tenancy import Tenant
from fairlead.core.jobs.model import Lane
from fairlead.sim.scenario import Scenario, TenantPlan


class Stream(NamedTuple):
    """The jobs of one type and priority, and their part of all that a tenant submits to the pool."""

    type: str
    lane: Lane
    part: float


class Member(NamedTuple):
    """A tenant as one pool sees it."""

    tenant: Tenant
    plan: TenantPlan
    rate: float
    jobs: int
    streams: tuple[Stream, ...]

    def chooser(self) -> list[float]:
        """The cumulative parts of the streams; `pick` finds the stream of a random number."""
        return list(accumulate(stream.part for stream in self.streams))[:-1]


def population(scenario: Scenario, pool: str) -> Iterator[Member]:
    """Every tenant that has jobs for the pool, with its load multiplied by the pool's scale."""
    scale = scenario.pools[pool].scale
    for plan in scenario.tenants:
        mix = _mix(scenario, plan)
        total = sum(mix.values())
        ours = {name: part for name, part in mix.items() if scenario.types[name].pool == pool}
        if not ours:
            continue
        fraction = sum(ours.values()) / total * scale
        for number, part in enumerate(_parts(plan)):
            tenant = _tenant(plan, number)
            rate = (plan.rate or 0.0) * part * fraction
            jobs = round((plan.jobs or 0) * part * fraction)
            yield Member(tenant, plan, rate, jobs, _streams(scenario, pool, tenant.name, ours))


def pick(bounds: Sequence[float], rng: Random) -> int:
    """Draw the index of a stream."""
    return bisect(bounds, rng.random()) if bounds else 0


def _mix(scenario: Scenario, plan: TenantPlan) -> dict[str, float]:
    if isinstance(plan.types, dict):
        return plan.types
    names = plan.types if plan.types is not None else list(scenario.types)
    return {name: scenario.types[name].part for name in names}


def _parts(plan: TenantPlan) -> list[float]:
    """Each tenant's part of what its group submits."""
    if plan.skew == "zipf":
        sizes = [1.0 / (number + 1) for number in range(plan.count)]
    else:
        step = plan.skew ** (-1.0 / max(1, plan.count - 1))
        sizes = [step**number for number in range(plan.count)]
    total = sum(sizes)
    return [size / total for size in sizes]


def _tenant(plan: TenantPlan, number: int) -> Tenant:
    weights = plan.weights()
    name = plan.name if plan.count == 1 else f"{plan.name}-{number + 1}"
    return Tenant(name, plan.tier, weights[number % len(weights)] if weights else None, plan.minimum)


def _streams(scenario: Scenario, pool: str, tenant: str, mix: dict[str, float]) -> tuple[Stream, ...]:
    total = sum(mix.values())
    streams = []
    for name, part in mix.items():
        priorities = scenario.types[name].priorities()
        whole = sum(share for _, share in priorities)
        for priority, share in priorities:
            lane = Lane(pool, tenant, name, priority, 1)
            streams.append(Stream(name, lane, part / total * share / whole))
    return tuple(streams)
