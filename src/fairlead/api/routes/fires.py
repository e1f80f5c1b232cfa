"""/v1/fires: when a schedule would fire, before it is made or changed."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query

from fairlead.api.answers import answers
from fairlead.api.caller import Reader
from fairlead.api.endpoint import Endpoint
from fairlead.api.models.common import TEXT_PATTERN
from fairlead.api.models.fires import Fires
from fairlead.core.schedule.fires import fires_of
from fairlead.core.schedule.timing import timetable

router = APIRouter(prefix="/v1/fires", tags=["schedules"], route_class=Endpoint)

MOST = 100

Expression = Annotated[
    str,
    Query(min_length=1, max_length=500, pattern=TEXT_PATTERN, description="Fields of cron, `@daily`, or `every 30s`."),
]
Zone = Annotated[str, Query(min_length=1, max_length=100, pattern=TEXT_PATTERN)]
Count = Annotated[int, Query(ge=1, le=MOST)]


@router.get("", responses=answers())
async def next_fires(caller: Reader, expression: Expression, tz: Zone = "UTC", count: Count = 5) -> Fires:
    """The next times of an expression in a time zone."""
    found = fires_of(timetable(expression, tz), await caller.store.now(), count)
    return Fires(fires=[datetime.fromtimestamp(at, UTC) for at in found])
