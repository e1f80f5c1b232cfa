"""/v1/pools: how long jobs of each pool should run and wait, and which types were moved."""

from fastapi import APIRouter, Response

from fairlead.api.answers import answers
from fairlead.api.caller import Caller, Chief, Overseer
from fairlead.api.conditions import ExpectedVersions, tag
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import ReasonQuery
from fairlead.api.models.settings import NamePath, PoolChange
from fairlead.api.models.shares import PoolList, PoolSettings, pool_settings
from fairlead.operate.pools import list_pools, moved_types, pool_versions, reset_pool, set_pool, show_pool

router = APIRouter(prefix="/v1/pools", tags=["pools"], route_class=Endpoint)


@router.get("", responses=answers())
async def pools(caller: Overseer) -> PoolList:
    """The pools in force, and the types whose jobs go elsewhere than they declare."""
    moved, versions = await moved_types(caller.store), await pool_versions(caller.store)
    return PoolList(
        pools=[pool_settings(pool, versions.get(pool.name, 0)) for pool in await list_pools(caller.store)],
        moved={name: dict(value) for name, value in moved.items()},
    )


@router.get("/{name:path}", responses=answers(404))
async def show(name: NamePath, caller: Overseer, response: Response) -> PoolSettings:
    """A pool. Any name is a pool's; one that nobody has set up has no limits."""
    return await _settings(caller, name, response)


@router.put("/{name:path}", responses=answers(404, 412))
async def put(
    name: NamePath, wanted: PoolChange, caller: Chief, expected: ExpectedVersions, response: Response
) -> PoolSettings:
    """Set a pool up so, with its defaults for what is absent; all workers follow within a second."""
    operator = caller.operator(wanted.reason)
    await set_pool(caller.store, name, wanted.changes(), operator, own=False, expected=expected)
    return await _settings(caller, name, response)


@router.patch("/{name:path}", responses=answers(404, 412))
async def change(
    name: NamePath, wanted: PoolChange, caller: Chief, expected: ExpectedVersions, response: Response
) -> PoolSettings:
    """Change what is given of a pool and keep the rest."""
    await set_pool(caller.store, name, wanted.changes(), caller.operator(wanted.reason), expected=expected)
    return await _settings(caller, name, response)


@router.delete("/{name:path}", status_code=204, responses=answers(404, 412))
async def reset(name: NamePath, caller: Chief, expected: ExpectedVersions, reason: ReasonQuery = None) -> None:
    """Forget what was set for a pool; its jobs stay."""
    await reset_pool(caller.store, name, caller.operator(reason), expected)


async def _settings(caller: Caller, name: str, response: Response) -> PoolSettings:
    pool, version = await show_pool(caller.store, name)
    tag(response, version)
    return pool_settings(pool, version)
