"""Run time estimates: a moving average for each tenant's jobs of a type.

Jobs of one type may take a hundred times as long for one tenant as for another. So a tenant whose jobs of a type have
not run yet is charged the average of the type, but at least a second: if its jobs take longer than those of others, it
does not start more of them than its share before the first one has ended.
"""

from collections.abc import Callable
from typing import NamedTuple

from fairlead.core.jobs.model import Lane
from fairlead.core.jobs.pools import BUILT_IN, Pool

LEAST = 0.000_1  # seconds; the least charge, so that no job is free
KEPT = 0.95  # the weight of the old average at each new run; the first runs count alike
LONG = 1.0  # seconds; claims of jobs with so long estimates are shared with other workers at once
UNPROVEN = 1.0  # seconds; the least charge for a tenant's jobs of a type before one has ended
MOST_KNOWN = 20_000  # pairs of type and tenant; the least recently used are forgotten


class Average(NamedTuple):
    """A moving average, and the number of runs in it."""

    seconds: float
    runs: int


def built_in(name: str) -> Pool:
    """A pool as it is when nobody has changed it."""
    return BUILT_IN.get(name) or Pool(name)


class Estimates:
    """The expected run time of each tenant's jobs of a type."""

    def __init__(self, pool_of: Callable[[str], Pool] = built_in, most_known: int = MOST_KNOWN) -> None:
        self._pool_of = pool_of
        self._most_known = most_known
        self._types: dict[str, Average] = {}
        self._own: dict[tuple[str, str], Average] = {}  # by (type, tenant), least recently used first

    def of(self, lane: Lane) -> float:
        """Return what a job of the lane is charged in advance, in seconds."""
        own = self._own.get((lane.type, lane.tenant))
        return self._unproven(lane) if own is None else own.seconds

    def of_type(self, pool: str, job_type: str) -> float:
        """Return the expected run time of a type in seconds; the estimate of its pool if the type never ran."""
        average = self._types.get(job_type)
        return self._pool_of(pool).estimate if average is None else average.seconds

    def is_guess(self, lane: Lane) -> bool:
        """Whether none of the tenant's jobs of this type has ended yet in this worker."""
        return (lane.type, lane.tenant) not in self._own

    def is_unknown(self, job_type: str) -> bool:
        """Whether no job of the type has ended yet, as far as this worker knows."""
        return job_type not in self._types

    def learn(self, lane: Lane, count: int, seconds: float) -> None:
        """Add `count` ended jobs of a lane that took `seconds` in all."""
        self.learn_type(lane.type, count, seconds)
        key = (lane.type, lane.tenant)
        self._own[key] = _followed(self._own.pop(key, None), count, seconds)
        if len(self._own) > self._most_known:
            del self._own[next(iter(self._own))]

    def learn_type(self, job_type: str, count: int, seconds: float) -> None:
        """Add `count` ended jobs of a type, of whatever tenants, that took `seconds` in all."""
        self._types[job_type] = _followed(self._types.get(job_type), count, seconds)

    def _unproven(self, lane: Lane) -> float:
        guess = self._pool_of(lane.pool).estimate
        average = self._types.get(lane.type)
        return guess if average is None else max(average.seconds, min(guess, UNPROVEN))


def _followed(before: Average | None, count: int, seconds: float) -> Average:
    """Return the average after `count` more runs."""
    mean = max(LEAST, seconds / count)
    if before is None:
        return Average(mean, count)
    runs = before.runs + count
    kept = min(KEPT**count, before.runs / runs)
    return Average(before.seconds * kept + mean * (1.0 - kept), runs)
