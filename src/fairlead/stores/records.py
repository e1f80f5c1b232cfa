"""The verbs that are one statement each, alike for every store."""

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from fairlead.core.jobs.expiry import Late
from fairlead.core.jobs.model import (
    ActiveLane,
    AttemptRecord,
    CancelRequest,
    Held,
    Hold,
    JobFilter,
    JobRecord,
    JobType,
    Lease,
    Page,
    Quota,
    WorkerInfo,
    WorkerRecord,
)
from fairlead.core.jobs.states import State
from fairlead.core.schedule.promotion import Due, DueLane
from fairlead.errors import LeaseLost
from fairlead.ports.store import Leadership, Promoted
from fairlead.stores import rows
from fairlead.stores.lanes import KnownLanes
from fairlead.stores.views import ViewVerbs

Rows = list[Any]

MOST_SCANNED = 10_000  # jobs of each table that a search looks at before it answers


class RecordVerbs(ViewVerbs):
    """The verbs, over the statements of a store."""

    def __init__(self) -> None:
        super().__init__()
        self._lanes = KnownLanes()

    async def active_lanes(self, besides: Collection[int] = ()) -> list[ActiveLane]:
        """The lanes that have ready jobs now, other than those."""
        self._lanes.trim()
        found = await self.ask("active_lanes", lanes=json.dumps(list(besides)))
        await self._learn_lanes(row[0] for row in found)
        return [ActiveLane(self._lanes[row[0]], row[1]) for row in found]

    async def lost(self, limit: int) -> list[Held]:
        """Running jobs whose owner's lease is over."""
        return await self._held(await self.ask("lost", limit=limit))

    async def claimed_under(self, leases: Sequence[Lease]) -> list[Held]:
        """Running jobs that were claimed under these leases."""
        rows = [{"owner": lease.owner, "lease": lease.token} for lease in leases]
        return await self._held(await self.ask_each("claimed_under", rows))

    async def held(self, ids: Iterable[str]) -> list[Held]:
        """Those of the jobs that are live, as they are now."""
        return await self._held(await self.ask_each("held", [{"id": item} for item in ids]))

    async def late(self, limit: int) -> list[Late]:
        """Jobs that have not started although their not_after has passed, the longest late first."""
        found = await self.ask("late", limit=limit)
        held = await self._held(found)
        return [Late(job, row[13]) for job, row in zip(held, found, strict=True)]

    async def due(self, limit: int) -> Due:
        """The first `limit` jobs that are due, by lane, and when the next will be."""
        found = await self.ask("due", limit=limit)
        due = [row for row in found if row[0] is not None]
        await self._learn_lanes(row[0] for row in due)
        return Due(
            tuple(DueLane(self._lanes[row[0]], row[1], row[2]) for row in due),
            sum(row[1] for row in due) < limit,
            max((row[3] for row in due), default=None),
            next((-row[3] for row in found if row[0] is None), None),
        )

    async def due_lanes(self) -> list[DueLane]:
        """All lanes with due jobs."""
        found = await self.ask("due_lanes")
        await self._learn_lanes(row[0] for row in found)
        return [DueLane(self._lanes[row[0]], sys.maxsize, row[1]) for row in found]

    async def promote(self, limit: int, quotas: Sequence[Quota] | None = None) -> Promoted:
        """Make ready up to `limit` jobs that are due, the longest overdue first; with quotas, so many of each lane."""
        if quotas is None:
            moved = await self.run("promote", limit=limit)
        else:
            moved = await self.run_each("promote_lanes", [quota._asdict() for quota in quotas])
        await self._learn_lanes(row[0] for row in moved)
        lanes = [self._lanes[row[0]] for row in moved]
        tenants = Counter(lane.tenant for lane in lanes)
        return Promoted(len(lanes), frozenset(lane.pool for lane in lanes), tenants)

    async def read(self, job_id: str) -> JobRecord | None:
        """The job, live or finished."""
        found = await self.read_many([job_id])
        return found[0] if found else None

    async def read_many(self, ids: Iterable[str]) -> list[JobRecord]:
        """Those of the jobs that there are, in no order."""
        found = await self.ask_each("read_many", [{"id": item} for item in ids])
        return [rows.job_of(row) for row in found]

    async def attempts(self, job_id: str) -> list[AttemptRecord]:
        """The runs of a job that did not end it well, oldest first."""
        return [rows.attempt_of(row) for row in await self.ask("read_attempts", id=job_id)]

    async def list_jobs(
        self, wanted: JobFilter, limit: int, cursor: str | None = None, containing: str | None = None
    ) -> Page:
        """Jobs, newest first; a search in keys looks at no more than so many, and the cursor goes on where it ended."""
        given = {"limit": limit + 1, "cursor": cursor, **rows.filter_row(wanted)}
        if containing is None and (listing := rows.listing(wanted)) != "list_jobs":
            return await self._page(await self.ask(listing, **given), limit)
        floor = None if containing is None else await self._scan_floor(cursor)
        page = await self._page(await self.ask("list_jobs", **given, floor=floor, containing=containing), limit)
        return page if page.cursor else Page(page.jobs, floor)

    async def _page(self, found: Rows, limit: int) -> Page:
        page = rows.page_of(found, limit)
        return Page(await self._with_progress(page.jobs), page.cursor)

    async def _scan_floor(self, cursor: str | None) -> str | None:
        found = await self.ask("scan_floor", cursor=cursor, beyond=MOST_SCANNED - 1)
        return str(found[0][0]) if found else None

    async def count_jobs(self) -> dict[tuple[str, str], int]:
        """How many live jobs there are by (pool, state)."""
        return {(row[0], row[1]): row[2] for row in await self.ask("count_jobs")}

    async def find_live(self, wanted: JobFilter, limit: int, cursor: str | None = None) -> list[Held]:
        """Live jobs that fit, newest first, as another settler sees them."""
        return await self._held(await self.ask("find_live", limit=limit, cursor=cursor, **rows.filter_row(wanted)))

    async def count_live(self, wanted: JobFilter) -> dict[State, int]:
        """How many live jobs fit, by state."""
        found = await self.ask("count_live", **rows.filter_row(wanted))
        return {State(row[0]): row[1] for row in found}

    async def cancel_requests(self, owner: str) -> dict[tuple[str, int], CancelRequest]:
        """What was asked about the runs of a worker, by job and fence."""
        found = await self.ask("cancel_requests", owner=owner)
        return {(row[0], row[1]): CancelRequest(*row[2:5]) for row in found}

    async def recall_effect(self, job_id: str, name: str) -> str | None:
        """The remembered result of a job's named effect."""
        found = await self.ask("recall_effect", id=job_id, effect=name)
        return found[0][0] if found else None

    async def remember_effect(self, job_id: str, hold: Hold, name: str, result: str) -> str | None:
        """Keep the result of a named effect while the hold holds; returns what is kept, None if it is gone."""
        where = {"id": job_id, "fence": hold.fence, "owner": hold.owner, "lease": hold.lease}
        found = await self.run("remember_effect", effect=name, result=result, **where)
        return found[0][0] if found else None

    async def register_types(self, types: Sequence[JobType]) -> None:
        """Record types; an older version never replaces a newer one."""
        await self.run_each("register_types", [rows.type_row(item) for item in types])

    async def job_types(self) -> list[JobType]:
        """All registered types."""
        return [rows.type_of(row) for row in await self.ask("read_types")]

    async def register_worker(self, info: WorkerInfo, lease: float) -> None:
        """Enter a worker with a lease of so many seconds; LeaseLost where it is there, and its lease is over."""
        if not await self.run("register_worker", **rows.worker_row(info, lease)):
            raise LeaseLost(f"worker {info.id} had been entered, and its lease is over; begin with a new id")

    async def report_worker(self, worker_id: str, report: Mapping[str, Any]) -> str | None:
        """Keep a worker's own figures for operators; returns the state that it is to be in."""
        found = await self.run("report_worker", id=worker_id, report=json.dumps(report))
        return found[0][0] if found else None

    async def retire_worker(self, worker_id: str) -> None:
        """Remove a worker; whatever it still owns counts as lost."""
        await self.run("retire_worker", id=worker_id)

    async def workers(self) -> list[WorkerRecord]:
        """All registered workers."""
        return [rows.worker_of(row) for row in await self.ask("read_workers")]

    async def lead(self, role: str, identity: str, lease: float) -> int:
        """The term in which this identity leads for the next `lease` seconds, or 0."""
        found = await self.run("lead", role=role, identity=identity, lease=lease)
        return int(found[0][0]) if found else 0

    async def leader(self, role: str) -> Leadership | None:
        """Who has led last, and for how much longer."""
        found = await self.ask("read_leader", role=role)
        return Leadership(*found[0]) if found else None

    async def resign(self, role: str, identity: str) -> None:
        """Give up the lead."""
        await self.run("resign", role=role, identity=identity)

    async def _learn_lanes(self, lane_ids: Iterable[int]) -> None:
        """A lane may be forgotten again while others are read, so this looks until all are known."""
        wanted = list(lane_ids)
        while unknown := self._lanes.unknown_among(wanted):
            found = await self.ask_each("read_lanes", [{"id": item} for item in unknown])
            self._lanes.add(rows.lane_of(row) for row in found)

    async def _held(self, found: Rows) -> list[Held]:
        await self._learn_lanes(row[1] for row in found)
        return [rows.held_of(row, self._lanes[row[1]]) for row in found]
