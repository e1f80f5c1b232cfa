"""/v1/tenants: who shares the workers, and whether each gets what it is due. A bound key sees only its own."""

from typing import Annotated

from fastapi import APIRouter, Query

from fairlead.api.answers import answers
from fairlead.api.caller import Reader
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import Name
from fairlead.api.models.shares import ShareReport, TenantList, share_document, tenant_document
from fairlead.control.tenants import LONGEST_WINDOW, list_tenants, read_shares

router = APIRouter(prefix="/v1/tenants", tags=["tenants"], route_class=Endpoint)

Window = Annotated[float, Query(ge=1, le=LONGEST_WINDOW, description="Seconds to look back.")]


@router.get("", responses=answers())
async def tenants(caller: Reader) -> TenantList:
    """The tenants that were set up or have work waiting."""
    found = await list_tenants(caller.store)
    own = [state for state in found if caller.tenant in (None, state.tenant.name)]
    return TenantList(tenants=[tenant_document(state) for state in own])


@router.get("/shares", responses=answers())
async def shares(caller: Reader, window: Window = 3600.0, pool: Annotated[Name | None, Query()] = None) -> ShareReport:
    """What tenants were due and got within a window, in slot-seconds."""
    own = () if caller.tenant is None else (caller.tenant,)
    found = await read_shares(caller.store, window, pool, own)
    jain = found.jain if caller.tenant is None else None
    return ShareReport(window=found.window, jain=jain, shares=[share_document(line) for line in found.lines])
