"""/v1/me: who calls. /v1/keys: making, listing and revoking keys."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from fairlead.api.caller import Admin, Anyone
from fairlead.api.description import APPLICATIONS, OPERATORS
from fairlead.api.endpoint import Endpoint, SecretEndpoint
from fairlead.api.parameters import KeyId, Limit
from fairlead.api.responses import answers
from fairlead.documents.api_keys import CreatedKeyDocument, KeyCreation, KeyDocument, KeyPage, MeDocument
from fairlead.documents.base import Action
from fairlead.operate.api_keys import create_key, list_keys, read_key, revoke_key

me = APIRouter(prefix="/v1/me", tags=[APPLICATIONS], route_class=Endpoint)
router = APIRouter(prefix="/v1/keys", tags=[OPERATORS], route_class=SecretEndpoint)


@me.get("", operation_id="get_me", responses=answers())
async def get_me(caller: Anyone) -> MeDocument:
    """The key that calls, its tenant, and what it may do."""
    return MeDocument.of(caller.key)


@router.post("", operation_id="create_key", status_code=201, responses=answers())
async def make_key(wanted: KeyCreation, caller: Admin, request: Request, response: Response) -> CreatedKeyDocument:
    """Make a key. Its text is in this answer and nowhere else."""
    operator = caller.operator(wanted)
    made = await create_key(
        caller.store, operator, wanted.name, wanted.scopes, wanted.tenant, wanted.expires_in, wanted.rate
    )
    response.headers["Location"] = f"{request.scope.get('root_path', '')}/v1/keys/{made.key.id}"
    return CreatedKeyDocument.of(made.key, key=made.text)


@router.get("", operation_id="list_keys", responses=answers())
async def list_all(
    caller: Admin, limit: Limit = 50, cursor: Annotated[str | None, Query(pattern="^[0-9A-Za-z]{1,20}$")] = None
) -> KeyPage:
    """Keys by id, ended ones included."""
    keys, more = await list_keys(caller.store, limit, cursor)
    return KeyPage(keys=[KeyDocument.of(key) for key in keys], cursor=more)


@router.get("/{key_id}", operation_id="get_key", responses=answers(404))
async def get_key(key_id: KeyId, caller: Admin) -> KeyDocument:
    """One key."""
    return KeyDocument.of(await read_key(caller.store, key_id))


@router.post("/{key_id}/revoke", operation_id="revoke_key", responses=answers(404))
async def revoke(key_id: KeyId, caller: Admin, wanted: Action | None = None) -> KeyDocument:
    """End a key; it is refused within a second. Its record stays."""
    key = await revoke_key(caller.store, key_id, caller.operator(wanted))
    caller.service.keys.forget(key_id)
    return KeyDocument.of(key)
