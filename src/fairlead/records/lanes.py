"""What a store's process knows about lanes. A lane never changes, so nothing here goes stale; any thread may add one.

Only lanes with a key of the payload are ever removed from the store. They are known for reading, and forgotten again
when they are many; whoever submits to one makes sure each time that it is there.
"""

import threading
from collections.abc import Iterable

from fairlead.core.jobs.model import Lane, NewJob
from fairlead.ports.database import Database, RunEach, Script
from fairlead.records import rows

MOST_KEYED = 50_000


class KnownLanes:
    """The lanes this process has read or written."""

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}
        self._keyed: set[int] = set()
        self._lock = threading.Lock()  # for changes

    def __getitem__(self, lane_id: int) -> Lane:
        return self._lanes[lane_id]

    def add(self, lanes: Iterable[Lane]) -> None:
        """Remember lanes that are in the store."""
        with self._lock:
            for lane in lanes:
                self._lanes[lane.id] = lane
                if lane.is_keyed:
                    self._keyed.add(lane.id)

    async def learn(self, database: Database, lane_ids: Iterable[int]) -> None:
        """Read lanes until all of these are known; one may be removed while others are read."""
        wanted = list(lane_ids)
        while unknown := self.unknown_among(wanted):
            found = await database.ask_each("read_lanes", [{"id": item} for item in unknown])
            self.add(rows.lane_of(row) for row in found)

    def trim(self) -> None:
        """Forget the lanes with keys where they are many."""
        with self._lock:
            if len(self._keyed) > MOST_KEYED:
                for lane_id in self._keyed:
                    del self._lanes[lane_id]
                self._keyed.clear()

    def new_among(self, lanes: Iterable[Lane]) -> list[Lane]:
        """Those that may not be in the store yet."""
        return [lane for lane in lanes if lane.id not in self._lanes or lane.is_keyed]

    def unknown_among(self, lane_ids: Iterable[int]) -> list[int]:
        """The ids that have to be read first."""
        return [lane_id for lane_id in set(lane_ids) if lane_id not in self._lanes]


def ensure_lanes(lanes: Iterable[Lane]) -> Script[None]:
    """Insert those that are not there, and keep the others from being removed.

    They are read first, since two open transactions that write the same lane would wait for each other.
    """
    wanted = {lane.id: lane for lane in lanes}
    found = yield RunEach("read_lanes", [{"id": lane_id} for lane_id in wanted])
    missing = wanted.keys() - {row[0] for row in found}
    idle = [{"id": row[0]} for row in found if row[7]]
    if missing:
        yield RunEach("insert_lanes", [rows.lane_row(wanted[lane_id]) for lane_id in sorted(missing)])
    if idle:
        yield RunEach("wake_lanes", sorted(idle, key=lambda row: row["id"]))


def distinct_lanes(jobs: Iterable[NewJob]) -> list[Lane]:
    """The lanes of these jobs; neighbours mostly share one, which is not looked at twice."""
    found: dict[Lane, None] = {}
    last = None
    for job in jobs:
        if job.lane is not last:
            last = job.lane
            found[last] = None
    return list(found)
