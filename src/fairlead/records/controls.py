"""Controls: run-time settings with versions from one sequence."""

import json
from collections.abc import Sequence
from typing import Any

from fairlead.core.insight.audit import AuditNote
from fairlead.core.protection.controls import Change, Changed, Control, holds
from fairlead.ports.database import Database, Run, RunEach, Script
from fairlead.records.audit import append_script


class Controls:
    """Reads controls, and changes them by compare-and-swap."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, since: int = 0) -> Changed:
        """Return the controls that were set or removed after version `since`, oldest change first."""
        return changed_of(await self._database.ask("read_controls", since=since))

    async def change(self, changes: Sequence[Change], note: AuditNote | None = None) -> list[Control]:
        """Apply the changes whose seen version is current; returns the resulting controls."""
        return await self._database.transact(lambda: _change_script(changes, note))


def changed_of(found: Sequence[Any]) -> Changed:
    """Convert the rows of read_controls; the last row has the clock."""
    *controls, (*_, now) = found
    return Changed([_control_of(row) for row in controls], now)


def _change_script(changes: Sequence[Change], note: AuditNote | None) -> Script[list[Control]]:
    ((last, now),) = yield Run("lock_controls", {})
    found = yield RunEach("read_controls_named", [{"kind": item.kind, "name": item.name} for item in changes])
    current = {(control.kind, control.name): control for control in map(_control_of, found)}
    timely = [item for item in changes if holds(item, current.get((item.kind, item.name)))]
    made = [Control(item.kind, item.name, item.value, last + 1 + at, now) for at, item in enumerate(timely)]
    if made:
        yield RunEach("write_controls", [_control_row(control) for control in made])
        yield Run("move_controls", {"last": made[-1].version})
        if note is not None:
            yield from append_script(note)
    return made


def _control_row(control: Control) -> dict[str, Any]:
    value = None if control.value is None else json.dumps(control.value, separators=(",", ":"))
    return {"kind": control.kind, "name": control.name, "value": value, "version": control.version}


def _control_of(row: Sequence[Any]) -> Control:
    kind, name, value, version, at = row
    return Control(kind, name, None if value is None else json.loads(value), version, at)
