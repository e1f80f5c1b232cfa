"""/v1/types: what can be submitted."""

from typing import Annotated

from fastapi import APIRouter, Path

from fairlead.api.answers import answers
from fairlead.api.caller import Reader
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.operate import TypeDocument, Types, type_document
from fairlead.api.problems import Problem
from fairlead.errors import UnknownType

router = APIRouter(prefix="/v1/types", tags=["types"], route_class=Endpoint)


@router.get("", responses=answers())
async def list_types(caller: Reader) -> Types:
    """All registered types, with the JSON schemas of their payloads."""
    return Types(types=[type_document(job_type) for job_type in await caller.service.catalog.all()])


@router.get("/{name:path}", responses=answers(404))
async def read_type(name: Annotated[str, Path(max_length=200)], caller: Reader) -> TypeDocument:
    """One type."""
    try:
        return type_document((await caller.service.catalog.find(name)).type)
    except UnknownType as error:
        raise Problem(404, error.code, str(error)) from None
