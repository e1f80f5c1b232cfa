"""Which finished jobs may go: by types that are kept equally long, from where the last pruning came to.

Each type has a mark: the end up to which its jobs were removed. A pruning goes from there to what is old enough by now,
a day of ends at a time, so that its cost is that of what goes, however long other types keep their jobs.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

DAY = 86400.0
WINDOWS = 400  # days of ends that one pruning goes through
LATE = 60.0  # seconds by which an end may become visible late
ALL = ""  # the mark that types begin with

Remove = Callable[[Sequence[str], float, float, int], Awaitable[tuple[int, float | None]]]


class Group(NamedTuple):
    """Types whose jobs may go where they ended between two instants."""

    types: tuple[str, ...]
    after: float
    before: float


def groups(
    types: Iterable[str], retention: Mapping[str, float], default: float, marks: Mapping[str, float], now: float
) -> list[Group]:
    """What there is to remove of each type."""
    found: dict[tuple[float, float], list[str]] = {}
    for name in types:
        before = now - retention.get(name, default)
        after = marks.get(name, min(marks.get(ALL, 0.0), before - LATE))
        if after < before:
            found.setdefault((after, before), []).append(name)
    return [Group(tuple(names), *span) for span, names in found.items()]


async def remove_group(group: Group, limit: int, remove: Remove) -> tuple[int, float]:
    """Remove up to `limit` jobs of a group; returns how many, and the mark from which the next pruning goes on."""
    removed, after = 0, group.after
    for _ in range(WINDOWS):
        if after >= group.before or removed >= limit:
            break
        until = min(group.before, after + DAY) if after else group.before
        asked = limit - removed
        count, last = await remove(group.types, after, until, asked)
        removed += count
        after = until if count < asked or last is None else last
    return removed, max(group.after, after - LATE)
