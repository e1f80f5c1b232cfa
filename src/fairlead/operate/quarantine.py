"""Quarantine for operators: which types wait for somebody to look at them, and letting them go."""

from datetime import datetime
from typing import NamedTuple

from fairlead.core.durations import instant
from fairlead.core.names import check_name
from fairlead.core.protection.controls import Change, Control, Controls
from fairlead.core.protection.quarantine import KIND, Quarantine, attempts_of, entry
from fairlead.core.protection.run_counts import QUARANTINE, TYPE, subject
from fairlead.errors import NotSet, UnknownType
from fairlead.operate.audit import Operator
from fairlead.ports.jobs import CONTROLS_HINT
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


async def put(store: Store, type_: str, operator: Operator, attempts: int = 0) -> None:
    """Let the jobs of a type have so many attempts, or none start, until it is released."""
    Quarantine(attempts=attempts)
    if type_ not in {item.name for item in await store.types.all()}:
        raise UnknownType(f"no type {type_!r:.200} is registered; a worker registers its types when it starts")
    value = entry(operator.reason or f"put there by {operator.actor}", operator.actor, attempts)
    await store.controls.change([Change(KIND, type_, value)], operator.note("quarantine", f"type {type_}"))
    await store.jobs.wake([CONTROLS_HINT])


async def release(store: Store, type_: str, operator: Operator) -> None:
    """Let a type start again, and count its runs from nothing; NotSet where it is not in quarantine."""
    check_name(TYPE, type_)
    if type_ not in {item.type for item in await quarantined(store)}:
        raise NotSet(f"type {type_} is not in quarantine; `fairlead quarantine list` says which are")
    await store.controls.change([Change(KIND, type_, None)], operator.note("release", f"type {type_}"))
    await store.run_counts.forget([subject(QUARANTINE, type_), subject(TYPE, type_)])
    await store.jobs.wake([CONTROLS_HINT])


def _quarantined(control: Control) -> Quarantined:
    value = control.value or {}
    return Quarantined(
        control.name, value.get("why", ""), value.get("by"), instant(control.at), attempts_of(control) or 0
    )
