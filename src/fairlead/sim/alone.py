"""How long a tenant's jobs would have waited if it had the pool for itself: first come, first served, by its slots."""

from collections.abc import Iterable
from heapq import heappop, heappush, heapreplace


def alone_waits(ready: Iterable[float], durations: Iterable[float], slots: int) -> list[float]:
    """The wait of each job, in the order in which they became ready."""
    ends: list[float] = []
    waits = []
    for instant, duration in sorted(zip(ready, durations, strict=True), key=lambda job: job[0]):
        while ends and ends[0] <= instant:
            heappop(ends)
        if len(ends) < slots:
            waits.append(0.0)
            heappush(ends, instant + duration)
        else:
            start = ends[0]
            waits.append(start - instant)
            heapreplace(ends, start + duration)
    return waits
