"""Reading, listing, setting and removing run-time settings of any kind.

A setting has a kind and a name (`limit` and `tenant:acme`), fields, and a version that each change raises; the version
is 0 where nobody has set it and the default is in force. A change may name the versions it was decided on. Every change
is an entry in the audit, and every worker follows within a second. KINDS says what each kind is.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from fairlead.core.durations import instant
from fairlead.core.protection.controls import Control, Controls, Value
from fairlead.errors import ConfigError, NotSet
from fairlead.operate.setting_fields import Given
from fairlead.operate.setting_kinds import KINDS, Kind, Wish
from fairlead.operate.setting_views import View
from fairlead.records.store import Store
from fairlead.runtime.control_changes import Expected, Seen, change_control, read_controls, removal
from fairlead.runtime.operator import Operator

__all__ = ["KINDS", "Kind", "Setting", "kind_of", "list_settings", "read_setting", "remove_setting", "set_setting"]


class Setting(NamedTuple):
    """What is in force under a name: set by an operator (version above 0), declared by code, or the default."""

    kind: str
    name: str
    value: Given | None  # None: nothing is in force
    state: Given  # what is shown beside it, such as its use now
    version: int = 0
    set_at: datetime | None = None


def kind_of(name: str) -> Kind:
    """The kind of this name, or ConfigError."""
    if name not in KINDS:
        raise ConfigError(f"there are no settings of kind {name!r:.100}; the kinds are {', '.join(KINDS)}")
    return KINDS[name]


async def list_settings(store: Store, kind: str) -> list[Setting]:
    """All settings of a kind that are in force, by name."""
    found, controls = kind_of(kind), await read_controls(store)
    views = await found.views(store, controls, None)
    return [_setting(found, name, views[name], controls) for name in sorted(views)]


async def read_setting(store: Store, kind: str, name: str) -> Setting:
    """One setting; where nobody has set it, what is in force instead. NotSet where nothing is."""
    found = kind_of(kind)
    own, controls = found.checked_name(name), await read_controls(store)
    view = (await found.views(store, controls, own)).get(own)
    if view is None:
        raise NotSet(_absent(found, own))
    return _setting(found, own, view, controls)


async def set_setting(
    store: Store,
    kind: str,
    name: str,
    given: Mapping[str, Any],
    operator: Operator,
    expected: Expected = None,
    keep: bool = True,
) -> Setting:
    """Set the given fields; other fields stay as they are set, or without `keep` have their defaults."""
    found = kind_of(kind)
    own, fields = found.checked_name(name), found.read(given)
    if found.known is not None:
        await found.known(store, own)

    def decide(seen: Seen) -> Value:
        before = _own_fields(found, seen.controls.get(found.name, own)) if keep else {}
        return found.value(Wish(own, {**before, **fields}, operator, *seen))

    await change_control(store, found.name, own, decide, operator, found.set_act, found.target(own), expected)
    return await read_setting(store, kind, own)


async def remove_setting(store: Store, kind: str, name: str, operator: Operator, expected: Expected = None) -> None:
    """Remove what was set, so that the default is in force again; NotSet where nothing was set."""
    found = kind_of(kind)
    own = found.checked_name(name)
    decide = removal(found.name, own, _absent(found, own))
    await change_control(store, found.name, own, decide, operator, found.remove_act, found.target(own), expected)
    if found.removed is not None:
        await found.removed(store, own)


def _own_fields(kind: Kind, control: Control | None) -> dict[str, Any]:
    names = {field.name for field in kind.fields}
    value = control.value if control is not None and control.value else {}
    return {name: field for name, field in value.items() if name in names}


def _absent(kind: Kind, name: str) -> str:
    return f"no {kind.name} is set for {kind.target(name)}; `fairlead settings list {kind.name}` shows what is in force"


def _setting(kind: Kind, name: str, view: View, controls: Controls) -> Setting:
    control = controls.get(kind.name, name)
    at = instant(control.at) if control else None
    return Setting(kind.name, name, view.value, view.state, control.version if control else 0, at)
