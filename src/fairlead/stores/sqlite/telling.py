"""What a claim tells of its jobs: by columns where it can, since a row for each job takes three times as long to read.

Most jobs are *fresh*: nobody has claimed them before, they were ready at once, and they have no deadline, no key and no
options. They differ in nothing but their ids, payloads and instants, and each of these comes as one text for all jobs
of a claim; where they lie, and in which lanes, is known since they were picked. A claim that has other jobs, too, tells
about each of them in a row of its own.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from fairlead.core.model import Lease
from fairlead.stores.enqueue import Step
from fairlead.stores.rows import Columns

ID_LENGTH = 36
BETWEEN = "\x1e"  # between payloads, as in the statement; no JSON text has it
MICROSECONDS = 1e6

Runs = Sequence[tuple[int, int]]  # the first and the last place of jobs that lie side by side
Lanes = int | Mapping[int, int]  # the lane of all jobs, or by their places


class Telling(NamedTuple):
    """The statements that tell about a claim's jobs: all are `fresh`, or else the `whole`."""

    fresh: Step
    whole: Step
    lanes: Lanes
    runs: Runs = ()  # in the order in which they are told of; none where places are told as well


class Fresh(NamedTuple):
    """What was told about fresh jobs, and what was known of them."""

    now: float
    ids: str
    payloads: str
    since: str
    places: str | None
    lanes: Lanes
    runs: Runs

    @property
    def is_sound(self) -> bool:
        """Whether the texts can be taken apart."""
        count = self.since.count(",") + 1
        return len(self.ids) == (ID_LENGTH + 1) * count - 1 and self.payloads.count(BETWEEN) == count - 1

    def columns(self) -> Columns:
        """What rows.claims_of_parts takes a part by."""
        ids = self.ids.split(",")
        since = [moment / MICROSECONDS for moment in _numbers(self.since)]
        ages = [self.now - moment for moment in since]
        places = _places_of(self.runs) if self.places is None else _numbers(self.places)
        lanes = [self.lanes] * len(ids) if isinstance(self.lanes, int) else list(map(self.lanes.__getitem__, places))
        first, none = repeat(1), repeat(None)
        payloads = self.payloads.split(BETWEEN)
        return ids, lanes, payloads, first, repeat(0), first, since, ages, none, none, none, places


Told = Fresh | list[tuple[str]]


def telling_of_runs(runs: Runs, lanes: Lanes, count: int, lease: Lease) -> Telling:
    """For jobs that lie side by side."""
    named = {"owner": lease.owner, "lease": lease.token}
    each = [{"first": first, "last": last, **named} for first, last in runs]
    if len(runs) == 1:
        fresh = Step("read_fresh_run", [dict(each[0])])
    else:
        fresh = Step("read_fresh_runs", [{"parts": to_json(runs).decode(), "count": count, **named}])
    return Telling(fresh, Step("read_run", each), lanes, runs)


def telling_of_list(places: str, lanes: Lanes, count: int, lease: Lease) -> Telling:
    """For jobs that lie apart."""
    given = {"places": places, "owner": lease.owner, "lease": lease.token}
    return Telling(Step("read_fresh", [{**given, "count": count}]), Step("read_claimed", [given]), lanes)


def told(telling: Telling) -> Generator[Step, list[Any], Told]:
    """A script: what is to be told, in the form that takes least."""
    for now, ids, payloads, since, places in (yield telling.fresh):
        fresh = Fresh(now, ids, payloads, since, places, telling.lanes, telling.runs)
        if fresh.is_sound:
            return fresh
    return (yield telling.whole)


def columns_of(answer: Told) -> Iterable[Columns]:
    """What rows.claims_of_parts takes, for each part of what was told."""
    if isinstance(answer, Fresh):
        yield answer.columns()
        return
    for (text,) in answer:
        if found := from_json(text):
            yield tuple(zip(*found, strict=True))


def _places_of(runs: Runs) -> list[int]:
    return list(chain.from_iterable(range(first, last + 1) for first, last in runs))


def _numbers(text: str) -> list[int]:
    return list(map(int, text.split(",")))
