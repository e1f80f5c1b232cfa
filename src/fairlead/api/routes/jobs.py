"""/v1/jobs: submitting jobs, looking at them, changing those that wait."""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response

from fairlead.api.answers import answer, answers
from fairlead.api.caller import Actor, Caller, Reader, Submitter
from fairlead.api.endpoint import DirectEndpoint, Endpoint
from fairlead.api.models.cancel import (
    CancelChoice,
    CancelReport,
    ChangeReport,
    JobCounts,
    LiveFilter,
    LiveState,
    PriorityChoice,
    RunNowChoice,
)
from fairlead.api.models.common import Cursor, JobId, Key, Limit, Moment, Name, PriorityWord, ReasonQuery, priority_of
from fairlead.api.models.jobs import (
    BatchResult,
    BatchResults,
    BatchSubmission,
    CancelledDocument,
    ExplanationDocument,
    JobChange,
    JobDetail,
    JobDocument,
    JobPage,
    JobSubmission,
    ReasonDocument,
    Submitted,
    attempt_document,
    job_document,
    job_fields,
    moment_document,
)
from fairlead.api.problems import Problem, problem_of
from fairlead.core.jobs.cancel import GRACE, MOST_GRACE
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Enqueued, NewJob, Priority
from fairlead.core.jobs.states import PENDING, State
from fairlead.core.jobs.trace import parse_traceparent
from fairlead.errors import FairleadError, JobNotFound
from fairlead.handlers.registered import prepare
from fairlead.operate.cancel_jobs import cancel_many, cancel_one, count
from fairlead.operate.change_jobs import change_job, hasten_many, retry_job, set_priorities
from fairlead.operate.dead_letters import DeadLetter, show
from fairlead.operate.job_explanation import explain_job

submissions = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=DirectEndpoint)
router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=Endpoint)

SHED = {"model": Submitted, "description": "The job was shed: it is not stored and never runs."}
Traceparent = Annotated[str | None, Header(description="The W3C trace context that the job belongs to.")]


@submissions.post("", status_code=202, response_model=Submitted, responses={**answers(409, 413, 415), 200: SHED})
async def submit_job(wanted: JobSubmission, request: Request, caller: Submitter) -> Response:
    """Submit one job; it is durable when the answer comes."""
    job = await _prepare(caller, wanted, parse_traceparent(request.headers.get("traceparent")))
    (became,) = await caller.service.client.submit([job])
    document = await _submitted(caller, job, became)
    if became.shed:
        return answer(200, document)
    return answer(202, document, {"Location": f"{request.scope.get('root_path', '')}/v1/jobs/{became.id}"})


@submissions.post("/batch", response_model=BatchResults, responses=answers(409, 413, 415))
async def submit_jobs(wanted: BatchSubmission, request: Request, caller: Submitter) -> Response:
    """Submit many jobs; each is accepted or refused on its own, and those accepted are stored together."""
    trace = parse_traceparent(request.headers.get("traceparent"))
    prepared = [await _attempt(caller, item, trace) for item in wanted.jobs]
    jobs = [item for item in prepared if isinstance(item, NewJob)]
    became = iter(await caller.service.client.submit(jobs) if jobs else [])
    results = [
        await _result(caller, item, next(became)) if isinstance(item, NewJob) else item.model_dump()
        for item in prepared
    ]
    return answer(200, {"results": results})


