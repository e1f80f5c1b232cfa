"""Token buckets in this process: what each caller has left. Other processes have buckets of their own."""

import time
from collections.abc import Callable
from typing import NamedTuple

from fairlead.core.protection.token_bucket import Bucket, RateLimit, left

MOST_NAMES = 10_000


class Reading(NamedTuple):
    """What is left after an attempt to take one; `again_in` is 0 where it was taken, else the seconds until it can."""

    left: int
    full_in: float
    again_in: float


class Meter:
    """Buckets by name; of too many names, the one that was not used for longest begins anew."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST_NAMES) -> None:
        self._clock = clock
        self._most = most
        self._buckets: dict[str, Bucket] = {}

    def take(self, name: str, way: RateLimit) -> Reading:
        """Take one, if there is one."""
        now, buckets = self._clock(), self._buckets
        tokens, again_in = left(buckets.pop(name, None), way, now), 0.0
        if tokens >= 1:
            tokens -= 1
        else:
            again_in = (1 - tokens) / way.rate
        if len(buckets) >= self._most:
            del buckets[next(iter(buckets))]
        buckets[name] = Bucket(tokens, now)
        return Reading(int(tokens), (way.burst - tokens) / way.rate, again_in)

    def again_in(self, name: str, way: RateLimit) -> float:
        """The seconds until one can be taken."""
        return max(0.0, (1 - left(self._buckets.get(name), way, self._clock())) / way.rate)
