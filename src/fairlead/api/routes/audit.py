"""/v1/audit: who did what."""

from typing import Annotated

from fastapi import APIRouter, Query

from fairlead.api.answers import answers
from fairlead.api.caller import Admin
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import Id, Limit
from fairlead.api.models.operate import AuditPage, Verification, audit_document
from fairlead.operate.audit import verify_chain

router = APIRouter(prefix="/v1/audit", tags=["audit"], route_class=Endpoint)


@router.get("", responses=answers())
async def list_entries(
    caller: Admin,
    job_id: Annotated[Id | None, Query()] = None,
    limit: Limit = 50,
    cursor: Annotated[int | None, Query(ge=1, le=2**62)] = None,
) -> AuditPage:
    """What operators did, newest first, to one job or to all."""
    found = await caller.store.audit.read(limit + 1, cursor, job_id)
    more = found[limit - 1].id if len(found) > limit else None
    return AuditPage(entries=[audit_document(entry) for entry in found[:limit]], cursor=more)


@router.get("/verification", responses=answers())
async def verify(caller: Admin) -> Verification:
    """Whether anybody changed, removed or inserted an entry."""
    found = await verify_chain(caller.store)
    return Verification(sound=found.sound, entries=found.entries, flaws=[flaw._asdict() for flaw in found.flaws])
