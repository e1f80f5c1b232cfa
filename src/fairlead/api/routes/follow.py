"""/v1/jobs/{job_id}/wait and /events: following a job until it ends."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from fairlead.api.caller import Caller, Reader
from fairlead.api.description import APPLICATIONS
from fairlead.api.endpoint import Endpoint
from fairlead.api.parameters import JobId
from fairlead.api.privacy import job_for
from fairlead.api.responses import answer, answers
from fairlead.api.streams import DESCRIBED, event, stream
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.states import FINAL
from fairlead.documents.jobs import JobDocument

LONGEST_WAIT = 60.0
STATE = ("id", "state", "attempt", "run_at", "started_at", "worker", "error")
PROGRESS = ("id", "state", "attempt", "progress")
RESULT = ("id", "state", "finished_at", "result", "error")

router = APIRouter(prefix="/v1/jobs", tags=[APPLICATIONS], route_class=Endpoint)


@router.get(
    "/{job_id}/wait", operation_id="wait_for_job", response_model=JobDocument,
    responses={**answers(404), 202: {"model": JobDocument, "description": "It has not ended yet; wait again."}},
)  # fmt: skip
async def wait(
    job_id: JobId, caller: Reader, timeout: Annotated[float, Query(ge=0, le=LONGEST_WAIT)] = 30.0
) -> Response:
    """The job once it has ended; after `timeout` seconds as it is then, with 202."""
    job = await caller.service.follower.wait(await caller.job(job_id), timeout, caller.seat)
    return answer(200 if job.state in FINAL else 202, job_for(caller, JobDocument.of(job)))


@router.get(
    "/{job_id}/events", operation_id="stream_job", response_class=StreamingResponse,
    responses={
        **answers(404),
        200: {"description": "Events `state`, `progress` and, at the end, `result`.", **DESCRIBED},
    },
)  # fmt: skip
async def events(job_id: JobId, request: Request, caller: Reader) -> StreamingResponse:
    """The job's changes as server-sent events, until it has ended."""
    job = await caller.job(job_id)
    caller.service.follower.require_room(caller.seat)
    return stream(request, caller, _changes(caller, job))


async def _changes(caller: Caller, job: JobRecord) -> AsyncGenerator[bytes]:
    told: dict[str, Any] = {}
    async with contextlib.aclosing(caller.service.follower.changes(job, caller.seat)) as changes:
        async for record in changes:
            document = job_for(caller, JobDocument.of(record)).model_dump()
            if _part(document, STATE) != _part(told, STATE):
                yield event("state", _part(document, STATE))
            if document["progress"] not in (None, told.get("progress")):
                yield event("progress", _part(document, PROGRESS))
            told = document
            if record.state in FINAL:
                yield event("result", _part(document, RESULT))
                return


def _part(document: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {field: document.get(field) for field in fields}
