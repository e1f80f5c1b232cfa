"""Workers with leases and reports, registered job types, and leadership."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.workers import WorkerInfo, WorkerRecord
from fairlead.errors import LeaseLost
from fairlead.ports.database import Database, Run, Script
from fairlead.records import rows
from fairlead.records.audit import append_script

SERVICES_ROLE = "scheduler"  # whose leader runs the services


class Leader(NamedTuple):
    """The leader of a role. Each change raises `term`; there is no leader if `lease_left` is not positive."""

    identity: str
    term: int
    lease_left: float


class Workers:
    """Registers workers, keeps their reports, and tells them to drain or stop."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, info: WorkerInfo, lease: float) -> None:
        """Register a worker with a lease in seconds; LeaseLost if it is registered and its lease has expired."""
        if not await self._database.run("register_worker", **rows.worker_row(info, lease)):
            raise LeaseLost(f"worker {info.id} is registered and its lease has expired; register with a new id")

    async def report(self, worker_id: str, report: Mapping[str, Any]) -> str | None:
        """Store a worker's report; returns the state that an operator set for it."""
        found = await self._database.run("report_worker", id=worker_id, report=json.dumps(report))
        return found[0][0] if found else None

    async def direct(self, worker_id: str, state: str, note: AuditNote) -> bool:
        """Set the state that a live worker is to take; False if there is no such worker."""
        return await self._database.transact(lambda: _direct(worker_id, state, note))

    async def retire(self, worker_id: str) -> None:
        """Remove a worker; jobs that it still owns are lost and will be recovered."""
        await self._database.run("retire_worker", id=worker_id)

    async def all(self) -> list[WorkerRecord]:
        """Return all registered workers."""
        return [rows.worker_of(row) for row in await self._database.ask("read_workers")]


class JobTypes:
    """Stores the registered job types."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, types: Sequence[JobType]) -> None:
        """Store types; an older version never replaces a newer one."""
        await self._database.run_each("register_types", [rows.type_row(item) for item in types])

    async def all(self) -> list[JobType]:
        """Return all registered types."""
        return [rows.type_of(row) for row in await self._database.ask("read_types")]


class Leadership:
    """Elects one process for each role by a lease."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lead(self, role: str, identity: str, lease: float) -> int:
        """Take or renew the lead for `lease` seconds; returns the term, or 0 if another process leads."""
        found = await self._database.run("lead", role=role, identity=identity, lease=lease)
        return int(found[0][0]) if found else 0

    async def current(self, role: str) -> Leader | None:
        """Return the last leader and the rest of its lease, or None."""
        found = await self._database.ask("read_leader", role=role)
        return Leader(*found[0]) if found else None

    async def resign(self, role: str, identity: str) -> None:
        """End this identity's lead."""
        await self._database.run("resign", role=role, identity=identity)


def _direct(worker_id: str, state: str, note: AuditNote) -> Script[bool]:
    found = yield Run("direct_worker", {"id": worker_id, "state": state})
    if found:
        yield from append_script(note)
    return bool(found)
