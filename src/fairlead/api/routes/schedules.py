"""/v1/schedules: recurring schedules, and the outcome of their fires."""

from datetime import UTC, datetime
from typing import Annotated, cast

from fastapi import APIRouter, Query, Request, Response

from fairlead.api.caller import Actor, Caller, Reader
from fairlead.api.description import OPERATORS
from fairlead.api.endpoint import Endpoint
from fairlead.api.parameters import ExpectedVersions, Limit, NameCursor, NamePath, OfTenant, tag
from fairlead.api.responses import answers
from fairlead.core.schedule.fires import fires_of
from fairlead.core.schedule.timing import timetable
from fairlead.documents.base import Action
from fairlead.documents.schedules import (
    Expression,
    Fires,
    MadeJob,
    ScheduleChange,
    ScheduleCreation,
    ScheduleDocument,
    SchedulePage,
    ScheduleTerms,
    Zone,
)
from fairlead.handlers.recurring import Terms
from fairlead.recurring import changes as use_cases

router = APIRouter(prefix="/v1/schedules", tags=[OPERATORS], route_class=Endpoint)
fires = APIRouter(prefix="/v1/fires", tags=[OPERATORS], route_class=Endpoint)

LAST = 10
MOST_FIRES = 100


@fires.get("", operation_id="preview_fires", responses=answers())
async def preview_fires(
    caller: Reader,
    expression: Annotated[Expression, Query(description="Fields of cron, `@daily`, or `every 30s`.")],
    tz: Annotated[Zone, Query()] = "UTC",
    count: Annotated[int, Query(ge=1, le=MOST_FIRES)] = 5,
) -> Fires:
    """The next times of an expression in a time zone."""
    found = fires_of(timetable(expression, tz), await caller.store.now(), count)
    return Fires(fires=[datetime.fromtimestamp(at, UTC) for at in found])


@router.get("", operation_id="list_schedules", responses=answers())
async def list_schedules(
    caller: Reader, tenant: OfTenant = None, limit: Limit = 50, cursor: NameCursor = None
) -> SchedulePage:
    """Schedules by name, each with its next fires and its last ones."""
    wanted = caller.tenant_for(tenant)
    found = await use_cases.list_schedules(caller.store, limit, cursor, upcoming=LAST, past=LAST, tenant=wanted)
    more = found[-1].name if len(found) == limit else None
    return SchedulePage(schedules=[ScheduleDocument.of(record) for record in found], cursor=more)


@router.post("", operation_id="create_schedule", status_code=201, responses=answers(409, 413))
async def create_schedule(
    wanted: ScheduleCreation, caller: Actor, request: Request, response: Response
) -> ScheduleDocument:
    """Add a schedule of a registered type; it fires from now on. A key with a tenant names it `tenant:…`."""
    operator, terms = caller.operator(wanted), _terms(caller, wanted)
    await caller.require_pool(wanted.pool)
    if caller.tenant is not None:
        await use_cases.require_own(caller.store, caller.tenant, wanted.name, wanted.expression, wanted.tz)
    await caller.service.app.schedules.add(
        wanted.name,
        wanted.expression,
        wanted.type,
        wanted.payload,
        actor=operator.actor,
        reason=operator.reason,
        **terms,
    )
    response.headers["Location"] = f"{request.scope.get('root_path', '')}/v1/schedules/{wanted.name}"
    return await _document(caller, wanted.name, response)


@router.get("/{name}", operation_id="get_schedule", responses=answers(404))
async def get_schedule(name: NamePath, caller: Reader, response: Response) -> ScheduleDocument:
    """A schedule, with its next fires and its last ones."""
    return await _document(caller, name, response)


@router.patch("/{name}", operation_id="change_schedule", responses=answers(404, 409, 412, 413))
async def change_schedule(
    name: NamePath, wanted: ScheduleChange, caller: Actor, expected: ExpectedVersions, response: Response
) -> ScheduleDocument:
    """Change the given fields and keep the rest; jobs that were due before are made on the old terms."""
    operator, terms = caller.operator(wanted), _terms(caller, wanted)
    await caller.require_pool(wanted.pool)
    if caller.tenant is not None and wanted.expression is not None:
        use_cases.require_slow(caller.tenant, wanted.expression, wanted.tz)
    await caller.service.app.schedules.change(
        name,
        expression=wanted.expression,
        payload=wanted.payload,
        actor=operator.actor,
        reason=operator.reason,
        expected=expected,
        of_tenant=caller.tenant,
        **terms,
    )
    return await _document(caller, name, response)


@router.delete("/{name}", operation_id="remove_schedule", status_code=204, responses=answers(404, 409, 412))
async def remove_schedule(
    name: NamePath, caller: Actor, expected: ExpectedVersions, wanted: Action | None = None
) -> None:
    """Remove a schedule and the record of its fires; its jobs stay."""
    await use_cases.remove(caller.store, name, caller.operator(wanted), expected, caller.tenant)


@router.post("/{name}/pause", operation_id="pause_schedule", responses=answers(404, 409))
async def pause(name: NamePath, caller: Actor, response: Response, wanted: Action | None = None) -> ScheduleDocument:
    """Let a schedule fire no more until it is resumed; a deploy does not resume it."""
    await use_cases.pause(caller.store, name, caller.operator(wanted), caller.tenant)
    return await _document(caller, name, response)


@router.post("/{name}/resume", operation_id="resume_schedule", responses=answers(404, 409))
async def resume(name: NamePath, caller: Actor, response: Response, wanted: Action | None = None) -> ScheduleDocument:
    """Let a paused schedule fire again; fires that fell into the pause are not caught up."""
    await use_cases.resume(caller.store, name, caller.operator(wanted), caller.tenant)
    return await _document(caller, name, response)


@router.post("/{name}/run-now", operation_id="run_schedule_now", responses=answers(404, 409))
async def run_now(name: NamePath, caller: Actor, wanted: Action | None = None) -> MadeJob:
    """Make a job of the schedule now, whatever its timetable, its policies and its state say."""
    made = await use_cases.run_now(caller.store, name, caller.operator(wanted), caller.tenant)
    return MadeJob(schedule=name, job_id=made.id)


def _terms(caller: Caller, wanted: ScheduleTerms) -> Terms:
    """The terms that were given, for the tenant that the caller may act for."""
    given = wanted.model_dump(include=set(Terms.__annotations__), exclude_none=True)
    if wanted.retry is not None:
        given["retry"] = wanted.retry.policy()
    tenant = caller.tenant_for(wanted.tenant)
    return cast(Terms, given if tenant is None else {**given, "tenant": tenant})


async def _document(caller: Caller, name: str, response: Response) -> ScheduleDocument:
    record = await use_cases.get(caller.store, name, upcoming=LAST, past=LAST, tenant=caller.tenant)
    tag(response, record.version)
    return ScheduleDocument.of(record)
