"""/v1/schedules: recurring schedules, and what became of their fires."""

from typing import Annotated

from fastapi import APIRouter, Query

from fairlead.api.answers import answers
from fairlead.api.caller import Chief, Overseer
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import Limit, Name
from fairlead.api.models.schedules import MadeJob, ScheduleAction, Schedules, schedule_document
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
