"""/v1/jobs: submitting jobs, looking at them, changing, cancelling, replaying and purging them."""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from fairlead.api.caller import Actor, Caller, Reader, Submitter
from fairlead.api.description import APPLICATIONS, OPERATORS
from fairlead.api.endpoint import DirectEndpoint, Endpoint
from fairlead.api.parameters import Cursor, JobId, KeyFilter, Limit, Moment, NameFilter, PriorityFilter, seconds_of
from fairlead.api.privacy import explanation_for, job_for
from fairlead.api.problems import Problem, problem_of
from fairlead.api.responses import answer, answers, job_page
from fairlead.core.jobs.job_records import JobFilter, JobRecord
from fairlead.core.jobs.model import Enqueued, NewJob, Priority
from fairlead.core.jobs.states import PENDING, State
from fairlead.core.jobs.trace import parse_traceparent
from fairlead.documents.base import Action, priority_of
from fairlead.documents.bulk import CancelReport, ChangeReport, LiveChoice, LiveFilter, LiveState, PriorityChoice
from fairlead.documents.dead_letters import DeadReplay
from fairlead.documents.jobs import (
    BatchResult,
    BatchResults,
    BatchSubmission,
    Cancellation,
    CancelledDocument,
    ExplanationDocument,
    JobChange,
    JobCounts,
    JobDetail,
    JobDocument,
    JobPage,
    JobSubmission,
    SubmittedDocument,
)
from fairlead.errors import FairleadError, Refused
from fairlead.handlers.options import Options
from fairlead.handlers.registered import prepare
from fairlead.insight.job_explanation import explain_job
from fairlead.operate import dead_letters
from fairlead.operate.cancel_jobs import cancel_many, cancel_one, count
from fairlead.operate.change_jobs import change_job, hasten_many, run_job_now, set_priorities

submissions = APIRouter(prefix="/v1/jobs", tags=[APPLICATIONS], route_class=DirectEndpoint)
router = APIRouter(prefix="/v1/jobs", route_class=Endpoint)

SHED = {"model": SubmittedDocument, "description": "The job was shed: it is not stored and never runs."}
Large = Literal["payload", "result"]


@submissions.post(
    "", operation_id="submit_job", status_code=202, response_model=SubmittedDocument,
    responses={**answers(409, 413, 415), 200: SHED},
)  # fmt: skip
async def submit_job(wanted: JobSubmission, request: Request, caller: Submitter) -> Response:
    """Submit one job; it is durable when the answer comes."""
    job = await _prepare(caller, wanted, parse_traceparent(request.headers.get("traceparent")))
    (became,) = await _submit(caller, [job])
    document = await _submitted(caller, job, became)
    if became.shed:
        return answer(200, document)
    return answer(202, document, {"Location": f"{request.scope.get('root_path', '')}/v1/jobs/{became.id}"})


@submissions.post(
    "/batch", operation_id="submit_jobs", response_model=BatchResults, responses=answers(409, 413, 415)
)  # fmt: skip
async def submit_jobs(wanted: BatchSubmission, request: Request, caller: Submitter) -> Response:
    """Submit many jobs; each is accepted or refused on its own, and those accepted are stored together."""
    trace = parse_traceparent(request.headers.get("traceparent"))
    prepared = [await _attempt(caller, item, trace) for item in wanted.jobs]
    jobs = [item for item in prepared if isinstance(item, NewJob)]
    became = iter(await _submit(caller, jobs) if jobs else [])
    results = [
        await _result(caller, item, next(became)) if isinstance(item, NewJob) else item.model_dump()
        for item in prepared
    ]
    return answer(200, {"results": results})


