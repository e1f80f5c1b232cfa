"""/v1/audit: what operators did."""

from typing import Annotated

from fastapi import APIRouter, Query

from fairlead.api.caller import Admin
from fairlead.api.description import OPERATORS
from fairlead.api.endpoint import Endpoint
from fairlead.api.parameters import Limit, NumberCursor
from fairlead.api.responses import answers
from fairlead.documents.audit import AuditDocument, AuditPage, Verification
from fairlead.documents.base import Id
from fairlead.operate.audit import verify_chain

router = APIRouter(prefix="/v1/audit", tags=[OPERATORS], route_class=Endpoint)


@router.get("", operation_id="list_audit", responses=answers())
async def list_entries(
    caller: Admin,
    job_id: Annotated[Id | None, Query()] = None,
    limit: Limit = 50,
    cursor: NumberCursor = None,
) -> AuditPage:
    """What operators did, newest first, to one job or to all."""
    found = await caller.store.audit.read(limit + 1, cursor, job_id)
    more = found[limit - 1].id if len(found) > limit else None
    return AuditPage(entries=[AuditDocument.of(entry) for entry in found[:limit]], cursor=more)


@router.get("/verification", operation_id="verify_audit", responses=answers())
async def verify(caller: Admin) -> Verification:
    """Whether anybody changed, removed or inserted an entry."""
    return Verification.of(await verify_chain(caller.store))
