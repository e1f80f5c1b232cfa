"""/v1/tenants, /v1/tiers, /v1/shares: who shares the workers, and whether each gets what it is due.

A bound key sees only its own. Tenants are set up as settings of the kind `tenant`.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from fairlead.api.caller import Reader
from fairlead.api.description import OPERATORS
from fairlead.api.endpoint import Endpoint
from fairlead.api.parameters import NameFilter, NamePath, tag
from fairlead.api.responses import answers
from fairlead.core.fairness.tenancy import TIERS
from fairlead.documents.tenants import (
    LedgerLine,
    ShareReport,
    TenantDetail,
    TenantDocument,
    TenantList,
    TierDocument,
    TierList,
)
from fairlead.insight import tenants as use_cases
from fairlead.insight.tenants import LONGEST_WINDOW, read_shares

router = APIRouter(prefix="/v1", tags=[OPERATORS], route_class=Endpoint)

Window = Annotated[float, Query(ge=1, le=LONGEST_WINDOW, description="Seconds to look back.")]
LEDGER = 900.0


@router.get("/tenants", operation_id="list_tenants", responses=answers())
async def list_tenants(caller: Reader) -> TenantList:
    """The tenants that were set up or have work waiting."""
    found = await use_cases.list_tenants(caller.store)
    own = [state for state in found if caller.tenant in (None, state.tenant.name)]
    return TenantList(tenants=[TenantDocument.of(state) for state in own])


@router.get("/tenants/{name}", operation_id="get_tenant", responses=answers())
async def get_tenant(name: NamePath, caller: Reader, response: Response, window: Window = LEDGER) -> TenantDetail:
    """A tenant, the bounds in force for it, and what it was due and got minute by minute.

    Any name is a tenant's; one that nobody has set up has the default tier.
    """
    caller.tenant_for(name)
    state, lines = await use_cases.show_tenant(caller.store, name, window)
    tag(response, state.version)
    return TenantDetail.of(state, bounds=await use_cases.tenant_bounds(caller.store, name), lines=lines)


@router.get("/tiers", operation_id="list_tiers", responses=answers())
async def list_tiers(caller: Reader) -> TierList:
    """The tiers, and the one of tenants that nobody has set up."""
    found = [TierDocument.of(tier) for tier in TIERS.values()]
    return TierList(tiers=found, default=await use_cases.default_tier(caller.store))


@router.get("/shares", operation_id="get_shares", responses=answers())
async def get_shares(caller: Reader, window: Window = 3600.0, pool: NameFilter = None) -> ShareReport:
    """What tenants were due and got within a window, in slot-seconds."""
    own = () if caller.tenant is None else (caller.tenant,)
    found = await read_shares(caller.store, window, pool, own)
    jain = found.jain if caller.tenant is None else None
    return ShareReport(window=found.window, jain=jain, shares=[LedgerLine.of(line) for line in found.lines])
