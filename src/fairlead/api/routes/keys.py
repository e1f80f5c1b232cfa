"""/v1/keys: making and ending keys."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from fairlead.api.answers import answers
from fairlead.api.caller import Admin
from fairlead.api.endpoint import SecretEndpoint
from fairlead.api.models.common import Limit, ReasonQuery
from fairlead.api.models.operate import CreatedKeyDocument, KeyCreation, KeyDocument, KeyPage, key_fields
from fairlead.operate.api_keys import create_key, list_keys, read_key, revoke_key

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=SecretEndpoint)

KeyId = Annotated[str, Path(pattern="^[0-9A-Za-z]{1,20}$")]


@router.post("", status_code=201, responses=answers())
async def make_key(wanted: KeyCreation, caller: Admin) -> CreatedKeyDocument:
    """Make a key. Its text is in this answer and nowhere else."""
    operator = caller.operator(wanted.reason)
    made = await create_key(
        caller.store, operator, wanted.name, wanted.scopes, wanted.tenant, wanted.expires_in, wanted.rate
    )
    return CreatedKeyDocument(**key_fields(made.key), key=made.text)


@router.get("", responses=answers())
async def list_all(
    caller: Admin, limit: Limit = 50, cursor: Annotated[str | None, Query(pattern="^[0-9A-Za-z]{1,20}$")] = None
) -> KeyPage:
    """Keys by id, ended ones included."""
    keys, more = await list_keys(caller.store, limit, cursor)
    return KeyPage(keys=[KeyDocument(**key_fields(key)) for key in keys], cursor=more)


@router.get("/{key_id}", responses=answers(404))
async def read_one(key_id: KeyId, caller: Admin) -> KeyDocument:
    """One key."""
    return KeyDocument(**key_fields(await read_key(caller.store, key_id)))


@router.delete("/{key_id}", responses=answers(404))
async def end_key(key_id: KeyId, caller: Admin, reason: ReasonQuery = None) -> KeyDocument:
    """End a key; it is refused within a second."""
    key = await revoke_key(caller.store, key_id, caller.operator(reason))
    caller.service.keys.forget(key_id)
    return KeyDocument(**key_fields(key))
