"""How long a job will probably take: a moving average for each tenant's jobs of a type.

The jobs of one type may take a hundred times as long for one tenant as for another. So the average of the type only
says what a tenant's first jobs are charged, and they are charged a second at least: a tenant whose jobs take longer
than those of others must not start more of them than its share while nobody knows.
"""

from collections.abc import Callable
from typing import NamedTuple

from fairlead.core.jobs.model import Lane
from fairlead.core.jobs.pools import BUILT_IN, Pool

LEAST = 0.000_1  # seconds; what a job is charged at least, so that no job is free
KEPT = 0.95  # of the average, at each new observation; of the first ones less, so that all of them count alike
LONG = 1.0  # seconds; jobs that will probably take so long are told to the other workers at once
UNPROVEN = 1.0  # seconds; what a tenant's jobs of a type are charged at least before one of them has ended
MOST_KNOWN = 20_000  # types and tenants; those whose jobs have not ended for longest are forgotten


class Average(NamedTuple):
    """A moving average, and how many observations it comes from, as far as that matters."""

    seconds: float
    count: int


def built_in(name: str) -> Pool:
    """A pool as it is when nobody has changed it."""
    return BUILT_IN.get(name) or Pool(name)


class Estimates:
    """The expected duration of each tenant's jobs of a type."""

    def __init__(self, pool_of: Callable[[str], Pool] = built_in, most_known: int = MOST_KNOWN) -> None:
        self._pool_of = pool_of
        self._most_known = most_known
        self._types: dict[str, Average] = {}
        self._own: dict[tuple[str, str], Average] = {}  # by type and tenant, in the order of the last observation

    def of(self, lane: Lane) -> float:
        """The seconds that a job of this lane is charged in advance."""
        own = self._own.get((lane.type, lane.tenant))
        return self._unproven(lane) if own is None else own.seconds

    def of_type(self, pool: str, job_type: str) -> float:
        """The seconds that a job of this type is expected to take; the pool's guess if the type never ran."""
        average = self._types.get(job_type)
        return self._pool_of(pool).estimate if average is None else average.seconds

    def is_guess(self, lane: Lane) -> bool:
        """Whether none of the tenant's jobs of this type has ended here, as far as is known."""
        return (lane.type, lane.tenant) not in self._own

    def learn(self, lane: Lane, count: int, seconds: float) -> None:
        """So many more jobs of the lane took so many seconds together."""
        self.learn_type(lane.type, count, seconds)
        key = (lane.type, lane.tenant)
        self._own[key] = _followed(self._own.pop(key, None), count, seconds)
        if len(self._own) > self._most_known:
            del self._own[next(iter(self._own))]

    def learn_type(self, job_type: str, count: int, seconds: float) -> None:
        """So many more jobs of the type took so many seconds together, whoever's they were."""
        self._types[job_type] = _followed(self._types.get(job_type), count, seconds)

    def _unproven(self, lane: Lane) -> float:
        guess = self._pool_of(lane.pool).estimate
        average = self._types.get(lane.type)
        return guess if average is None else max(average.seconds, min(guess, UNPROVEN))


def _followed(before: Average | None, count: int, seconds: float) -> Average:
    """The average after so many more observations."""
    mean = max(LEAST, seconds / count)
    if before is None:
        return Average(mean, count)
    total = before.count + count
    kept = min(KEPT**count, before.count / total)
    return Average(before.seconds * kept + mean * (1.0 - kept), total)
