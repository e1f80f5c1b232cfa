"""Changes of live jobs by operators: cancelling, and amending jobs that wait; each with its audit entry.

Jobs that wait are settled, wishes are stored with those that run, and the audit entry about both is written last.
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
    """Cancels and amends live jobs that are still as they were seen."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def cancel(
        self, settlements: Sequence[Settlement], demands: Sequence[CancelWrite], note: AuditNote
    ) -> Cancelled:
        """Apply the settlements that hold, and store the wishes about runs that still are what was seen."""
        return await self._database.transact(lambda: cancel_script(settlements, demands, note))

    async def cancel_requests(self, owner: str) -> dict[tuple[str, int], CancelRequest]:
        """What was asked about the runs of a worker, by job and fence."""
        found = await self._database.ask("cancel_requests", owner=owner)
        return {(row[0], row[1]): CancelRequest(*row[2:5]) for row in found}

    async def amend_waiting(self, changes: Sequence[WaitingChange], note: AuditNote) -> set[str]:
        """Apply changes to jobs that still wait as they were seen; returns their ids."""
        return await self._database.transact(lambda: _amend(changes, note))


def cancel_script(
    settlements: Sequence[Settlement], demands: Sequence[CancelWrite], note: AuditNote
) -> Script[Cancelled]:
    """Settle what waits, ask what runs, and write it down if there was anything."""
    done = {row[0] for row in (yield Settle(settlements))} if settlements else set()
    wishes = [_demand_row(item) for item in demands]
    asked = {row[0] for row in (yield RunEach("request_cancel", wishes))} if wishes else set()
    if done or asked:
        ids = sorted(done | asked)
        yield from append_script(note.about(count=len(ids), jobs=ids, asked=sorted(asked)), ids)
    return Cancelled(frozenset(done), frozenset(asked))


def _demand_row(demand: CancelWrite) -> dict[str, Any]:
    hold, request = demand.hold, demand.request
    return {
        "id": demand.id,
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
