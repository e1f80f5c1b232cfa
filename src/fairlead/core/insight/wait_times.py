"""How long jobs waited until they were started, by pool: counted in buckets, so that counts of any workers add up.

The buckets are those of core.runtimes: a percentile is at most 12.5 % above the truth and never below it.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from fairlead.core.fairness.run_times import bucket_of, percentile, thinned

SAMPLE = 250  # waits of which the buckets are counted, each for as many others, where more have begun
AT_ONCE = 25  # and of so many, where more have begun at once
MINUTE = 60

Begun = tuple[str, float]  # the pool of a job that was started, and the seconds that it had waited
Key = TypeVar("Key", str, int)


class WaitCount(NamedTuple):
    """So many jobs of a pool had waited for so long when they were started; `minute` is when, since 1970."""

    pool: str
    bucket: int
    starts: int
    minute: int = 0


class Spread(NamedTuple):
    """How durations are spread: how many there were, and what this part of them did not exceed."""

    total: int
    p50: float
    p95: float
    p99: float


class Waits:
    """The waits that one worker has seen; where many jobs begin at once a sample of them is counted."""

    def __init__(self) -> None:
        self._begun: list[Begun] = []
        self._counts: dict[tuple[str, int], int] = {}
        self._random = Random()

    def begun(self, jobs: Sequence[Begun]) -> None:
        """Jobs were started."""
        if len(jobs) <= AT_ONCE:
            self._begun += jobs
        else:
            self._count(thinned(jobs, AT_ONCE, self._random))

    def sort(self) -> None:
        """Count the jobs that were started since the last call."""
        begun, self._begun = self._begun, []
        self._count(thinned(begun, SAMPLE, self._random))

    def _count(self, sample: Iterable[tuple[Begun, int]]) -> None:
        for (pool, waited), stands_for in sample:
            key = (pool, bucket_of(waited))
            self._counts[key] = self._counts.get(key, 0) + stands_for

    def take(self) -> list[WaitCount]:
        """The counts since the last time."""
        self.sort()
        counts, self._counts = self._counts, {}
        return [WaitCount(pool, bucket, starts) for (pool, bucket), starts in counts.items()]


def spread(counts: Mapping[int, int]) -> Spread | None:
    """The percentiles of counted durations; None where there are none."""
    total = sum(counts.values())
    if total == 0:
        return None
    return Spread(total, percentile(counts, 0.5), percentile(counts, 0.95), percentile(counts, 0.99))


def spread_of(counts: Iterable[WaitCount]) -> Spread | None:
    """The percentiles of all these waits together."""
    return spread(merged((count.bucket, count.starts) for count in counts))


def by_pool(counts: Iterable[WaitCount]) -> dict[str, Spread]:
    """The percentiles of each pool, by name."""
    return _spreads((count.pool, count) for count in counts)


def by_minute(counts: Sequence[WaitCount]) -> dict[int, Spread]:
    """The percentiles of each minute in which something was started, in order."""
    return _spreads((count.minute, count) for count in counts)


def merged(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Counts by bucket, added up."""
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