@router.get("", operation_id="list_jobs", tags=[APPLICATIONS], responses=answers())
async def list_jobs(
    caller: Reader,
    states: Annotated[list[State] | None, Query(max_length=20)] = None,
    type: NameFilter = None,
    tenant: NameFilter = None,
    pool: NameFilter = None,
    priority: PriorityFilter = None,
    idempotency_key: KeyFilter = None,
    key_contains: Annotated[
        KeyFilter, Query(description="A text in the idempotency key; a page may be short and still have a cursor.")
    ] = None,
    fingerprint: Annotated[KeyFilter, Query(description="The group of errors that dead jobs died of.")] = None,
    error_type: KeyFilter = None,
    finished_after: Moment = None,
    finished_before: Moment = None,
    fields: Annotated[
        list[Large] | None, Query(max_length=2, description="Large fields to include, which are null otherwise.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JobPage:
    """List jobs, newest first, a page at a time; a page ends early where it would be too large."""
    wanted = JobFilter(
        tuple(states or ()), type, caller.tenant_for(tenant), pool, priority_of(priority), idempotency_key, fingerprint,
        error_type, seconds_of(finished_after), seconds_of(finished_before),
    )  # fmt: skip
    client = caller.service.client
    return await job_page(
        caller,
        lambda most, after: client.list_jobs(wanted, most, after, key_contains),
        limit,
        cursor,
        frozenset(fields or ()),
    )


@router.get("/count", operation_id="count_jobs", tags=[OPERATORS], responses=answers())
async def count_jobs(
    caller: Reader,
    states: Annotated[list[LiveState] | None, Query(max_length=20)] = None,
    type: NameFilter = None,
    tenant: NameFilter = None,
    pool: NameFilter = None,
    priority: PriorityFilter = None,
) -> JobCounts:
    """How many jobs that have not ended fit, by state: those that could be cancelled."""
    chosen = LiveFilter(states=states or [], type=type, tenant=tenant, pool=pool, priority=priority)
    found = await count(caller.store, chosen.job_filter(caller.tenant_for(tenant)))
    return JobCounts(states={state.value: number for state, number in found.items()})


@router.post("/cancel", operation_id="cancel_jobs", tags=[OPERATORS], responses=answers())
async def cancel_jobs(wanted: LiveChoice, caller: Actor) -> CancelReport:
    """Cancel all jobs that fit and have not ended; the workers of those that run are asked to stop them."""
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    done = await cancel_many(caller.store, chosen, caller.operator(wanted), most=wanted.limit)
    return CancelReport.of(done)


@router.post("/run-now", operation_id="run_jobs_now", tags=[OPERATORS], responses=answers())
async def run_jobs_now(wanted: LiveChoice, caller: Actor) -> ChangeReport:
    """Let all jobs that fit and wait for their time or for a retry run now."""
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    return ChangeReport(changed=await hasten_many(caller.store, chosen, caller.operator(wanted), wanted.limit))


@router.post("/set-priority", operation_id="set_job_priorities", tags=[OPERATORS], responses=answers())
async def set_job_priorities(wanted: PriorityChoice, caller: Actor) -> ChangeReport:
    """Give all jobs that fit and still wait another priority."""
    chosen = wanted.filter.job_filter(caller.tenant_for(wanted.filter.tenant))
    priority, operator = Priority.parse(wanted.priority), caller.operator(wanted)
    return ChangeReport(changed=await set_priorities(caller.store, chosen, operator, wanted.limit, priority))


@router.get(
    "/{job_id}", operation_id="get_job", tags=[APPLICATIONS], response_model=JobDetail,
    responses={**answers(404), 304: {"description": "Not changed."}},
)  # fmt: skip
async def get_job(
    job_id: JobId, caller: Reader, if_none_match: Annotated[str | None, Header(max_length=1_000)] = None
) -> Response:
    """A job with its result or error, its runs, and all that happened to it."""
    await caller.job(job_id)
    found = await dead_letters.show(caller.store, job_id)
    terms = await caller.service.types.terms(found.record)
    detail = JobDetail.of(
        found.record,
        attempts_allowed=terms.attempts,
        timeout=terms.timeout,
        attempts=found.attempts,
        timeline=found.timeline(),
        checkpoints=found.checkpoints,
    )
    return tagged(answer(200, job_for(caller, detail)), if_none_match)


@router.patch("/{job_id}", operation_id="change_job", tags=[OPERATORS], responses=answers(404, 409, 413, 415))
async def patch_job(job_id: JobId, change: JobChange, caller: Actor) -> JobDocument:
    """Change the priority, the time or the payload of a job that still waits, or the payload of a dead one."""
    record = await caller.job(job_id)
    operator, limit = caller.operator(change), caller.service.settings.payload_limit
    if record.state is State.DEAD and change.payload is not None and change.priority is None and change.run_at is None:
        await dead_letters.edit(caller.store, job_id, change.payload, limit, operator)
        return await _job(caller, job_id)
    priority = priority_of(change.priority)
    changed = await change_job(caller.store, job_id, operator, limit, priority, change.run_at, change.payload)
    return job_for(caller, JobDocument.of(changed))


@router.delete("/{job_id}", operation_id="purge_job", tags=[OPERATORS], status_code=204, responses=answers(404, 409))
async def purge_job(job_id: JobId, caller: Actor, wanted: Action | None = None) -> None:
    """Remove a dead job for good, with its payload and errors. To end a job that is not dead, cancel it."""
    await caller.job(job_id)
    await dead_letters.purge_one(caller.store, job_id, caller.operator(wanted))


@router.post("/{job_id}/cancel", operation_id="cancel_job", tags=[APPLICATIONS], responses=answers(404, 409))
async def cancel_job(job_id: JobId, caller: Actor, wanted: Cancellation | None = None) -> CancelledDocument:
    """Cancel a job: at once if it waits; if it runs, its handler is told. A dead job is given up."""
    record, wanted = await caller.job(job_id), wanted or Cancellation()
    operator = caller.operator(wanted)
    if record.state is State.DEAD:
        outcome = await dead_letters.cancel_ids(caller.store, [job_id], operator)
        for error in outcome.refused.values():
            raise error
        return CancelledDocument(id=job_id, state=State.CANCELLED)
    return CancelledDocument(id=job_id, state=await cancel_one(caller.store, job_id, operator, wanted.grace))


@router.post("/{job_id}/run-now", operation_id="run_job_now", tags=[OPERATORS], responses=answers(404, 409))
async def run_now(job_id: JobId, caller: Actor, wanted: Action | None = None) -> JobDocument:
    """Let a job run now that waits for a retry or for its time."""
    await caller.job(job_id)
    record = await run_job_now(caller.store, job_id, caller.operator(wanted))
    return job_for(caller, JobDocument.of(record))


@router.post("/{job_id}/replay", operation_id="replay_job", tags=[OPERATORS], responses=answers(404, 409, 413))
async def replay_job(job_id: JobId, caller: Actor, wanted: DeadReplay | None = None) -> JobDocument:
    """Bring a dead job back, with its payload or with another."""
    await caller.job(job_id)
    wanted, limit = wanted or DeadReplay(), caller.service.settings.payload_limit
    await dead_letters.replay_one(caller.store, job_id, caller.operator(wanted), wanted.payload, limit)
    return await _job(caller, job_id)


@router.get("/{job_id}/explain", operation_id="explain_job", tags=[APPLICATIONS], responses=answers(404))
async def explain(job_id: JobId, caller: Reader) -> ExplanationDocument:
    """Why a job is where it is, in words and as data."""
    found = await explain_job(caller.store, await caller.job(job_id), caller.tenant)
    return explanation_for(caller, ExplanationDocument.of(found))


async def _job(caller: Caller, job_id: str) -> JobDocument:
    return job_for(caller, JobDocument.of(await caller.job(job_id)))


async def _prepare(caller: Caller, wanted: JobSubmission, trace: str | None) -> NewJob:
    options = options_of(wanted, caller.tenant_for(wanted.tenant), trace)
    registered = await caller.service.types.find(wanted.type)
    await caller.require_pool(wanted.pool)
    job = prepare(registered, wanted.payload, options, caller.service.settings, wanted.attempts)
    await caller.service.client.require_callback(options)
    return job


async def _attempt(caller: Caller, wanted: JobSubmission, trace: str | None) -> NewJob | BatchResult:
    try:
        return await _prepare(caller, wanted, trace)
    except (FairleadError, Problem) as error:
        problem = problem_of(error)
        return BatchResult(status=problem.status_code, problem=problem.document())


async def _submit(caller: Caller, jobs: list[NewJob]) -> list[Enqueued]:
    """Store the jobs; of a key whose jobs are refused, the next submissions are refused before they are read."""
    try:
        return await caller.service.client.submit(jobs)
    except Refused as error:
        caller.service.allowance.refused(caller.key, error, len(jobs))
        raise


async def _result(caller: Caller, job: NewJob, became: Enqueued) -> dict[str, Any]:
    status = 200 if became.shed else 202
    return {"status": status, "job": await _submitted(caller, job, became), "problem": None}


async def _submitted(caller: Caller, job: NewJob, became: Enqueued) -> SubmittedDocument:
    """The answer to an accepted job; of one that was there before, as it is now; a shed one has no state."""
    record = await caller.store.reader.read(became.id) if became.duplicate else None
    fields = _of_record(record) if record else {"type": job.lane.type, "tenant": job.lane.tenant, "pool": job.lane.pool}
    state = None if became.shed or (became.duplicate and record is None) else record.state if record else job.state
    start = await _start(caller, job, record) if state in PENDING else None
    return SubmittedDocument(
        **{"priority": job.lane.priority, **fields},
        id=became.id,
        state=state,
        duplicate=became.duplicate,
        gone=became.duplicate and record is None,
        shed=became.shed,
        deferred=job.deferred,
        estimated_start=start,
    )


def _of_record(record: JobRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ("type", "tenant", "pool", "priority")}


async def _start(caller: Caller, job: NewJob, record: JobRecord | None) -> datetime | None:
    lane, run_at = job.lane, job.run_at
    if record is not None:
        lane = lane._replace(type=record.type, pool=record.pool, priority=record.priority)
        run_at = record.run_at.timestamp()
    start = await caller.service.estimate.expected_start(lane, job.delay, run_at)
    return None if start is None else datetime.fromtimestamp(start, UTC)


def options_of(wanted: JobSubmission, tenant: str | None, trace: str | None) -> Options:
    """The options that a submission asks for."""
    return Options(
        tenant=tenant,
        priority=wanted.priority,
        pool=wanted.pool,
        run_in=wanted.run_in,
        run_at=wanted.run_at,
        not_after=wanted.not_after,
        idempotency_key=wanted.idempotency_key,
        idempotency_scope=wanted.idempotency_scope,
        idempotency_window=wanted.idempotency_window,
        timeout=wanted.timeout,
        retry=None if wanted.retry is None else wanted.retry.policy(),
        exact=wanted.exact,
        parent=wanted.parent,
        callback=wanted.callback,
        trace=trace,
    )


def tagged(response: Response, known: str | None) -> Response:
    """The answer with its ETag, or 304 where the caller has it."""
    tag = f'W/"{sha256(bytes(response.body)).hexdigest()[:32]}"'
    if known is not None and tag in [item.strip() for item in known.split(",")]:
        return Response(status_code=304, headers={"ETag": tag})
    response.headers["ETag"] = tag
    return response
