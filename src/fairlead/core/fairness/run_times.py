"""How long jobs of a type run, counted in buckets: eight to each doubling, so that a percentile is exact to 12 %.

Buckets begin at whole sixteenths of powers of two, so 1 second and 60 seconds are both borders of buckets.
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
    """So many runs of a type fell into a bucket, and took so many seconds together."""

    type: str
    bucket: int
    runs: int
    seconds: float


class Bar(NamedTuple):
    """A bar of a histogram: so many runs took from `begin` to less than `end` seconds."""

    begin: float
    end: float
    runs: int


def bucket_of(seconds: float) -> int:
    """The bucket of a duration."""
    part, power = frexp(min(max(seconds, SHORTEST), LONGEST))
    return power * PARTS + int(part * 2 * PARTS) - PARTS


def thinned(items: Sequence[Item], most: int, rng: Random) -> list[tuple[Item, int]]:
    """At most so many of the items, and for how many each stands: any one of those, since items may come in turns."""
    if len(items) <= most:
        return [(item, 1) for item in items]
    each = -(-len(items) // most)
    groups = [(at, min(each, len(items) - at)) for at in range(0, len(items), each)]
    return [(items[at + rng.randrange(size)], size) for at, size in groups]


def begin_of(bucket: int) -> float:
    """The shortest duration of a bucket."""
    power, part = divmod(bucket, PARTS)
    return ldexp((part + PARTS) / (2 * PARTS), power)


def percentile(counts: Mapping[int, int], part: float) -> float:
    """The duration that this part of the runs did not exceed: the end of the bucket that it falls into."""
    left = part * sum(counts.values())
    for bucket in sorted(counts):
        left -= counts[bucket]
        if left <= 0:
            return begin_of(bucket + 1)
    return 0.0


def histogram(counts: Mapping[int, int], bars: int = 2) -> list[Bar]:
    """Bars, so many to each doubling (1, 2, 4 or 8), from the shortest to the longest without gaps; at most 80 of 2."""
    width = PARTS // bars
    runs: dict[int, int] = {}
    for bucket, count in counts.items():
        runs[bucket // width] = runs.get(bucket // width, 0) + count
    places = range(min(runs), max(runs) + 1) if runs else ()
    return [Bar(begin_of(place * width), begin_of((place + 1) * width), runs.get(place, 0)) for place in places]


def longer_than(counts: Mapping[int, int], seconds: float) -> int:
    """How many runs took that long or longer, as far as buckets tell."""
    return sum(count for bucket, count in counts.items() if begin_of(bucket) >= seconds)
