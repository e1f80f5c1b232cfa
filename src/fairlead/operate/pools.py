"""Pools: their settings, and which pool a type's jobs go to."""

from collections.abc import Mapping
from typing import Any

from fairlead.core.jobs.pools import BUILT_IN, PLACE, POOL, Pool, Pools
from fairlead.core.names import check_name
from fairlead.core.protection.controls import Controls
from fairlead.operate.audit import Operator
from fairlead.operate.settings import Expected, change_control, read_controls, removal, version_of
from fairlead.records.store import Store


async def list_pools(store: Store) -> list[Pool]:
    """The pools in force."""
    return Pools(await read_controls(store)).all()


async def pool_versions(store: Store) -> dict[str, int]:
    """The versions of what was set, by pool."""
    return {name: control.version for name, control in (await read_controls(store)).of(POOL).items()}


async def show_pool(store: Store, name: str) -> tuple[Pool, int]:
    """A pool, and the version of what was set for it: 0 where nothing was."""
    controls = await read_controls(store)
    return Pools(controls).get(check_name("pool", name)), version_of(controls, POOL, name)


async def set_pool(
    store: Store, name: str, changes: Mapping[str, Any], operator: Operator, own: bool = True, expected: Expected = None
) -> Pool:
    """Change a pool's settings, or make a pool; every worker follows within a second.

    Without `own` it loses what was set before.
    """
    check_name("pool", name)

    def changed(controls: Controls) -> dict[str, Any]:
        control = controls.get(POOL, name) if own else None
        value = {**(control.value or {} if control else {}), **changes}
        _pool(name, value)
        return value

    control = await change_control(store, POOL, name, changed, operator, "pools.set", f"pool {name}", expected)
    return _pool(name, control.value or {})


async def reset_pool(store: Store, name: str, operator: Operator, expected: Expected = None) -> None:
    """Forget what was set for a pool."""
    target = f"pool {check_name('pool', name)}"
    decide = removal(POOL, name, f"nothing was set for {target}; `fairlead pools list` shows the pools")
    await change_control(store, POOL, name, decide, operator, "pools.reset", target, expected)


async def moved_types(store: Store) -> dict[str, Mapping[str, Any]]:
    """The types whose jobs go to another pool than they declare, and why."""
    placed = (await read_controls(store)).of(PLACE)
    return {name: control.value for name, control in placed.items() if control.value}


def _pool(name: str, value: Mapping[str, Any]) -> Pool:
    return (BUILT_IN.get(name) or Pool(name)).changed(value)
