"""/v1/pools: how long jobs of each pool should run and wait, and which types were moved."""

from fastapi import APIRouter

from fairlead.api.answers import answers
from fairlead.api.caller import Overseer
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.shares import PoolList, pool_settings
from fairlead.control.pools import list_pools, moved_types

router = APIRouter(prefix="/v1/pools", tags=["pools"], route_class=Endpoint)


@router.get("", responses=answers())
async def pools(caller: Overseer) -> PoolList:
    """The pools in force, and the types whose jobs go elsewhere than they declare."""
    moved = await moved_types(caller.store)
    return PoolList(
        pools=[pool_settings(pool) for pool in await list_pools(caller.store)],
        moved={name: dict(value) for name, value in moved.items()},
    )
