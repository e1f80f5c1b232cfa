"""Cancelling, alike for every store: one script that it runs in a transaction.

Jobs that wait are settled, wishes are stored with those that run, and the audit entry about both is written last.
"""

from collections.abc import Sequence
from typing import Any

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.cancel import Cancelled, Demand
from fairlead.core.jobs.model import Settlement
from fairlead.ports.database import Database, RunEach, Script, Settle
from fairlead.stores.dead_letters import append_script


class CancelVerbs(Database):
    """What a store needs beside this: a way to run a script in a transaction."""

    async def cancel(self, settlements: Sequence[Settlement], demands: Sequence[Demand], note: AuditNote) -> Cancelled:
        """Apply the settlements that hold, and store the wishes about runs that still are what was seen."""
        return await self.transact(lambda: cancel_script(settlements, demands, note))


def cancel_script(settlements: Sequence[Settlement], demands: Sequence[Demand], note: AuditNote) -> Script[Cancelled]:
    """Settle what waits, ask what runs, and write it down if there was anything."""
    done = {row[0] for row in (yield Settle(settlements))} if settlements else set()
    wishes = [_demand_row(item) for item in demands]
    asked = {row[0] for row in (yield RunEach("request_cancel", wishes))} if wishes else set()
    if done or asked:
        ids = sorted(done | asked)
        yield from append_script(note.about(count=len(ids), jobs=ids, asked=sorted(asked)), ids)
    return Cancelled(frozenset(done), frozenset(asked))


def _demand_row(demand: Demand) -> dict[str, Any]:
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