@router.get("", responses=answers())
async def list_jobs(
    caller: Reader,
    state: Annotated[list[State] | None, Query(max_length=20)] = None,
    type: Annotated[Name | None, Query()] = None,
    tenant: Annotated[Name | None, Query()] = None,
    pool: Annotated[Name | None, Query()] = None,
    priority: Annotated[PriorityWord | None, Query()] = None,
    idempotency_key: Annotated[Key | None, Query()] = None,
    key_contains: Annotated[
        Key | None, Query(description="A text in the idempotency key; a page may be short and still have a cursor.")
    ] = None,
    fingerprint: Annotated[Key | None, Query(description="The group of errors that dead jobs died of.")] = None,
    error_type: Annotated[Key | None, Query()] = None,
    finished_after: Moment = None,
    finished_before: Moment = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JobPage:
    """List jobs, newest first, a page at a time."""
    wanted = JobFilter(
        tuple(state or ()), type, caller.tenant_for(tenant), pool, priority_of(priority), idempotency_key, fingerprint,
        error_type, seconds_of(finished_after), seconds_of(finished_before),
    )  # fmt: skip
    page = await caller.service.client.list_jobs(wanted, limit, cursor, key_contains)
    return JobPage(jobs=[job_document(job) for job in page.jobs], cursor=page.cursor)


@router.get("/count", responses=answers())
async def count_jobs(
    caller: Reader,
    state: Annotated[list[LiveState] | None, Query(max_length=20)] = None,
    type: Annotated[Name | None, Query()] = None,
    tenant: Annotated[Name | None, Query()] = None,
    pool: Annotated[Name | None, Query()] = None,
    priority: Annotated[PriorityWord | None, Query()] = None,
) -> JobCounts:
    """How many jobs that have not ended fit, by state: those that could be cancelled."""
    chosen = LiveFilter(states=state or [], type=type, tenant=tenant, pool=pool, priority=priority)
    found = await count(caller.store, chosen.job_filter(caller.tenant_for(tenant)))
    return JobCounts(states={state.value: number for state, number in found.items()})


@router.post("/cancel", responses=answers())
async def cancel_jobs(wanted: CancelChoice, caller: Actor) -> CancelReport:
    """Cancel all jobs that fit and have not ended; the workers of those that run are asked to stop them."""
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    done = await cancel_many(caller.store, chosen, caller.operator(wanted.reason), most=wanted.limit)
    return CancelReport(cancelled=done.cancelled, asked=done.asked)


@router.post("/run-now", responses=answers())
async def run_jobs_now(wanted: RunNowChoice, caller: Actor) -> ChangeReport:
    """Let all jobs that fit and wait for their time or for a retry run now."""
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    return ChangeReport(changed=await hasten_many(caller.store, chosen, caller.operator(wanted.reason), wanted.limit))


@router.post("/priority", responses=answers())
async def set_job_priorities(wanted: PriorityChoice, caller: Actor) -> ChangeReport:
    """Give all jobs that fit and still wait another priority."""
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    priority, operator = Priority.parse(wanted.priority), caller.operator(wanted.reason)
    return ChangeReport(changed=await set_priorities(caller.store, chosen, operator, wanted.limit, priority))


@router.get("/{job_id}", response_model=JobDetail, responses={**answers(404), 304: {"description": "Not changed."}})
async def read_job(
    job_id: JobId, caller: Reader, if_none_match: Annotated[str | None, Header(max_length=1_000)] = None
) -> Response:
    """A job with its result or error, its runs, and all that happened to it."""
    await caller.job(job_id)
    return tagged(answer(200, await detail(caller, await show(caller.store, job_id))), if_none_match)


@router.delete("/{job_id}", responses=answers(404, 409))
async def cancel_job(
    job_id: JobId,
    caller: Actor,
    reason: ReasonQuery = None,
    grace: Annotated[
        float, Query(ge=0, le=MOST_GRACE, description="Seconds that a running handler may take to end.")
    ] = GRACE,
) -> CancelledDocument:
    """Cancel a job: at once if it waits; if it runs, its handler is told."""
    await caller.job(job_id)
    return CancelledDocument(id=job_id, state=await cancel_one(caller.store, job_id, caller.operator(reason), grace))


@router.patch("/{job_id}", responses=answers(404, 409, 413, 415))
async def patch_job(job_id: JobId, change: JobChange, caller: Actor) -> JobDocument:
    """Change the priority, the time or the payload of a job that still waits."""
    await caller.job(job_id)
    changed = await change_job(
        caller.store,
        job_id,
        caller.operator(change.reason),
        caller.service.settings.payload_limit,
        priority_of(change.priority),
        change.run_at,
        change.payload,
    )
    return job_document(changed)


@router.post("/{job_id}/retry", responses=answers(404, 409))
async def retry(job_id: JobId, caller: Actor, reason: ReasonQuery = None) -> JobDocument:
    """Let a job run now that is dead, waits for a retry, or waits for its time."""
    await caller.job(job_id)
    return job_document(await retry_job(caller.store, job_id, caller.operator(reason)))


@router.get("/{job_id}/explain", responses=answers(404))
async def explain(job_id: JobId, caller: Reader) -> ExplanationDocument:
    """Why a job is where it is, in words and as data."""
    explanation = await explain_job(caller.store, await caller.job(job_id), caller.tenant)
    reasons = [ReasonDocument(code=item.code, words=item.words, data=dict(item.data)) for item in explanation.reasons]
    return ExplanationDocument(
        state=explanation.state,
        summary=explanation.summary,
        reasons=reasons,
        estimated_start=explanation.estimated_start,
    )


async def detail(caller: Caller, found: DeadLetter) -> JobDetail:
    """A job with its runs, its terms and all that happened to it."""
    terms = await caller.service.catalog.terms(found.record)
    return JobDetail(
        **job_fields(found.record),
        attempts_allowed=terms.attempts,
        timeout=terms.timeout,
        attempts=[attempt_document(attempt) for attempt in found.attempts],
        timeline=[moment_document(moment) for moment in found.timeline()],
    )


async def _prepare(caller: Caller, wanted: JobSubmission, trace: str | None) -> NewJob:
    options = wanted.options(caller.tenant_for(wanted.tenant), trace)
    registered = await caller.service.catalog.find(wanted.type)
    job = prepare(registered, wanted.payload, options, caller.service.settings, wanted.attempts)
    await caller.service.client.require_callback(options)
    return job


async def _attempt(caller: Caller, wanted: JobSubmission, trace: str | None) -> NewJob | BatchResult:
    try:
        return await _prepare(caller, wanted, trace)
    except (FairleadError, Problem) as error:
        problem = problem_of(error)
        return BatchResult(status=problem.status_code, problem=problem.document())


async def _result(caller: Caller, job: NewJob, became: Enqueued) -> dict[str, Any]:
    status = 200 if became.shed else 202
    return {"status": status, "job": await _submitted(caller, job, became), "problem": None}


async def _submitted(caller: Caller, job: NewJob, became: Enqueued) -> dict[str, Any]:
    """What is said of an accepted job; of one that was there before, as it is now; a shed one has no state."""
    lane, state, pool, priority, run_at = job.lane, job.state, job.lane.pool, job.lane.priority, job.run_at
    if became.duplicate:
        record = await caller.store.reader.read(became.id)
        if record is None:
            raise JobNotFound(f"job {became.id} held the idempotency key and was removed meanwhile; submit again")
        lane = lane._replace(type=record.type, pool=record.pool, priority=record.priority)
        state, pool, priority, run_at = record.state, record.pool, record.priority, record.run_at.timestamp()
    start = None
    if not became.shed and state in PENDING:
        start = await caller.service.outlook.expected_start(lane, job.delay, run_at)
    return {
        "id": became.id,
        "type": lane.type,
        "tenant": lane.tenant,
        "pool": pool,
        "priority": priority.word,
        "state": None if became.shed else state.value,
        "duplicate": became.duplicate,
        "shed": became.shed,
        "deferred": job.deferred,
        "estimated_start": None if start is None else datetime.fromtimestamp(start, UTC),
    }


def seconds_of(moment: datetime | None) -> float | None:
    """An instant that a filter names as the store counts it."""
    return None if moment is None else moment.timestamp()


def tagged(response: Response, known: str | None) -> Response:
    """The answer with its ETag, or 304 where the caller has it."""
    tag = f'W/"{sha256(bytes(response.body)).hexdigest()[:32]}"'
    if known is not None and tag in [item.strip() for item in known.split(",")]:
        return Response(status_code=304, headers={"ETag": tag})
    response.headers["ETag"] = tag
    return response
