"""How long simulated runs take."""

import math
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.sim.scenario import Duration

Sampler = Callable[[Random], float]
SHORTEST = 1e-6


def sampler(duration: "Duration") -> Sampler:
    """A function that draws the seconds of one run; lognormal ones keep their mean whatever their spread."""
    mean, most = duration.mean, math.inf if duration.most is None else duration.most
    if duration.kind == "fixed":
        return lambda rng: mean
    if duration.kind == "exponential":
        rate = 1.0 / mean
        return lambda rng: min(most, max(SHORTEST, rng.expovariate(rate)))
    sigma = duration.sigma
    mu = math.log(mean) - sigma * sigma / 2
    return lambda rng: min(most, max(SHORTEST, rng.lognormvariate(mu, sigma)))
