"""Pausing: what operators stop from starting, and let go on."""

from datetime import UTC, datetime
from typing import NamedTuple

from fairlead.core.protection.controls import Controls
from fairlead.core.protection.gates import PAUSE
from fairlead.records.store import Store


class Paused(NamedTuple):
    """A type, tenant or pool of which nothing starts."""

    scope: str
    name: str
    reason: str
    since: datetime


async def paused(store: Store) -> list[Paused]:
    """What is paused now."""
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    found = []
    for control in controls.of(PAUSE).values():
        scope, _, name = control.name.partition(":")
        found.append(Paused(scope, name, (control.value or {}).get("reason", ""), _moment(control.at)))
    return sorted(found)


def _moment(instant: float) -> datetime:
    return datetime.fromtimestamp(instant, UTC)
