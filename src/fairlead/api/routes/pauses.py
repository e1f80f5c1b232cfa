"""/v1/pauses: types, tenants and pools of which nothing starts."""

from fastapi import APIRouter

from fairlead.api.answers import answers
from fairlead.api.caller import Chief, Overseer
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.operate import PauseChange, Pauses, pause_document
from fairlead.operate.pauses import pause, paused, resume

router = APIRouter(prefix="/v1/pauses", tags=["pauses"], route_class=Endpoint)


@router.get("", responses=answers())
async def list_pauses(caller: Overseer) -> Pauses:
    """What is paused now."""
    return Pauses(pauses=[pause_document(item) for item in await paused(caller.store)])


@router.post("", status_code=204, responses=answers())
async def pause_something(wanted: PauseChange, caller: Chief) -> None:
    """Let nothing of a type, tenant or pool start; what runs goes on."""
    await pause(caller.store, wanted.scope, wanted.name, caller.operator(wanted.reason))


@router.post("/resume", status_code=204, responses=answers(404))
async def resume_something(wanted: PauseChange, caller: Chief) -> None:
    """Let it start again."""
    await resume(caller.store, wanted.scope, wanted.name, caller.operator(wanted.reason))
