"""Writes the schedules that an app's code declares to the store.

One process of an app leads, and its code is in force: it writes its declarations once, when it becomes the leader.
During a rolling deploy the old code's schedules stay in force until its leader ends; then another process leads and
writes its own. So old and new code do not alternate, and a fire that both declare happens once.

An app is identified by its name. The schedules of a renamed app belong to the old name; the app adopts them when no
process leads under that name.
"""

import contextlib
from uuid import uuid4

from fairlead.core.schedule.fires import Reconciled
from fairlead.errors import StoreError
from fairlead.handlers.spec import Registry
from fairlead.ports.jobs import LEAD_HINT
from fairlead.records.store import Store
from fairlead.recurring.changes import app_runs, declare, role_of
from fairlead.runtime.operator import Operator, whoami
from fairlead.telemetry.events import SchedulesDeclared, ServiceFailed, Telemetry


class Declarer:
    """Declares once in each term in which it leads its app."""

    name = "declare"

    def __init__(self, store: Store, registry: Registry, lead: float, telemetry: Telemetry) -> None:
        self._store = store
        self._registry = registry
        self._lead = lead
        self._telemetry = telemetry
        self._identity = str(uuid4())
        self._declared_in = 0

    async def run_once(self) -> float:
        """Declare in a new term; returns the seconds until the lead must be renewed or may be free."""
        term = await self._store.leadership.lead(role_of(self._registry.app), self._identity, self._lead)
        if term and term != self._declared_in:
            self._tell(await self._declare())
        self._declared_in = term
        return self._lead / 2 if term else self._lead

    async def resign(self) -> None:
        """Give up the lead, so that another process of the app declares at once."""
        with contextlib.suppress(StoreError):
            await self._store.leadership.resign(role_of(self._registry.app), self._identity)
            await self._store.jobs.wake([LEAD_HINT])

    async def _declare(self) -> Reconciled:
        app, declared = self._registry.app, list(self._registry.schedules.values())
        operator = Operator(whoami(), f"the code of {app} declares it")
        found = await declare(self._store, app, declared, operator)
        owners = {item.owner for item in found.taken if item.owner is not None}
        gone = [owner for owner in owners if not await app_runs(self._store, owner)]
        if not gone:
            return found
        adopted = await declare(self._store, app, declared, operator, gone)
        return Reconciled(found.writes + adopted.writes, adopted.taken)

    def _tell(self, found: Reconciled) -> None:
        if found.writes:
            self._telemetry.emit(SchedulesDeclared(self._registry.app, len(found.writes), found.retired))
        for item in found.taken:
            owner = f"the app {item.owner}, which still runs" if item.owner else "one made through the client"
            reason = f"the schedule {item.name!r} is declared here, but the name belongs to {owner}: choose another"
            self._telemetry.emit(ServiceFailed(self.name, reason))
