"""The audit: entries in a hash chain without forks. Appending locks the head of the chain."""

from collections.abc import Iterable, Sequence

from fairlead.core.insight.audit import AuditEntry, AuditHead, AuditNote, next_entry
from fairlead.ports.database import Database, Run, RunEach, Script
from fairlead.records import rows


class Audit:
    """Appends entries and reads them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, note: AuditNote, jobs: Sequence[str] = ()) -> AuditEntry:
        """Append an entry about these jobs to the chain."""
        return await self._database.transact(lambda: append_script(note, jobs))

    async def read(self, limit: int, cursor: int | None = None, job_id: str | None = None) -> list[AuditEntry]:
        """Return entries, newest first, of one job or of all."""
        name = "read_audit" if job_id is None else "read_audit_of"
        found = await self._database.ask(name, limit=limit, cursor=cursor, job_id=job_id)
        return [AuditEntry(*row) for row in found]

    async def head(self) -> AuditHead:
        """Return the head of the chain."""
        found = await self._database.ask("read_audit_head")
        return AuditHead(*found[0]) if found else AuditHead(0, "")

    async def about(self, target: str, limit: int) -> list[AuditEntry]:
        """Return entries about one target, newest first."""
        return [AuditEntry(*row) for row in await self._database.ask("audit_about", target=target, limit=limit)]


def append_script(note: AuditNote, jobs: Iterable[str] = ()) -> Script[AuditEntry]:
    """Lock the head, write the entry that follows it, and move the head."""
    ((last, hash_, now),) = yield Run("lock_audit", {})
    entry = next_entry(note, AuditHead(last, hash_), now)
    yield Run("append_audit", rows.audit_row(entry))
    yield Run("move_audit_head", {"id": entry.id, "hash": entry.hash})
    marks = [{"job_id": job_id, "audit_id": entry.id} for job_id in jobs]
    if marks:
        yield RunEach("mark_audit", marks)
    return entry
