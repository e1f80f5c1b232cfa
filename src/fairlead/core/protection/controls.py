"""Controls: run-time settings of operators and services, which every worker reads within a second.

A control has a kind (pause, breaker, tenant, pool, limit ...), a name within the kind and a value. Each change gets the
next version of one sequence, so a reader reads only what changed since the last version it saw. A change is a
compare-and-swap on the control's version.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ABSENT = 0  # the version of a control that is not set
ANY = -1  # apply whatever the version

Value = Mapping[str, Any]


class Control(NamedTuple):
    """A control; without a value it was removed."""

    kind: str
    name: str
    value: Value | None
    version: int
    at: float


class Change(NamedTuple):
    """A value to set, or None to remove; it applies if the control's version is `seen`."""

    kind: str
    name: str
    value: Value | None
    seen: int = ANY


class Changed(NamedTuple):
    """The controls changed after a version, and the database's now."""

    controls: list[Control]
    now: float


class Controls:
    """All controls that one reader knows."""

    def __init__(self) -> None:
        self.version = 0
        self._kinds: dict[str, dict[str, Control]] = {}

    def follow(self, newer: Iterable[Control]) -> frozenset[str]:
        """Apply changes and return their kinds. Known versions are skipped, since an older of two concurrent reads may
        arrive last."""
        changed = set()
        for control in newer:
            if control.version <= self.version:
                continue
            self.version = control.version
            changed.add(control.kind)
            named = self._kinds.setdefault(control.kind, {})
            if control.value is None:
                named.pop(control.name, None)
            else:
                named[control.name] = control
        return frozenset(changed)

    def of(self, kind: str) -> Mapping[str, Control]:
        """Return the controls of a kind by name."""
        return self._kinds.get(kind, {})

    def get(self, kind: str, name: str) -> Control | None:
        """Return a control, or None if it is not set."""
        return self.of(kind).get(name)


def holds(change: Change, current: Control | None) -> bool:
    """Whether the change was decided on the current version of the control."""
    version = current.version if current and current.value is not None else ABSENT
    return change.seen in (ANY, version)
