"""/v1/workers: who works, and telling them to end."""

from typing import Annotated

from fastapi import APIRouter, Path

from fairlead.api.answers import answers
from fairlead.api.caller import Chief, Overseer
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import ReasonQuery
from fairlead.api.models.operate import Workers, worker_document
from fairlead.operate.workers import Direction, direct

router = APIRouter(prefix="/v1/workers", tags=["workers"], route_class=Endpoint)

WorkerId = Annotated[str, Path(max_length=100)]


@router.get("", responses=answers())
async def list_workers(caller: Overseer) -> Workers:
    """All registered workers."""
    return Workers(workers=[worker_document(record) for record in await caller.store.workers.all()])


@router.post("/{worker_id}/drain", status_code=202, responses=answers(404), response_model=None)
async def drain(worker_id: WorkerId, caller: Chief, reason: ReasonQuery = None) -> None:
    """Let a worker claim nothing more, finish what runs, and end."""
    await direct(caller.store, worker_id, Direction.DRAIN, caller.operator(reason))


@router.post("/{worker_id}/stop", status_code=202, responses=answers(404), response_model=None)
async def stop(worker_id: WorkerId, caller: Chief, reason: ReasonQuery = None) -> None:
    """Let a worker give back what it runs, without burning attempts, and end."""
    await direct(caller.store, worker_id, Direction.STOP, caller.operator(reason))
