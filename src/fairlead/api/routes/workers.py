"""/v1/workers: the worker processes, and telling them to end."""

from fastapi import APIRouter

from fairlead.api.caller import Caller, Chief, Overseer
from fairlead.api.description import OPERATORS
from fairlead.api.endpoint import Endpoint
from fairlead.api.parameters import WorkerId
from fairlead.api.responses import answers
from fairlead.documents.base import Action
from fairlead.documents.workers import WorkerDocument, WorkerList
from fairlead.errors import WorkerNotFound
from fairlead.operate.workers import Direction, direct

router = APIRouter(prefix="/v1/workers", tags=[OPERATORS], route_class=Endpoint)


@router.get("", operation_id="list_workers", responses=answers())
async def list_workers(caller: Overseer) -> WorkerList:
    """All registered workers."""
    return WorkerList(workers=[WorkerDocument.of(record) for record in await caller.store.workers.all()])


@router.post("/{worker_id}/drain", operation_id="drain_worker", status_code=202, responses=answers(404))
async def drain(worker_id: WorkerId, caller: Chief, wanted: Action | None = None) -> WorkerDocument:
    """Let a worker claim nothing more, finish what runs, and end."""
    return await _direct(caller, worker_id, Direction.DRAIN, wanted)


@router.post("/{worker_id}/stop", operation_id="stop_worker", status_code=202, responses=answers(404))
async def stop(worker_id: WorkerId, caller: Chief, wanted: Action | None = None) -> WorkerDocument:
    """Let a worker give back what it runs, without burning attempts, and end."""
    return await _direct(caller, worker_id, Direction.STOP, wanted)


async def _direct(caller: Caller, worker_id: str, direction: Direction, wanted: Action | None) -> WorkerDocument:
    await direct(caller.store, worker_id, direction, caller.operator(wanted))
    found = [record for record in await caller.store.workers.all() if record.info.id == worker_id]
    if not found:
        raise WorkerNotFound(f"the worker {worker_id} has ended")
    return WorkerDocument.of(found[0])
