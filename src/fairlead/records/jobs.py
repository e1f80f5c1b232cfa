"""Reading jobs: by id, by filter, by worker, and the lanes that have ready jobs."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from pydantic_core import to_json

from fairlead.core.jobs.job_records import AttemptRecord, JobFilter, JobRecord, Page
from fairlead.core.jobs.model import ActiveLane, Held, Hold, Lease
from fairlead.core.jobs.progress import RunReport
from fairlead.core.jobs.states import State
from fairlead.ports.database import Database, Rows
from fairlead.records import rows
from fairlead.records.lanes import KnownLanes

MOST_SCANNED = 10_000  # jobs of each table that a search looks at before it answers


class JobReader:
    """Reads live and finished jobs."""

    def __init__(self, database: Database, lanes: KnownLanes) -> None:
        self._database = database
        self._lanes = lanes

    async def active_lanes(self, besides: Collection[int] = ()) -> list[ActiveLane]:
        """Return the lanes with ready jobs, except the lanes in `besides`."""
        self._lanes.trim()
        found = await self._database.ask("active_lanes", lanes=json.dumps(list(besides)))
        await self._lanes.learn(self._database, (row[0] for row in found))
        return [ActiveLane(self._lanes[row[0]], row[1]) for row in found]

    async def lost(self, limit: int) -> list[Held]:
        """Return running jobs whose owner's lease has expired."""
        return await self.held_of(await self._database.ask("lost", limit=limit))

    async def claimed_under(self, leases: Sequence[Lease]) -> list[Held]:
        """Return running jobs that were claimed under these leases."""
        rows = [{"owner": lease.owner, "lease": lease.token} for lease in leases]
        return await self.held_of(await self._database.ask_each("claimed_under", rows))

    async def held(self, ids: Iterable[str]) -> list[Held]:
        """Return the live jobs with these ids."""
        return await self.held_of(await self._database.ask_each("held", [{"id": item} for item in ids]))

    async def read(self, job_id: str) -> JobRecord | None:
        """Return the job, live or finished, or None."""
        found = await self.read_many([job_id])
        return found[0] if found else None

    async def read_many(self, ids: Iterable[str]) -> list[JobRecord]:
        """Return the jobs with these ids that exist, in no order."""
        found = await self._database.ask_each("read_many", [{"id": item} for item in ids])
        return [rows.job_of(row) for row in found]

    async def attempts(self, job_id: str) -> list[AttemptRecord]:
        """Return the failed runs of a job, oldest first."""
        return [rows.attempt_of(row) for row in await self._database.ask("read_attempts", id=job_id)]

    async def list_jobs(
        self, wanted: JobFilter, limit: int, cursor: str | None = None, containing: str | None = None
    ) -> Page:
        """Return jobs, newest first. A search in keys scans a bounded number; its cursor continues after them."""
        given = {"limit": limit + 1, "cursor": cursor, **rows.filter_row(wanted)}
        if containing is None and (listing := rows.listing(wanted)) != "list_jobs":
            return await self._page(await self._database.ask(listing, **given), limit)
        floor = None if containing is None else await self._scan_floor(cursor)
        found = await self._database.ask("list_jobs", **given, floor=floor, containing=containing)
        page = await self._page(found, limit)
        return page if page.cursor else Page(page.jobs, floor)

    async def _page(self, found: Rows, limit: int) -> Page:
        page = rows.page_of(found, limit)
        return Page(await self._with_progress(page.jobs), page.cursor)

    async def _scan_floor(self, cursor: str | None) -> str | None:
        found = await self._database.ask("scan_floor", cursor=cursor, beyond=MOST_SCANNED - 1)
        return str(found[0][0]) if found else None

    async def count_jobs(self) -> dict[tuple[str, str], int]:
        """Return the number of live jobs by (pool, state)."""
        return {(row[0], row[1]): row[2] for row in await self._database.ask("count_jobs")}

    async def find_live(self, wanted: JobFilter, limit: int, cursor: str | None = None) -> list[Held]:
        """Return matching live jobs with their holds, newest first."""
        found = await self._database.ask("find_live", limit=limit, cursor=cursor, **rows.filter_row(wanted))
        return await self.held_of(found)

    async def count_live(self, wanted: JobFilter) -> dict[State, int]:
        """Return the number of matching live jobs by state."""
        found = await self._database.ask("count_live", **rows.filter_row(wanted))
        return {State(row[0]): row[1] for row in found}

    async def count_ahead(self, job_id: str, limit: int) -> int:
        """Return how many ready jobs of its lane come before a ready job, counted up to the limit."""
        return int((await self._database.ask("count_ahead", id=job_id, limit=limit))[0][0])

    async def _with_progress(self, jobs: Iterable[JobRecord]) -> tuple[JobRecord, ...]:
        """Return the jobs with their progress; a job that never started has none."""
        found = tuple(jobs)
        begun = [{"id": job.id, "fence": job.fence} for job in found if job.fence > 0]
        told = await self._database.ask_each("read_progress", begun) if begun else []
        known = {row[0]: rows.progress_of(row[1:]) for row in told}
        return tuple(replace(job, progress=known[job.id]) if job.id in known else job for job in found)

    async def held_of(self, found: Rows) -> list[Held]:
        """Convert rows of `held`, `lost`, `find_live` and similar statements."""
        await self._lanes.learn(self._database, (row[1] for row in found))
        return [rows.held_of(row, self._lanes[row[1]]) for row in found]


class RunState:
    """Stores what a running handler reports: progress, and results of named effects."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def report_progress(self, reports: Sequence[RunReport]) -> set[str]:
        """Store the reports of runs that still own their jobs; returns their ids."""
        batch = to_json([item._asdict() for item in reports]).decode()
        return {row[0] for row in await self._database.run("report_progress", rows=batch)}

    async def recall_effect(self, job_id: str, name: str) -> str | None:
        """Return the stored result of a named effect, or None."""
        found = await self._database.ask("recall_effect", id=job_id, effect=name)
        return found[0][0] if found else None

    async def remember_effect(self, job_id: str, hold: Hold, name: str, result: str) -> str | None:
        """Store the result of a named effect if the hold is valid; returns the stored result, None if it is not."""
        where = {"id": job_id, "fence": hold.fence, "owner": hold.owner, "lease": hold.lease}
        found = await self._database.run("remember_effect", effect=name, result=result, **where)
        return found[0][0] if found else None
