"""Pausing: what operators stop from starting, and let go on."""

from datetime import UTC, datetime
from typing import NamedTuple

from fairlead.core.names import check_name
from fairlead.core.protection.controls import Change, Controls
from fairlead.core.protection.gates import PAUSE, pause_name
from fairlead.operate.audit import Operator
from fairlead.operate.settings import change_control, removal
from fairlead.ports.jobs import CONTROLS_HINT
from fairlead.records.store import Store


class Paused(NamedTuple):
    """A type, tenant or pool of which nothing starts."""

    scope: str
    name: str
    reason: str
    since: datetime


async def pause(store: Store, scope: str, name: str, operator: Operator) -> None:
    """Let nothing of this type, tenant or pool start; what runs goes on, and nothing is lost."""
    change = Change(PAUSE, pause_name(scope, check_name(scope, name)), {"reason": operator.reason or ""})
    await store.controls.change([change], operator.note("pause", f"{scope} {name}"))
    await store.jobs.wake([CONTROLS_HINT])


async def resume(store: Store, scope: str, name: str, operator: Operator) -> None:
    """Let it start again; NotSet where it was not paused."""
    control, target = pause_name(scope, check_name(scope, name)), f"{scope} {name}"
    decide = removal(PAUSE, control, f"{target} is not paused; `fairlead paused` shows what is")
    await change_control(store, PAUSE, control, decide, operator, "resume", target)


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
