"""Promotion of due jobs to ready, and jobs past their not_after."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.core.jobs.expiry import LateJob
from fairlead.core.jobs.model import Quota
from fairlead.core.schedule.promotion import DueJobs, DueLane
from fairlead.ports.database import Database
from fairlead.records.jobs import JobReader
from fairlead.records.lanes import KnownLanes


class Promoted(NamedTuple):
    """The result of a promotion: the pools with new ready jobs, and the number of jobs by tenant."""

    moved: int
    pools: frozenset[str]
    tenants: Mapping[str, int]


class Promotion:
    """Finds due and late jobs, and makes due jobs ready."""

    def __init__(self, database: Database, reader: JobReader, lanes: KnownLanes) -> None:
        self._database = database
        self._reader = reader
        self._lanes = lanes

    async def due(self, limit: int) -> DueJobs:
        """Return the first `limit` due jobs by lane, and when the next job is due."""
        found = await self._database.ask("due", limit=limit)
        due = [row for row in found if row[0] is not None]
        await self._lanes.learn(self._database, (row[0] for row in due))
        return DueJobs(
            tuple(DueLane(self._lanes[row[0]], row[1], row[2]) for row in due),
            sum(row[1] for row in due) < limit,
            max((row[3] for row in due), default=None),
            next((-row[3] for row in found if row[0] is None), None),
        )

    async def due_lanes(self) -> list[DueLane]:
        """Return all lanes with due jobs."""
        found = await self._database.ask("due_lanes")
        await self._lanes.learn(self._database, (row[0] for row in found))
        return [DueLane(self._lanes[row[0]], sys.maxsize, row[1]) for row in found]

    async def promote(self, limit: int, quotas: Sequence[Quota] | None = None) -> Promoted:
        """Make up to `limit` due jobs ready, the longest overdue first; with quotas, so many of each lane."""
        if quotas is None:
            moved = await self._database.run("promote", limit=limit)
        else:
            moved = await self._database.run_each("promote_lanes", [quota._asdict() for quota in quotas])
        await self._lanes.learn(self._database, (row[0] for row in moved))
        lanes = [self._lanes[row[0]] for row in moved]
        tenants = Counter(lane.tenant for lane in lanes)
        return Promoted(len(lanes), frozenset(lane.pool for lane in lanes), tenants)

    async def late(self, limit: int) -> list[LateJob]:
        """Return jobs that have not started before their not_after, the latest first."""
        found = await self._database.ask("late", limit=limit)
        held = await self._reader.held_of(found)
        return [LateJob(job, row[13]) for job, row in zip(held, found, strict=True)]
