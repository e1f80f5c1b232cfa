"""/v1/jobs/{id}/events and /wait: following a job until it ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from fairlead.api.answers import answer, answers
from fairlead.api.caller import Caller, Reader
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import JobId
from fairlead.api.models.jobs import JobDocument, error_document, job_document, progress_document, value_of
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.states import FINAL

HEARTBEAT = 15.0
LONGEST_WAIT = 60.0
EVENT_STREAM = "text/event-stream"

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=Endpoint)


@router.get(
    "/{job_id}/wait",
    response_model=JobDocument,
    responses={**answers(404), 202: {"model": JobDocument, "description": "It has not ended yet; wait again."}},
)
async def wait(
    job_id: JobId, caller: Reader, timeout: Annotated[float, Query(ge=0, le=LONGEST_WAIT)] = 30.0
) -> Response:
    """The job once it has ended; after `timeout` seconds as it is then, with 202."""
    job = await caller.service.follower.wait(await caller.job(job_id), timeout, caller.key.id)
    return answer(200 if job.state in FINAL else 202, job_document(job))


@router.get(
    "/{job_id}/events",
    response_class=StreamingResponse,
    responses={
        **answers(404),
        200: {"description": "Events `state`, `progress` and, at the end, `result`.", "content": {EVENT_STREAM: {}}},
    },
)
async def events(job_id: JobId, request: Request, caller: Reader) -> StreamingResponse:
    """The job's changes as server-sent events, until it has ended."""
    job = await caller.job(job_id)
    caller.service.follower.require_room(caller.key.id)
    stream = _stream(caller, job, request.scope["fairlead.key"])
    return StreamingResponse(stream, media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})


async def _stream(caller: Caller, job: JobRecord, key: str) -> AsyncIterator[bytes]:
    """Events, with a sign of life in between; a key that was revoked ends it."""
    yield b"retry: 2000\n\n"
    told: JobRecord | None = None
    async with contextlib.aclosing(caller.service.follower.changes(job, caller.key.id)) as changes:
        while True:
            following = asyncio.ensure_future(anext(changes, None))
            try:
                while not following.done():
                    await asyncio.wait([following], timeout=HEARTBEAT)
                    if following.done():
                        break
                    if await caller.service.keys.find(key) is None:
                        return
                    yield b": still here\n\n"
                record = following.result()
            finally:
                following.cancel()
                await asyncio.wait([following])
            if record is None:
                return
            if told is None or _state(record) != _state(told):
                yield _event("state", _state(record))
            if record.progress is not None and (told is None or record.progress != told.progress):
                yield _event("progress", _progress(record))
            told = record
            if record.state in FINAL:
                yield _event("result", _result(record))
                return


def _event(name: str, document: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), to_json(document))


def _state(job: JobRecord) -> dict[str, Any]:
    return {
        "id": job.id,
        "state": job.state.value,
        "attempt": job.attempt,
        "run_at": job.run_at,
        "started_at": job.started_at,
        "worker": job.worker,
        "error": error_document(job.error),
    }


def _progress(job: JobRecord) -> dict[str, Any]:
    return {"id": job.id, "state": job.state.value, "attempt": job.attempt, "progress": progress_document(job.progress)}


def _result(job: JobRecord) -> dict[str, Any]:
    return {
        "id": job.id,
        "state": job.state.value,
        "finished_at": job.finished_at,
        "result": value_of(job.result),
        "error": error_document(job.error),
    }
