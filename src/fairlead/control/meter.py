"""Token buckets in this process: what each caller has left. Other processes have buckets of their own."""

import time
from collections.abc import Callable
from typing import NamedTuple

from fairlead.core.buckets import Bucket, Flow, left, take, wait

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

    def take(self, name: str, way: Flow) -> Reading:
        """Take one, if there is one."""
        now = self._clock()
        bucket = take(self._buckets.pop(name, None), way, now, 0)
        again_in = wait(bucket, way, 1)
        if again_in == 0:
            bucket = bucket._replace(tokens=bucket.tokens - 1)
        if len(self._buckets) >= self._most:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[name] = bucket
        return Reading(int(bucket.tokens), wait(bucket, way, way.burst), again_in)

    def again_in(self, name: str, way: Flow) -> float:
        """The seconds until one can be taken."""
        bucket = self._buckets.get(name)
        return 0.0 if bucket is None or left(bucket, way, self._clock()) >= 1 else self._until(bucket, way)

    def _until(self, bucket: Bucket, way: Flow) -> float:
        return wait(take(bucket, way, self._clock(), 0), way, 1)
