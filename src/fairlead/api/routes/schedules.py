"""/v1/schedules: recurring schedules, and what became of their fires."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from fairlead.api.answers import answers
from fairlead.api.caller import Actor, Caller, Reader
from fairlead.api.conditions import ExpectedVersions, tag
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import Limit, Name, ReasonQuery
from fairlead.api.models.schedules import (
    MadeJob,
    ScheduleAction,
    ScheduleChange,
    ScheduleCreation,
    ScheduleDocument,
    Schedules,
    schedule_document,
)
from fairlead.api.models.settings import NamePath
from fairlead.handlers.recurring import Terms
from fairlead.operate import schedules as use_cases
from fairlead.operate.schedules import require_own, require_slow

router = APIRouter(prefix="/v1/schedules", tags=["schedules"], route_class=Endpoint)

LAST = 10
After = Annotated[Name | None, Query(description="Go on after this name.")]
OfTenant = Annotated[Name | None, Query(description="Only those whose jobs are this tenant's.")]


@router.get("", responses=answers())
async def list_schedules(caller: Reader, limit: Limit = 50, after: After = None, tenant: OfTenant = None) -> Schedules:
    """Schedules by name, each with its next fires and its last ones."""
    wanted = caller.tenant_for(tenant)
    found = await use_cases.list_schedules(caller.store, limit, after, upcoming=LAST, past=LAST, tenant=wanted)
    cursor = found[-1].name if len(found) == limit else None
    return Schedules(schedules=[schedule_document(record) for record in found], cursor=cursor)


@router.post("", status_code=201, responses=answers(409, 413))
async def add_schedule(
    wanted: ScheduleCreation, caller: Actor, request: Request, response: Response
) -> ScheduleDocument:
    """Add a schedule of a registered type; it fires from now on. A key with a tenant names it `tenant/…`."""
    operator, terms = caller.operator(wanted.reason), _terms(caller, wanted.terms(), wanted.tenant)
    if caller.tenant is not None:
        await require_own(caller.store, caller.tenant, wanted.name, wanted.expression, wanted.tz)
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


@router.get("/{name:path}", responses=answers(404))
async def show_schedule(name: NamePath, caller: Reader, response: Response) -> ScheduleDocument:
    """A schedule, with its next fires and its last ones."""
    return await _document(caller, name, response)


@router.patch("/{name:path}", responses=answers(404, 409, 412, 413))
async def change_schedule(
    name: NamePath, wanted: ScheduleChange, caller: Actor, expected: ExpectedVersions, response: Response
) -> ScheduleDocument:
    """Change what is given and keep the rest; what was due before is made on the old terms."""
    operator, terms = caller.operator(wanted.reason), _terms(caller, wanted.terms(), wanted.tenant)
    if caller.tenant is not None and wanted.expression is not None:
        require_slow(caller.tenant, wanted.expression, wanted.tz)
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


@router.delete("/{name:path}", status_code=204, responses=answers(404, 409, 412))
async def remove_schedule(
    name: NamePath, caller: Actor, expected: ExpectedVersions, reason: ReasonQuery = None
) -> None:
    """Remove a schedule and the record of its fires; its jobs stay."""
    await use_cases.remove(caller.store, name, caller.operator(reason), expected, caller.tenant)


@router.post("/pause", status_code=204, responses=answers(404, 409))
async def pause(wanted: ScheduleAction, caller: Actor) -> None:
    """Let a schedule fire no more until it is resumed; a deploy does not resume it."""
    await use_cases.pause(caller.store, wanted.name, caller.operator(wanted.reason), caller.tenant)


@router.post("/resume", status_code=204, responses=answers(404, 409))
async def resume(wanted: ScheduleAction, caller: Actor) -> None:
    """Let a paused schedule fire again; what fell into the pause is not caught up."""
    await use_cases.resume(caller.store, wanted.name, caller.operator(wanted.reason), caller.tenant)


@router.post("/run-now", responses=answers(404, 409))
async def run_now(wanted: ScheduleAction, caller: Actor) -> MadeJob:
    """Make a job of the schedule now, whatever its timetable, its policies and its state say."""
    made = await use_cases.run_now(caller.store, wanted.name, caller.operator(wanted.reason), caller.tenant)
    return MadeJob(id=made.id)


def _terms(caller: Caller, terms: Terms, tenant: str | None) -> Terms:
    """The terms that were given, for the tenant that the caller may act for."""
    wanted = caller.tenant_for(tenant)
    return terms if wanted is None else {**terms, "tenant": wanted}


async def _document(caller: Caller, name: str, response: Response) -> ScheduleDocument:
    record = await use_cases.get(caller.store, name, upcoming=LAST, past=LAST, tenant=caller.tenant)
    tag(response, record.version)
    return schedule_document(record)
