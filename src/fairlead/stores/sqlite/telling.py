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

from fairlead.core.jobs.model import Lease
from fairlead.ports.database import RunEach
from fairlead.records.rows import Columns

ID_LENGTH = 36
BETWEEN = "\x1e"  # between payloads, as in the statement; no JSON text has it
MICROSECONDS = 1e6

Runs = Sequence[tuple[int, int]]  # the first and the last place of jobs that lie side by side
Lanes = int | Mapping[int, int]  # the lane of all jobs, or by their places


class Telling(NamedTuple):
    """What is known of the jobs of a claim: how many they are, of which lanes, and where they lie.

    Those that lie side by side are told of by their runs, in that order; others by a list of their places, which are
    told as well then.
    """

    lease: Lease
    jobs: int
    lanes: Lanes
    runs: Runs
    places: str | None = None  # a list, as JSON

    def fresh(self) -> RunEach:
        """The statement that tells of jobs that are all fresh."""
        given = {**self._claim(), "count": self.jobs}
        if self.places is not None:
            return RunEach("read_fresh", [{**given, "places": self.places}])
        if len(self.runs) == 1:
            ((first, last),) = self.runs
            return RunEach("read_fresh_run", [{**given, "first": first, "last": last}])
        return RunEach("read_fresh_runs", [{**given, "parts": to_json(self.runs).decode()}])

    def whole(self) -> RunEach:
        """The statement that tells of any job."""
        if self.places is not None:
            return RunEach("read_claimed", [{**self._claim(), "places": self.places}])
        return RunEach("read_run", [{**self._claim(), "first": first, "last": last} for first, last in self.runs])

    def _claim(self) -> dict[str, Any]:
        return {"owner": self.lease.owner, "lease": self.lease.token}


class Fresh(NamedTuple):
    """What was told about fresh jobs, and what was known of them."""

    now: float
    ids: str
    payloads: str
    since: str
    places: str | None
    telling: Telling

    @property
    def is_sound(self) -> bool:
        """Whether the texts can be taken apart."""
        count = self.telling.jobs
        return len(self.ids) == (ID_LENGTH + 1) * count - 1 and self.payloads.count(BETWEEN) == count - 1

    def columns(self) -> Columns:
        """What rows.claims_of_parts takes a part by."""
        ids = self.ids.split(",")
        since = [moment / MICROSECONDS for moment in _numbers(self.since)]
        ages = [self.now - moment for moment in since]
        known = self.telling
        places = _places_of(known.runs) if self.places is None else _numbers(self.places)
        lanes = [known.lanes] * len(ids) if isinstance(known.lanes, int) else list(map(known.lanes.__getitem__, places))
        first, none = repeat(1), repeat(None)
        payloads = self.payloads.split(BETWEEN)
        return ids, lanes, payloads, first, repeat(0), first, since, ages, none, none, none, places


Told = Fresh | list[tuple[str]]


def told(telling: Telling) -> Generator[RunEach, list[Any], Told]:
    """A script: what is to be told, in the form that takes least."""
    for now, ids, payloads, since, places in (yield telling.fresh()):
        fresh = Fresh(now, ids, payloads, since, places, telling)
        if fresh.is_sound:
            return fresh
    return (yield telling.whole())


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
    numbers: list[int] = from_json(f"[{text}]")  # four times as fast as taking the text apart
    return numbers
