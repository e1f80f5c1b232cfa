"""/v1/dead-letters/replay-in-stages/stream: a replay in stages that tells how it goes."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from fairlead.api.answers import answers
from fairlead.api.caller import Actor, Caller
from fairlead.api.endpoint import StreamEndpoint
from fairlead.api.models.dead_letters import StagedReplay, staged_report
from fairlead.api.problems import problem_of
from fairlead.core.jobs.job_records import JobFilter
from fairlead.errors import FairleadError
from fairlead.operate.dead_letters import count
from fairlead.operate.staged_replay import Pace, replay_in_stages

router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"], route_class=StreamEndpoint)

EVENT_STREAM = "text/event-stream"
SIGN_OF_LIFE = 2.0
EVENTS = "Events `begun`, `progress`, `stage`, and at the end `report` or `problem`."


@router.post(
    "/replay-in-stages/stream",
    response_class=StreamingResponse,
    responses={**answers(), 200: {"description": EVENTS, "content": {EVENT_STREAM: {}}}},
)
async def replay_stream(wanted: StagedReplay, request: Request, caller: Actor) -> StreamingResponse:
    """Bring dead jobs back a few first, told as server-sent events; who leaves stops it before the next stage."""
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    caller.service.follower.require_room(caller.key.id)
    stream = _stream(caller, wanted, chosen, request.scope["fairlead.key"])
    return StreamingResponse(stream, media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})


async def _stream(caller: Caller, wanted: StagedReplay, chosen: JobFilter, key: str) -> AsyncIterator[bytes]:
    """Events as they come, with a sign of life in between; a key that was revoked ends it, and so does the server."""
    with caller.service.follower.seat(caller.key.id):
        async with contextlib.aclosing(_events(caller, wanted, chosen, key)) as events:
            async for event in events:
                yield event


async def _events(caller: Caller, wanted: StagedReplay, chosen: JobFilter, key: str) -> AsyncGenerator[bytes]:
    told: asyncio.Queue[bytes] = asyncio.Queue()
    replay = asyncio.create_task(_replay(caller, wanted, chosen, told), name="fairlead-replay")
    try:
        while not (replay.done() and told.empty()):
            if caller.service.watch.is_closed or await caller.service.keys.find(key) is None:
                return
            yield await _next(told)
    finally:
        replay.cancel()
        await asyncio.wait([replay])


async def _next(told: asyncio.Queue[bytes]) -> bytes:
    try:
        return await asyncio.wait_for(told.get(), SIGN_OF_LIFE)
    except TimeoutError:
        return b": still here\n\n"


async def _replay(caller: Caller, wanted: StagedReplay, chosen: JobFilter, told: asyncio.Queue[bytes]) -> None:
    def tell(name: str, document: Any) -> None:
        told.put_nowait(b"event: %s\ndata: %s\n\n" % (name.encode(), to_json(document)))

    try:
        tell("begun", {"total": await count(caller.store, chosen)})
        report = await replay_in_stages(
            caller.store,
            chosen,
            caller.operator(wanted.reason),
            Pace(wanted.patience, wanted.tolerance),
            wanted.limit,
            on_stage=lambda stage: tell("stage", asdict(stage)),
            on_look=lambda look: tell("progress", look._asdict()),
        )
        tell("report", staged_report(report))
    except FairleadError as error:
        tell("problem", problem_of(error).document())
