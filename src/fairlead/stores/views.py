"""The verbs about what is looked at, alike for every store."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pydantic_core import to_json

from fairlead.core.insight.audit import AuditEntry
from fairlead.core.insight.wait_times import WaitCount
from fairlead.core.jobs.model import JobRecord
from fairlead.core.jobs.progress import RunReport
from fairlead.ports.database import Database
from fairlead.stores import rows


class ViewVerbs(Database):
    """The verbs, over the statements of a store."""

    async def report_progress(self, reports: Sequence[RunReport]) -> set[str]:
        """Keep the reports of runs that own their jobs; returns the ids of those."""
        batch = to_json([item._asdict() for item in reports]).decode()
        return {row[0] for row in await self.run("report_progress", rows=batch)}

    async def wait_counts(self, window: float) -> list[WaitCount]:
        """How long jobs waited that were started within the last so many seconds, oldest first."""
        return [WaitCount(*row) for row in await self.ask("wait_counts", window=window)]

    async def audit_about(self, target: str, limit: int) -> list[AuditEntry]:
        """Entries of the audit about one target, newest first."""
        return [AuditEntry(*row) for row in await self.ask("audit_about", target=target, limit=limit)]

    async def _with_progress(self, jobs: Iterable[JobRecord]) -> tuple[JobRecord, ...]:
        """The jobs of a list, each with its progress; what never started has none."""
        found = tuple(jobs)
        begun = [{"id": job.id, "fence": job.fence} for job in found if job.fence > 0]
        told = await self.ask_each("read_progress", begun) if begun else []
        known = {row[0]: rows.progress_of(row[1:]) for row in told}
        return tuple(replace(job, progress=known[job.id]) if job.id in known else job for job in found)
