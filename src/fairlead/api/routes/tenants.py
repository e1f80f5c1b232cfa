"""/v1/tenants, /v1/tiers, /v1/shares: who shares the workers, and whether each gets what it is due.

A bound key sees only its own.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from fairlead.api.answers import answers
from fairlead.api.caller import Caller, Chief, Reader
from fairlead.api.conditions import ExpectedVersions, tag
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import Name, ReasonQuery
from fairlead.api.models.settings import DefaultTier, NamePath, TenantChange, TenantSetting, TierDocument, TierList
from fairlead.api.models.shares import (
    ShareReport,
    TenantDetail,
    TenantList,
    share_document,
    tenant_detail,
    tenant_document,
)
from fairlead.core.fairness.tenancy import TIERS, Tenant
from fairlead.operate import tenants as use_cases
from fairlead.operate.tenants import LONGEST_WINDOW, read_shares

router = APIRouter(prefix="/v1", tags=["tenants"], route_class=Endpoint)

Window = Annotated[float, Query(ge=1, le=LONGEST_WINDOW, description="Seconds to look back.")]
LEDGER = 900.0


@router.get("/tenants", responses=answers())
async def tenants(caller: Reader) -> TenantList:
    """The tenants that were set up or have work waiting."""
    found = await use_cases.list_tenants(caller.store)
    own = [state for state in found if caller.tenant in (None, state.tenant.name)]
    return TenantList(tenants=[tenant_document(state) for state in own])


@router.get("/tenants/{name:path}", responses=answers(404))
async def show_tenant(name: NamePath, caller: Reader, response: Response, window: Window = LEDGER) -> TenantDetail:
    """A tenant, the bounds in force for it, and what it was due and got minute by minute.

    Any name is a tenant's; one that nobody has set up has the default tier.
    """
    caller.tenant_for(name)
    return await _detail(caller, name, response, window)


@router.put("/tenants/{name:path}", responses=answers(404, 412))
async def put_tenant(
    name: NamePath, wanted: TenantSetting, caller: Chief, expected: ExpectedVersions, response: Response
) -> TenantDetail:
    """Set a tenant up exactly so; all workers follow within a second."""
    tenant = Tenant(name, wanted.tier, wanted.weight, wanted.minimum)
    await use_cases.put_tenant(caller.store, tenant, caller.operator(wanted.reason), expected)
    return await _detail(caller, name, response)


@router.patch("/tenants/{name:path}", responses=answers(404, 412))
async def change_tenant(
    name: NamePath, wanted: TenantChange, caller: Chief, expected: ExpectedVersions, response: Response
) -> TenantDetail:
    """Change what is given of a tenant and keep the rest; one that nobody has set up is set up."""
    changes = {key: value for key, value in wanted.changes().items() if key != "tier" or value is not None}
    operator = caller.operator(wanted.reason)
    await use_cases.change_tenant(caller.store, name, changes, operator, expected=expected)
    return await _detail(caller, name, response)


@router.delete("/tenants/{name:path}", status_code=204, responses=answers(404, 412))
async def remove_tenant(name: NamePath, caller: Chief, expected: ExpectedVersions, reason: ReasonQuery = None) -> None:
    """Forget what was set for a tenant; its jobs stay, and it has the default tier."""
    await use_cases.remove_tenant(caller.store, name, caller.operator(reason), expected)


@router.get("/tiers", responses=answers())
async def tiers(caller: Reader) -> TierList:
    """The tiers, and the one of tenants that nobody has set up."""
    return await _tiers(caller)


@router.put("/tiers/default", responses=answers())
async def set_default_tier(wanted: DefaultTier, caller: Chief) -> TierList:
    """Set the tier of tenants that nobody has set up."""
    await use_cases.set_default_tier(caller.store, wanted.tier, caller.operator(wanted.reason))
    return await _tiers(caller)


@router.get("/shares", responses=answers())
async def shares(caller: Reader, window: Window = 3600.0, pool: Annotated[Name | None, Query()] = None) -> ShareReport:
    """What tenants were due and got within a window, in slot-seconds."""
    own = () if caller.tenant is None else (caller.tenant,)
    found = await read_shares(caller.store, window, pool, own)
    jain = found.jain if caller.tenant is None else None
    return ShareReport(window=found.window, jain=jain, shares=[share_document(line) for line in found.lines])


async def _detail(caller: Caller, name: str, response: Response, window: float = LEDGER) -> TenantDetail:
    state, lines = await use_cases.show_tenant(caller.store, name, window)
    tag(response, state.version)
    return tenant_detail(state, await use_cases.tenant_bounds(caller.store, name), lines)


async def _tiers(caller: Caller) -> TierList:
    found = [TierDocument.model_validate(tier, from_attributes=True) for tier in TIERS.values()]
    return TierList(tiers=found, default=await use_cases.default_tier(caller.store))
