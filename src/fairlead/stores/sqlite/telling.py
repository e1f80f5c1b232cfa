"""What a claim tells of its jobs: by columns where it can, since a row for each job takes three times as long to read.

Most jobs are *fresh*: nobody has claimed them before, they were ready at once, and they have no deadline, no key and no
options. They differ in nothing but their ids, payloads and instants, and each of these comes as one text for all jobs
of a claim. A claim that has other jobs, too, tells about each of them in a row of its own.
"""

from collections.abc import Generator, Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from pydantic_core import from_json

from fairlead.core.model import Lease
from fairlead.stores.enqueue import Step
from fairlead.stores.rows import Columns

ID_LENGTH = 36
BETWEEN = "\x1e"  # between payloads, as in the statement; no JSON text has it
MICROSECONDS = 1e6


class Telling(NamedTuple):
    """The statements that tell about a claim's jobs: all are `fresh`, or else the `whole`."""

    fresh: Step
    whole: Step


class Fresh(NamedTuple):
    """What was told about fresh jobs: either all are of one lane and side by side from the first place on, or lanes and
    places are told as well."""

    now: float
    ids: str
    payloads: str
    since: str
    first: int | None = None
    lane: int | None = None
    places: str = ""
    lanes: str = ""

    @property
    def is_sound(self) -> bool:
        """Whether the texts can be taken apart."""
        count = self.since.count(",") + 1
        return len(self.ids) == (ID_LENGTH + 1) * count - 1 and self.payloads.count(BETWEEN) == count - 1

    def columns(self) -> Columns:
        """What rows.claims_of_parts takes a part by."""
        ids = self.ids.split(",")
        since = [moment / MICROSECONDS for moment in map(int, self.since.split(","))]
        ages = [self.now - moment for moment in since]
        if self.lane is None or self.first is None:
            lanes, places = _numbers(self.lanes), _numbers(self.places)
        else:
            lanes, places = [self.lane] * len(ids), list(range(self.first, self.first + len(ids)))
        first, none = repeat(1), repeat(None)
        payloads = self.payloads.split(BETWEEN)
        return ids, lanes, payloads, first, repeat(0), first, since, ages, none, none, none, places


Told = Sequence[Fresh] | list[tuple[str]]


def telling_of_runs(runs: Sequence[tuple[int, int]], lane: int | None, lease: Lease) -> Telling:
    """For jobs that lie side by side; with their lane, where it is only one."""
    named = {"owner": lease.owner, "lease": lease.token}
    whole = Step("read_run", [{"first": first, "last": last, **named} for first, last in runs])
    if lane is not None:
        return Telling(Step("read_fresh_run", [{**row, "lane": lane} for row in whole.rows]), whole)
    return Telling(Step("read_fresh_runs", [dict(row) for row in whole.rows]), whole)


def telling_of_list(places: str, count: int, lease: Lease) -> Telling:
    """For jobs that lie apart."""
    given = {"places": places, "owner": lease.owner, "lease": lease.token}
    return Telling(Step("read_fresh", [{**given, "count": count}]), Step("read_claimed", [given]))


def told(telling: Telling) -> Generator[Step, list[Any], Told]:
    """A script: what is to be told, in the form that takes least."""
    found = [Fresh(*row) for row in (yield telling.fresh)]
    if len(found) == len(telling.fresh.rows) and all(part.is_sound for part in found):
        return [joined(found)] if len(found) > 1 and found[0].lane is None else found
    return (yield telling.whole)


def joined(parts: Sequence[Fresh]) -> Fresh:
    """Jobs that name their lanes and places, as one: to take each part apart by itself would take longer."""
    ids, payloads, since, places, lanes = zip(
        *((part.ids, part.payloads, part.since, part.places, part.lanes) for part in parts), strict=True
    )
    texts = ",".join(ids), BETWEEN.join(payloads), ",".join(since)
    return Fresh(parts[0].now, *texts, places=",".join(places), lanes=",".join(lanes))


def columns_of(parts: Told) -> Iterable[Columns]:
    """What rows.claims_of_parts takes, for each part of what was told."""
    for part in parts:
        if isinstance(part, Fresh):
            yield part.columns()
        elif found := from_json(part[0]):
            yield tuple(zip(*found, strict=True))


def _numbers(text: str) -> list[int]:
    return list(map(int, text.split(",")))
