"""Quarantine for operators: which types wait for somebody to look at them, and letting them go."""

from datetime import datetime
from typing import NamedTuple

from fairlead.control.audit import Operator
from fairlead.core.controls import Change, Controls
from fairlead.core.health import QUARANTINE, TYPE, subject
from fairlead.core.model import instant
from fairlead.core.names import check_name
from fairlead.core.quarantine import KIND
from fairlead.errors import ConfigError, UnknownType
from fairlead.ports.store import CONTROLS_HINT, Store


class Quarantined(NamedTuple):
    """A type of which nothing starts; `by` is None where it came to that by itself."""

    type: str
    why: str
    by: str | None
    since: datetime | None


async def quarantined(store: Store) -> list[Quarantined]:
    """All types in quarantine."""
    controls = Controls()
    controls.follow((await store.controls()).controls)
    found = [(control.name, control.value or {}, control.at) for control in controls.of(KIND).values()]
    return sorted(Quarantined(name, value.get("why", ""), value.get("by"), instant(at)) for name, value, at in found)


async def put(store: Store, type_: str, operator: Operator) -> None:
    """Let nothing of a type start until it is released."""
    if type_ not in {item.name for item in await store.job_types()}:
        raise UnknownType(f"no type {type_!r:.200} is registered; a worker registers its types when it starts")
    value = {"why": operator.reason or f"put there by {operator.actor}", "by": operator.actor}
    await store.change_controls([Change(KIND, type_, value)], operator.note("quarantine", f"type {type_}"))
    await store.wake([CONTROLS_HINT])


async def release(store: Store, type_: str, operator: Operator) -> None:
    """Let a type start again, and count its runs from nothing; ConfigError where it is not in quarantine."""
    check_name(TYPE, type_)
    if type_ not in {item.type for item in await quarantined(store)}:
        raise ConfigError(f"type {type_} is not in quarantine; `fairlead quarantine list` says which are")
    await store.change_controls([Change(KIND, type_, None)], operator.note("release", f"type {type_}"))
    await store.forget_runs([subject(QUARANTINE, type_), subject(TYPE, type_)])
    await store.wake([CONTROLS_HINT])
