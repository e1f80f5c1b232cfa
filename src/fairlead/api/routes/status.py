"""/v1/status: the system now, live, and for the last hour."""

from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from fairlead.api.caller import Caller, Overseer
from fairlead.api.description import OPERATORS
from fairlead.api.endpoint import Endpoint
from fairlead.api.responses import answers
from fairlead.api.streams import DESCRIBED, event, stream
from fairlead.documents.status import RefusedCount, Samples, StatusDocument, WaitTimes
from fairlead.insight.job_types import HOUR, waits
from fairlead.insight.system_status import SystemStatus, history, system_status

router = APIRouter(prefix="/v1/status", tags=[OPERATORS], route_class=Endpoint)


@router.get("", operation_id="get_status", responses=answers())
async def get_status(caller: Overseer) -> StatusDocument:
    """The state of the system in one sentence, its alerts, jobs and slots by pool, waits, and refused submissions."""
    return await _document(caller, await system_status(caller.store))


@router.get("/history", operation_id="get_status_history", responses=answers())
async def get_history(caller: Overseer) -> Samples:
    """Samples of the last hour, oldest first."""
    return Samples(samples=await history(caller.store))


@router.get("/waits", operation_id="get_wait_times", responses=answers())
async def get_waits(caller: Overseer, seconds: Annotated[float, Query(ge=60, le=HOUR)] = HOUR) -> WaitTimes:
    """How long jobs waited until they were started: percentiles of the last seconds, by pool and by minute."""
    return WaitTimes.of(await waits(caller.store, seconds))


@router.get(
    "/stream", operation_id="stream_status", response_class=StreamingResponse,
    responses={**answers(), 200: {"description": "Events `status`, every few seconds.", **DESCRIBED}},
)  # fmt: skip
async def stream_status(request: Request, caller: Overseer) -> StreamingResponse:
    """The status as server-sent events, until the caller leaves."""
    caller.service.follower.require_room(caller.seat)
    return stream(request, caller, _looks(caller))


async def _looks(caller: Caller) -> AsyncGenerator[bytes]:
    feed = caller.service.feed
    with caller.service.follower.seat(caller.seat), feed.viewer():
        if feed.newest is not None:
            yield event("status", await _document(caller, feed.newest))
        while not feed.is_closed:
            found = await feed.next()
            if found is not None:
                yield event("status", await _document(caller, found))


async def _document(caller: Caller, found: SystemStatus) -> StatusDocument:
    return StatusDocument.of(found, refused=RefusedCount.all_of(await caller.store.backpressure.admissions()))
