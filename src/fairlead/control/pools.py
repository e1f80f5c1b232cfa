"""Pools: their settings, and which pool a type's jobs go to."""

from collections.abc import Mapping
from typing import Any

from fairlead.control.audit import Operator
from fairlead.core.controls import ABSENT, Change, Controls
from fairlead.core.names import check_name
from fairlead.core.pools import BUILT_IN, PLACE, POOL, Pool, Pools
from fairlead.errors import ConfigError
from fairlead.ports.store import CONTROLS_HINT, Store

ROUNDS = 5


async def list_pools(store: Store) -> list[Pool]:
    """The pools in force."""
    return Pools(await _read(store)).all()


async def set_pool(store: Store, name: str, changes: Mapping[str, Any], operator: Operator) -> Pool:
    """Change a pool's settings, or make a pool; every worker follows within a second."""
    check_name("pool", name)
    for _ in range(ROUNDS):
        control = (await _read(store)).get(POOL, name)
        value = {**(control.value or {} if control else {}), **changes}
        pool = (BUILT_IN.get(name) or Pool(name)).changed(value)
        seen = ABSENT if control is None else control.version
        note = operator.note("pools.set", f"pool {name}")
        if await store.change_controls([Change(POOL, name, value, seen)], note):
            await store.wake([CONTROLS_HINT])
            return pool
    raise ConfigError(f"pool {name!r} is being changed by others all the time; try again")


async def reset_pool(store: Store, name: str, operator: Operator) -> None:
    """Forget what was set for a pool."""
    note = operator.note("pools.reset", f"pool {check_name('pool', name)}")
    await store.change_controls([Change(POOL, name, None)], note)
    await store.wake([CONTROLS_HINT])


async def moved_types(store: Store) -> dict[str, Mapping[str, Any]]:
    """The types whose jobs go to another pool than they declare, and why."""
    placed = (await _read(store)).of(PLACE)
    return {name: control.value for name, control in placed.items() if control.value}


async def _read(store: Store) -> Controls:
    controls = Controls()
    controls.follow((await store.controls()).controls)
    return controls
