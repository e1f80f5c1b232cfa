"""/v1/stats: the system at a glance, now, live, and for the last hour."""

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from fairlead.api.answers import answers
from fairlead.api.caller import Overseer
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.operate import PoolDocument, Samples, Stats
from fairlead.api.models.views import Waits
from fairlead.operate.system_status import history, pool_stats
from fairlead.operate.wait_times import HOUR, waits, waits_document

router = APIRouter(prefix="/v1/stats", tags=["stats"], route_class=Endpoint)

EVENT_STREAM = "text/event-stream"


@router.get("", responses=answers())
async def stats(caller: Overseer) -> Stats:
    """Jobs by pool and state, what waits longest, and the slots."""
    return Stats(pools=[PoolDocument(**asdict(pool)) for pool in await pool_stats(caller.store)])


@router.get("/history", responses=answers())
async def last_hour(caller: Overseer) -> Samples:
    """Samples of the last hour, oldest first."""
    return Samples(samples=await history(caller.store))


@router.get("/waits", responses=answers())
async def last_waits(caller: Overseer, seconds: Annotated[float, Query(ge=60, le=HOUR)] = HOUR) -> Waits:
    """How long jobs waited until they were started: percentiles of the last seconds, by pool and by minute."""
    return Waits(**waits_document(await waits(caller.store, seconds)))


@router.get(
    "/stream",
    response_class=StreamingResponse,
    responses={
        **answers(),
        200: {"description": "Events `glance`, every few seconds.", "content": {EVENT_STREAM: {}}},
    },
)
async def stream(request: Request, caller: Overseer) -> StreamingResponse:
    """The system at a glance as server-sent events, until the caller leaves."""
    watch, follower = caller.service.watch, caller.service.follower
    follower.require_room(caller.key.id)

    async def events() -> AsyncIterator[bytes]:
        yield b"retry: 2000\n\n"
        with follower.seat(caller.key.id), watch.viewer():
            if watch.newest is not None:
                yield _event(watch.newest)
            while not watch.is_closed and await caller.service.keys.find(request.scope["fairlead.key"]):
                yield _event(await watch.next())

    return StreamingResponse(events(), media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})


def _event(document: dict[str, Any]) -> bytes:
    return b"event: glance\ndata: %s\n\n" % to_json(document)
