"""Changing one control by compare-and-swap, with an entry in the audit."""

from collections.abc import Callable, Container
from typing import NamedTuple

from fairlead.core.protection.controls import ABSENT, Change, Control, Controls, Value
from fairlead.errors import ChangedMeanwhile, NotSet, StoreUnavailable
from fairlead.ports.jobs import CONTROLS_HINT
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

ROUNDS = 10

Expected = Container[int] | None  # the versions a control may have for a change to be made; None is any
Decide = Callable[["Seen"], Value | None]


class Seen(NamedTuple):
    """All controls, by an instant of the store's clock."""

    controls: Controls
    now: float


async def see_controls(store: Store) -> Seen:
    """All that is set now, and the store's clock."""
    controls, changed = Controls(), await store.controls.read()
    controls.follow(changed.controls)
    return Seen(controls, changed.now)


async def read_controls(store: Store) -> Controls:
    """All that is set now."""
    return (await see_controls(store)).controls


async def change_control(
    store: Store, kind: str, name: str, decide: Decide, operator: Operator, action: str, target: str,
    expected: Expected = None,
) -> Control:  # fmt: skip
    """Set what `decide` makes of the controls, or remove for None; decide again where somebody else was faster."""
    for _ in range(ROUNDS):
        seen = await see_controls(store)
        version = version_of(seen.controls, kind, name)
        require_expected(version, expected, target)
        value = decide(seen)
        made = await store.controls.change(
            [Change(kind, name, value, version)], operator.note(action, target, value=value)
        )
        if made:
            await store.jobs.wake([CONTROLS_HINT])
            return made[0]
    raise StoreUnavailable(f"{target} was changed by others {ROUNDS} times in a row; try again")


def removal(kind: str, name: str, absent: str) -> Decide:
    """Decide to remove a control; NotSet with this message where there is none."""

    def decide(seen: Seen) -> None:
        if seen.controls.get(kind, name) is None:
            raise NotSet(absent)

    return decide


def version_of(controls: Controls, kind: str, name: str) -> int:
    """The version of a control; 0 where it is not set."""
    control = controls.get(kind, name)
    return ABSENT if control is None else control.version


def require_expected(version: int, expected: Expected, target: str) -> None:
    """ChangedMeanwhile where the version is not one of those expected."""
    if expected is not None and version not in expected:
        raise ChangedMeanwhile(f"{target} is not what you saw: its version is {version} now; read it, and decide again")
