"""Controls: what operators and services set at run time, and every worker follows within a second.

A control has a kind (pause, breaker, tenant, pool, limit ...), a name within it and a value. Each change gets the next
number of one sequence, so a reader asks only for what changed since the last number it saw. A change says which
version of the control it was decided upon; if that is not the newest any more, it is refused and decided again.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ABSENT = 0  # the version of a control that is not there
ANY = -1  # decided whatever the control's version

Value = Mapping[str, Any]


class Control(NamedTuple):
    """A control as it was set; without a value it was removed."""

    kind: str
    name: str
    value: Value | None
    version: int
    at: float


class Change(NamedTuple):
    """A value to set, or None to remove; `seen` is the version that the decision was taken upon."""

    kind: str
    name: str
    value: Value | None
    seen: int = ANY


class Changed(NamedTuple):
    """What was set after a version, by an instant of the store's clock."""

    controls: list[Control]
    now: float


class Controls:
    """All controls as one reader knows them."""

    def __init__(self) -> None:
        self.version = 0
        self._kinds: dict[str, dict[str, Control]] = {}

    def follow(self, newer: Iterable[Control]) -> frozenset[str]:
        """Take over what changed; returns the kinds that did. What an earlier answer has told already is passed over:
        of two answers that were asked for at once, the older may come last."""
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
        """The controls of a kind by name."""
        return self._kinds.get(kind, {})

    def get(self, kind: str, name: str) -> Control | None:
        """One control, if it is set."""
        return self.of(kind).get(name)


def holds(change: Change, current: Control | None) -> bool:
    """Whether the change was decided upon what is there."""
    version = current.version if current and current.value is not None else ABSENT
    return change.seen in (ANY, version)
