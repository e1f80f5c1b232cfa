"""/v1/types: the job types that can be submitted, and how they run."""

from fastapi import APIRouter

from fairlead.api.caller import Reader
from fairlead.api.description import APPLICATIONS
from fairlead.api.endpoint import Endpoint
from fairlead.api.parameters import NamePath
from fairlead.api.problems import Problem
from fairlead.api.responses import answers
from fairlead.documents.types import TypeDetail, TypeDocument, TypeList
from fairlead.errors import UnknownType
from fairlead.insight.job_types import type_looks, type_view

router = APIRouter(prefix="/v1/types", tags=[APPLICATIONS], route_class=Endpoint)


@router.get("", operation_id="list_types", responses=answers())
async def list_types(caller: Reader) -> TypeList:
    """All registered types, with the JSON schemas of their payloads and percentiles of their run times."""
    found = await type_looks(caller.store, await caller.service.types.all())
    return TypeList(types=[TypeDocument.of(look, caller.tenant is not None) for look in found])


@router.get("/{name}", operation_id="get_type", responses=answers(404))
async def get_type(name: NamePath, caller: Reader) -> TypeDetail:
    """One type, with a histogram of its run times and what was done to it."""
    try:
        found = (await caller.service.types.find(name)).type
    except UnknownType as error:
        raise Problem(404, error.code, str(error)) from None
    return TypeDetail.of(await type_view(caller.store, found), caller.tenant is not None)
