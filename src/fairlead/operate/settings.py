"""Changing one control: upon what is there, in the versions that a caller expects, and with an entry in the audit."""

from collections.abc import Callable, Container

from fairlead.core.protection.controls import ABSENT, Change, Control, Controls, Value
from fairlead.errors import ChangedMeanwhile, NotSet, StoreUnavailable
from fairlead.operate.audit import Operator
from fairlead.ports.jobs import CONTROLS_HINT
from fairlead.records.store import Store

ROUNDS = 10

Expected = Container[int] | None  # the versions a control may have for a change to be made; None is any
Decide = Callable[[Controls], Value | None]


async def read_controls(store: Store) -> Controls:
    """All that is set now."""
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    return controls


async def change_control(
    store: Store, kind: str, name: str, decide: Decide, operator: Operator, action: str, target: str,
    expected: Expected = None,
) -> Control:  # fmt: skip
    """Set what is decided on what is there, again where somebody was faster; every worker follows within a second."""
    for _ in range(ROUNDS):
        controls = await read_controls(store)
        seen = version_of(controls, kind, name)
        require_expected(seen, expected, target)
        value = decide(controls)
        note = operator.note(action, target, value=value)
        made = await store.controls.change([Change(kind, name, value, seen)], note)
        if made:
            await store.jobs.wake([CONTROLS_HINT])
            return made[0]
    raise StoreUnavailable(f"{target} was changed by others {ROUNDS} times in a row; try again")


def removal(kind: str, name: str, absent: str) -> Decide:
    """Decide that a control goes; NotSet, which says so and what to do, where there is none."""

    def decide(controls: Controls) -> None:
        if controls.get(kind, name) is None:
            raise NotSet(absent)

    return decide


def version_of(controls: Controls, kind: str, name: str) -> int:
    """The version of a control; one that is not set has version 0."""
    control = controls.get(kind, name)
    return ABSENT if control is None else control.version


def require_expected(version: int, expected: Expected, target: str) -> None:
    """Refuse a change that was decided on another version."""
    if expected is not None and version not in expected:
        raise ChangedMeanwhile(f"{target} is not what you saw: its version is {version} now; read it, and decide again")
