"""Places of jobs in their table, as a claim keeps them: mostly the jobs of a claim lie side by side.

A claim whose jobs lie apart says so place by place. When few of them are left, it is made to name only those, so that
looking at what runs costs a few times what runs, however much was claimed; seldom enough that it costs a job nothing.
"""

from collections.abc import Collection
from itertools import compress, count, pairwise, repeat
from operator import ne, sub

WIDE = 64  # places that may be looked at for nothing
SHARE = 8  # times as many places as jobs may be looked at


def only_run(places: Collection[int]) -> tuple[int, int] | None:
    """The first and the last of places that all follow one another; None if they do not. None may come twice."""
    first, last = min(places), max(places)
    return (first, last) if last - first + 1 == len(places) else None


def parts(places: Collection[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of places that follow one another; no place may come twice."""
    if (only := only_run(places)) is not None:
        return [only]
    rising = sorted(places)
    gaps = compress(count(1), map(ne, map(sub, rising[1:], rising), repeat(1)))
    return [(rising[first], rising[end - 1]) for first, end in pairwise([0, *gaps, len(rising)])]


def is_wide(jobs: int, wide: int) -> bool:
    """Whether so few jobs of a claim are left that it had better name their places."""
    return wide > WIDE and wide > SHARE * jobs
