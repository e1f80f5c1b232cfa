"""Quarantine for operators: which types wait for somebody to look at them, and letting them go."""

from datetime import datetime
from typing import NamedTuple

from fairlead.core.durations import instant
from fairlead.core.protection.controls import Control, Controls
from fairlead.core.protection.quarantine import KIND, attempts_of
from fairlead.records.store import Store


class Quarantined(NamedTuple):
    """A type whose jobs have so many attempts, with 0 none starts; `by` is None where it came to that by itself."""

    type: str
    why: str
    by: str | None
    since: datetime | None
    attempts: int


async def quarantined(store: Store) -> list[Quarantined]:
    """All types in quarantine."""
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    found = [_quarantined(control) for control in controls.of(KIND).values() if control.value is not None]
    return sorted(found, key=lambda item: item.type)


def _quarantined(control: Control) -> Quarantined:
    value = control.value or {}
    return Quarantined(
        control.name, value.get("why", ""), value.get("by"), instant(control.at), attempts_of(control) or 0
    )
