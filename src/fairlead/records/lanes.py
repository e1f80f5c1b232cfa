"""A cache of lanes by id, and the script that inserts missing lanes. A lane never changes; any thread may add one.

Only lanes with a key of the payload are ever removed from the store. The cache uses them for reading and drops them
when they are many; a submission to such a lane always checks that it is stored.
"""

import threading
from collections.abc import Iterable

from fairlead.core.jobs.model import Lane, NewJob
from fairlead.ports.database import Database, RunEach, Script
from fairlead.records import rows

MOST_KEYED = 50_000


class KnownLanes:
    """A cache of the lanes that this process has read or written."""

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}
        self._keyed: set[int] = set()
        self._lock = threading.Lock()  # for changes

    def __getitem__(self, lane_id: int) -> Lane:
        return self._lanes[lane_id]

    def add(self, lanes: Iterable[Lane]) -> None:
        """Add stored lanes to the cache."""
        with self._lock:
            for lane in lanes:
                self._lanes[lane.id] = lane
                if lane.is_keyed:
                    self._keyed.add(lane.id)

    async def learn(self, database: Database, lane_ids: Iterable[int]) -> None:
        """Read lanes until all of these are cached; one may be dropped while others are read."""
        wanted = list(lane_ids)
        while unknown := self.unknown_among(wanted):
            found = await database.ask_each("read_lanes", [{"id": item} for item in unknown])
            self.add(rows.lane_of(row) for row in found)

    def trim(self) -> None:
        """Drop the lanes with keys if there are many."""
        with self._lock:
            if len(self._keyed) > MOST_KEYED:
                for lane_id in self._keyed:
                    del self._lanes[lane_id]
                self._keyed.clear()

    def new_among(self, lanes: Iterable[Lane]) -> list[Lane]:
        """Return the lanes that may be missing in the store."""
        return [lane for lane in lanes if lane.id not in self._lanes or lane.is_keyed]

    def unknown_among(self, lane_ids: Iterable[int]) -> list[int]:
        """Return the ids that are not cached."""
        return [lane_id for lane_id in set(lane_ids) if lane_id not in self._lanes]


def ensure_lanes(lanes: Iterable[Lane]) -> Script[None]:
    """Insert missing lanes, and keep idle ones from being removed.

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
    """Return the distinct lanes of these jobs; fast for runs of jobs with the same lane."""
    found: dict[Lane, None] = {}
    last = None
    for job in jobs:
        if job.lane is not last:
            last = job.lane
            found[last] = None
    return list(found)
