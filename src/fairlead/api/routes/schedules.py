"""/v1/schedules: recurring schedules, and what became of their fires."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from fairlead.api.answers import answers
from fairlead.api.caller import Caller, Chief, Overseer
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
from fairlead.control import schedules as use_cases

router = APIRouter(prefix="/v1/schedules", tags=["schedules"], route_class=Endpoint)

LAST = 10
After = Annotated[Name | None, Query(description="Go on after this name.")]


@router.get("", responses=answers())
async def list_schedules(caller: Overseer, limit: Limit = 50, after: After = None) -> Schedules:
    """Schedules by name, each with its next fires and its last ones."""
    found = await use_cases.list_schedules(caller.store, limit, after, upcoming=LAST, past=LAST)
    cursor = found[-1].name if len(found) == limit else None
    return Schedules(schedules=[schedule_document(record) for record in found], cursor=cursor)


@router.post("", status_code=201, responses=answers(409, 413))
async def add_schedule(
    wanted: ScheduleCreation, caller: Chief, request: Request, response: Response
) -> ScheduleDocument:
    """Add a schedule of a registered type; it fires from now on."""
    operator = caller.operator(wanted.reason)
    await caller.service.app.schedules.add(
        wanted.name,
        wanted.expression,
        wanted.type,
        wanted.payload,
        actor=operator.actor,
        reason=operator.reason,
        **wanted.terms(),
    )
    response.headers["Location"] = f"{request.scope.get('root_path', '')}/v1/schedules/{wanted.name}"
    return await _document(caller, wanted.name, response)


@router.get("/{name:path}", responses=answers(404))
async def show_schedule(name: NamePath, caller: Overseer, response: Response) -> ScheduleDocument:
    """A schedule, with its next fires and its last ones."""
    return await _document(caller, name, response)


@router.patch("/{name:path}", responses=answers(404, 409, 412, 413))
async def change_schedule(
    name: NamePath, wanted: ScheduleChange, caller: Chief, expected: ExpectedVersions, response: Response
) -> ScheduleDocument:
    """Change what is given and keep the rest; what was due before is made on the old terms."""
    operator = caller.operator(wanted.reason)
    await caller.service.app.schedules.change(
        name,
        expression=wanted.expression,
        payload=wanted.payload,
        actor=operator.actor,
        reason=operator.reason,
        expected=expected,
        **wanted.terms(),
    )
    return await _document(caller, name, response)


@router.delete("/{name:path}", status_code=204, responses=answers(404, 409, 412))
async def remove_schedule(
    name: NamePath, caller: Chief, expected: ExpectedVersions, reason: ReasonQuery = None
) -> None:
    """Remove a schedule and the record of its fires; its jobs stay."""
    await use_cases.remove(caller.store, name, caller.operator(reason), expected)


@router.post("/pause", status_code=204, responses=answers(404, 409))
async def pause(wanted: ScheduleAction, caller: Chief) -> None:
    """Let a schedule fire no more until it is resumed; a deploy does not resume it."""
    await use_cases.pause(caller.store, wanted.name, caller.operator(wanted.reason))


@router.post("/resume", status_code=204, responses=answers(404, 409))
async def resume(wanted: ScheduleAction, caller: Chief) -> None:
    """Let a paused schedule fire again; what fell into the pause is not caught up."""
    await use_cases.resume(caller.store, wanted.name, caller.operator(wanted.reason))


@router.post("/run-now", responses=answers(404, 409))
async def run_now(wanted: ScheduleAction, caller: Chief) -> MadeJob:
    """Make a job of the schedule now, whatever its timetable, its policies and its state say."""
    return MadeJob(id=(await use_cases.run_now(caller.store, wanted.name, caller.operator(wanted.reason))).id)


async def _document(caller: Caller, name: str, response: Response) -> ScheduleDocument:
    record = await use_cases.get(caller.store, name, upcoming=LAST, past=LAST)
    tag(response, record.version)
    return schedule_document(record)
