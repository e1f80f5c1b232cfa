"""When simulated tenants submit."""

from collections.abc import Iterator
from random import Random

from fairlead.sim.scenario import TenantPlan

Arrival = tuple[float, int]  # the instant, and how many jobs


def arrivals(plan: TenantPlan, rate: float, jobs: int, rng: Random) -> Iterator[Arrival]:
    """What a tenant submits, in order, without end unless the plan has one; a backlog is not submitted, it is there."""
    if plan.pattern == "at-once":
        return iter([(plan.begin, jobs)] if jobs else [])
    if plan.pattern == "backlog" or rate <= 0:
        return iter(())
    made = {"poisson": _poisson, "constant": _constant, "bursty": _bursty}[plan.pattern](plan, rate, rng)
    return _within(plan, made)


def _within(plan: TenantPlan, instants: Iterator[float]) -> Iterator[Arrival]:
    for instant in instants:
        if plan.end is not None and plan.begin + instant >= plan.end:
            return
        yield plan.begin + instant, 1


def _poisson(plan: TenantPlan, rate: float, rng: Random) -> Iterator[float]:
    now = 0.0
    while True:
        now += rng.expovariate(rate)
        yield now


def _constant(plan: TenantPlan, rate: float, rng: Random) -> Iterator[float]:
    """Evenly spaced; where in the first interval it begins is left to chance, so that tenants do not march in step."""
    gap = 1.0 / rate
    now = rng.random() * gap
    while True:
        yield now
        now += gap


def _bursty(plan: TenantPlan, rate: float, rng: Random) -> Iterator[float]:
    """All jobs of a period within its burst: a Poisson stream in the time of bursts alone, stretched to real time."""
    lasting = plan.burst_every / plan.burst
    skipped = rng.random() * plan.burst_every
    for busy in _poisson(plan, rate * plan.burst, rng):
        period, within = divmod(busy, lasting)
        instant = period * plan.burst_every + within - skipped
        if instant >= 0:
            yield instant
