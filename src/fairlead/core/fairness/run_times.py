"""Histogram buckets for durations: eight for each doubling, so that percentiles are exact to 12 %.

Buckets begin at multiples of a sixteenth of a power of two, so 1 second and 60 seconds are both bucket boundaries.
"""

from collections.abc import Mapping, Sequence
from math import frexp, ldexp
from random import Random
from typing import NamedTuple, TypeVar

PARTS = 8
SHORTEST = 0.000_1
LONGEST = 1e8

Item = TypeVar("Item")


class RunCount(NamedTuple):
    """The number of a type's runs in a bucket, and their seconds in all."""

    type: str
    bucket: int
    runs: int
    seconds: float


class Bar(NamedTuple):
    """A bar of a histogram: the runs that took from `begin` to less than `end` seconds."""

    begin: float
    end: float
    runs: int


def bucket_of(seconds: float) -> int:
    """Return the bucket of a duration."""
    part, power = frexp(min(max(seconds, SHORTEST), LONGEST))
    return power * PARTS + int(part * 2 * PARTS) - PARTS


def thinned(items: Sequence[Item], most: int, rng: Random) -> list[tuple[Item, int]]:
    """Return a random sample of at most `most` items, each with the number of items it stands for."""
    if len(items) <= most:
        return [(item, 1) for item in items]
    each = -(-len(items) // most)
    groups = [(at, min(each, len(items) - at)) for at in range(0, len(items), each)]
    return [(items[at + rng.randrange(size)], size) for at, size in groups]


def begin_of(bucket: int) -> float:
    """Return the shortest duration of a bucket."""
    power, part = divmod(bucket, PARTS)
    return ldexp((part + PARTS) / (2 * PARTS), power)


def percentile(counts: Mapping[int, int], part: float) -> float:
    """Return the upper end of the bucket with this percentile; `part` is from 0 to 1."""
    left = part * sum(counts.values())
    for bucket in sorted(counts):
        left -= counts[bucket]
        if left <= 0:
            return begin_of(bucket + 1)
    return 0.0


def histogram(counts: Mapping[int, int], bars: int = 2) -> list[Bar]:
    """Return the bars from shortest to longest without gaps, `bars` (1, 2, 4 or 8) for each doubling."""
    width = PARTS // bars
    runs: dict[int, int] = {}
    for bucket, count in counts.items():
        runs[bucket // width] = runs.get(bucket // width, 0) + count
    places = range(min(runs), max(runs) + 1) if runs else ()
    return [Bar(begin_of(place * width), begin_of((place + 1) * width), runs.get(place, 0)) for place in places]


def longer_than(counts: Mapping[int, int], seconds: float) -> int:
    """Return how many runs took that long or longer, to the precision of buckets."""
    return sum(count for bucket, count in counts.items() if begin_of(bucket) >= seconds)
