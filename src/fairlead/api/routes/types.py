"""/v1/types: what can be submitted, and how it runs."""

from typing import Annotated

from fastapi import APIRouter, Path

from fairlead.api.answers import answers
from fairlead.api.caller import Reader
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.views import Looks, ViewDocument, look_document, view_document
from fairlead.api.problems import Problem
from fairlead.errors import UnknownType
from fairlead.operate.job_types import type_looks, type_view

router = APIRouter(prefix="/v1/types", tags=["types"], route_class=Endpoint)


@router.get("", responses=answers())
async def list_types(caller: Reader) -> Looks:
    """All registered types, with the JSON schemas of their payloads and percentiles of their run times."""
    found = await type_looks(caller.store, await caller.service.catalog.all())
    return Looks(types=[look_document(look, caller.tenant is not None) for look in found])


@router.get("/{name:path}", responses=answers(404))
async def read_type(name: Annotated[str, Path(max_length=200)], caller: Reader) -> ViewDocument:
    """One type, with a histogram of its run times and what was done to it."""
    try:
        found = (await caller.service.catalog.find(name)).type
    except UnknownType as error:
        raise Problem(404, error.code, str(error)) from None
    return view_document(await type_view(caller.store, found), caller.tenant is not None)
