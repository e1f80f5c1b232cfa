"""Pausing: what operators stop from starting, and let go on."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from fairlead.control.audit import Operator
from fairlead.core.audit import AuditNote
from fairlead.core.controls import Change, Controls
from fairlead.core.gates import PAUSE, pause_name
from fairlead.core.names import check_name
from fairlead.ports.store import CONTROLS_HINT, Store


class Paused(NamedTuple):
    """A type, tenant or pool of which nothing starts."""

    scope: str
    name: str
    reason: str
    since: datetime


async def pause(store: Store, scope: str, name: str, operator: Operator) -> None:
    """Let nothing of this type, tenant or pool start; what runs goes on, and nothing is lost."""
    await _set(store, scope, name, {"reason": operator.reason or ""}, operator.note("pause", f"{scope} {name}"))


async def resume(store: Store, scope: str, name: str, operator: Operator) -> None:
    """Let it start again."""
    await _set(store, scope, name, None, operator.note("resume", f"{scope} {name}"))


async def paused(store: Store) -> list[Paused]:
    """What is paused now."""
    controls = Controls()
    controls.follow((await store.controls()).controls)
    found = []
    for control in controls.of(PAUSE).values():
        scope, _, name = control.name.partition(":")
        found.append(Paused(scope, name, (control.value or {}).get("reason", ""), _moment(control.at)))
    return sorted(found)


async def _set(store: Store, scope: str, name: str, value: Mapping[str, str] | None, note: AuditNote) -> None:
    change = Change(PAUSE, pause_name(scope, check_name(scope, name)), value)
    await store.change_controls([change], note)
    await store.wake([CONTROLS_HINT])


def _moment(instant: float) -> datetime:
    return datetime.fromtimestamp(instant, UTC)
