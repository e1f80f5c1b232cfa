"""Random load: when simulated tenants submit, and how long their jobs run."""

import math
from collections.abc import Callable, Iterator
from random import Random

from fairlead.sim.scenario import Duration, TenantPlan

Arrival = tuple[float, int]  # the instant, and how many jobs
Sampler = Callable[[Random], float]
SHORTEST = 1e-6


def sampler(duration: Duration) -> Sampler:
    """Return a function that draws a run time in seconds; the mean of lognormal ones does not depend on sigma."""
    mean, most = duration.mean, math.inf if duration.most is None else duration.most
    if duration.kind == "fixed":
        return lambda rng: mean
    if duration.kind == "exponential":
        rate = 1.0 / mean
        return lambda rng: min(most, max(SHORTEST, rng.expovariate(rate)))
    sigma = duration.sigma
    mu = math.log(mean) - sigma * sigma / 2
    return lambda rng: min(most, max(SHORTEST, rng.lognormvariate(mu, sigma)))


def arrivals(plan: TenantPlan, rate: float, jobs: int, rng: Random) -> Iterator[Arrival]:
    """A tenant's submissions in the order of time, up to the end of its plan; empty for a backlog."""
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
    """Evenly spaced instants with a random offset, so that tenants do not submit at the same time."""
    gap = 1.0 / rate
    now = rng.random() * gap
    while True:
        yield now
        now += gap


def _bursty(plan: TenantPlan, rate: float, rng: Random) -> Iterator[float]:
    """Jobs only within bursts: a Poisson process over the bursts' time, mapped to real time."""
    lasting = plan.burst_every / plan.burst
    skipped = rng.random() * plan.burst_every
    for busy in _poisson(plan, rate * plan.burst, rng):
        period, within = divmod(busy, lasting)
        instant = period * plan.burst_every + within - skipped
        if instant >= 0:
            yield instant
