"""Wait times of jobs from ready to started, by pool, counted in buckets so that the counts of all workers add up.

The buckets are those of core.fairness.run_times: a percentile is at most 12.5 % too high and never too low.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from fairlead.core.fairness.run_times import bucket_of, percentile, thinned

SAMPLE = 250  # waits that are sorted into buckets; each stands for as many others
AT_ONCE = 25  # started jobs; larger batches are sampled at once
MINUTE = 60

Begun = tuple[str, float]  # a started job's pool, and its wait in seconds
Key = TypeVar("Key", str, int)


class WaitCount(NamedTuple):
    """The number of a pool's jobs that started in `minute` (since 1970) with a wait in this bucket."""

    pool: str
    bucket: int
    starts: int
    minute: int = 0


class Spread(NamedTuple):
    """The number and the percentiles of durations."""

    total: int
    p50: float
    p95: float
    p99: float


class Waits:
    """The wait times of one worker's jobs; of large batches a sample is counted."""

    def __init__(self) -> None:
        self._begun: list[Begun] = []
        self._counts: dict[tuple[str, int], int] = {}
        self._random = Random()

    def begun(self, jobs: Sequence[Begun]) -> None:
        """Add started jobs."""
        if len(jobs) <= AT_ONCE:
            self._begun += jobs
        else:
            self._count(thinned(jobs, AT_ONCE, self._random))

    def sort(self) -> None:
        """Count the jobs added since the last call."""
        begun, self._begun = self._begun, []
        self._count(thinned(begun, SAMPLE, self._random))

    def _count(self, sample: Iterable[tuple[Begun, int]]) -> None:
        for (pool, waited), stands_for in sample:
            key = (pool, bucket_of(waited))
            self._counts[key] = self._counts.get(key, 0) + stands_for

    def take(self) -> list[WaitCount]:
        """Return and reset the counts."""
        self.sort()
        counts, self._counts = self._counts, {}
        return [WaitCount(pool, bucket, starts) for (pool, bucket), starts in counts.items()]


def spread(counts: Mapping[int, int]) -> Spread | None:
    """Return the percentiles of bucket counts; None if they are empty."""
    total = sum(counts.values())
    if total == 0:
        return None
    return Spread(total, percentile(counts, 0.5), percentile(counts, 0.95), percentile(counts, 0.99))


def spread_of(counts: Iterable[WaitCount]) -> Spread | None:
    """Return the percentiles of all these waits."""
    return spread(merged((count.bucket, count.starts) for count in counts))


def by_pool(counts: Iterable[WaitCount]) -> dict[str, Spread]:
    """Return the percentiles by pool."""
    return _spreads((count.pool, count) for count in counts)


def by_minute(counts: Sequence[WaitCount]) -> dict[int, Spread]:
    """Return the percentiles by minute, in order; minutes without starts are left out."""
    return _spreads((count.minute, count) for count in counts)


def merged(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the sum of counts by bucket."""
    found: dict[int, int] = {}
    for bucket, count in pairs:
        found[bucket] = found.get(bucket, 0) + count
    return found


def _spreads(counts: Iterable[tuple[Key, WaitCount]]) -> dict[Key, Spread]:
    groups: dict[Key, list[WaitCount]] = {}
    for key, count in counts:
        groups.setdefault(key, []).append(count)
    found = {key: spread_of(groups[key]) for key in sorted(groups)}
    return {key: value for key, value in found.items() if value is not None}
