"""Operators' changes of live jobs: cancelling jobs and changing waiting jobs, each with its audit entry.

To cancel, waiting jobs are settled, a cancel request is stored with running jobs, and the audit entry is written last.
"""

from collections.abc import Sequence
from typing import Any

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.cancel import Cancelled, CancelWrite
from fairlead.core.jobs.changes import WaitingChange
from fairlead.core.jobs.model import CancelRequest, Settlement
from fairlead.ports.database import Database, RunEach, Script, Settle
from fairlead.records import rows
from fairlead.records.audit import append_script


class JobChanges:
    """Cancels and changes live jobs that are unchanged since they were read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def cancel(
        self, settlements: Sequence[Settlement], requests: Sequence[CancelWrite], note: AuditNote
    ) -> Cancelled:
        """Settle waiting jobs and store cancel requests with running jobs, if they are unchanged."""
        return await self._database.transact(lambda: cancel_script(settlements, requests, note))

    async def cancel_requests(self, owner: str) -> dict[tuple[str, int], CancelRequest]:
        """Return the cancel requests for a worker's runs, by (job id, fence)."""
        found = await self._database.ask("cancel_requests", owner=owner)
        return {(row[0], row[1]): CancelRequest(*row[2:5]) for row in found}

    async def amend_waiting(self, changes: Sequence[WaitingChange], note: AuditNote) -> set[str]:
        """Apply changes to waiting jobs that are unchanged; returns their ids."""
        return await self._database.transact(lambda: _amend(changes, note))


def cancel_script(
    settlements: Sequence[Settlement], requests: Sequence[CancelWrite], note: AuditNote
) -> Script[Cancelled]:
    """Settle waiting jobs, store requests with running jobs, and append the audit entry."""
    done = {row[0] for row in (yield Settle(settlements))} if settlements else set()
    batch = [_request_row(item) for item in requests]
    asked = {row[0] for row in (yield RunEach("request_cancel", batch))} if batch else set()
    if done or asked:
        ids = sorted(done | asked)
        yield from append_script(note.about(count=len(ids), jobs=ids, asked=sorted(asked)), ids)
    return Cancelled(frozenset(done), frozenset(asked))


def _request_row(write: CancelWrite) -> dict[str, Any]:
    hold, request = write.hold, write.request
    return {
        "id": write.id,
        "held_state": hold.state.value,
        "held_fence": hold.fence,
        "held_owner": hold.owner,
        "held_lease": hold.lease,
        "cancel_by": request.by,
        "cancel_reason": request.reason,
        "cancel_grace": request.grace,
    }


def _amend(changes: Sequence[WaitingChange], note: AuditNote) -> Script[set[str]]:
    yield RunEach("insert_lanes", [rows.lane_row(lane) for lane in {change.lane for change in changes}])
    ids = {row[0] for row in (yield RunEach("amend_waiting", [_change_row(change) for change in changes]))}
    if ids:
        yield from append_script(note.about(count=len(ids), jobs=sorted(ids)), sorted(ids))
    return ids


def _change_row(change: WaitingChange) -> dict[str, Any]:
    return {
        "id": change.id,
        "held_state": change.held_state.value,
        "fence": change.fence,
        "lane": change.lane.id,
        "state": change.state.value,
        "run_at": change.run_at,
        "payload": change.payload,
    }
