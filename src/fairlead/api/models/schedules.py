"""Recurring schedules over HTTP."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from fairlead.api.models.common import Incoming, Name, Outgoing, Text
from fairlead.api.models.jobs import value_of
from fairlead.core.schedule import PastFire, ScheduleRecord


class FireDocument(Outgoing):
    """A fire; a record of missed ones stands for `times` of them."""

    at: datetime
    outcome: str
    times: int
    manual: bool
    job_id: str | None
    job_state: str | None


class ScheduleDocument(Outgoing):
    """A schedule: what it does, when it fires next, and what its last fires became."""

    name: str
    expression: str
    tz: str
    type: str
    tenant: str
    pool: str
    priority: str
    payload: Any
    overlap: str
    catch_up: str
    app: str | None = Field(description="The app whose code declares it; null if it was made by a program or by hand.")
    state: str
    next_fires: list[datetime]
    fires: list[FireDocument]


class Schedules(Outgoing):
    """Schedules by name; `cursor` continues, and is null at the end."""

    schedules: list[ScheduleDocument]
    cursor: str | None


class ScheduleAction(Incoming):
    """Which schedule, and why."""

    name: Name
    reason: Annotated[Text, Field(min_length=1)]


class MadeJob(Outgoing):
    """The job that was made."""

    id: str


def schedule_document(record: ScheduleRecord) -> ScheduleDocument:
    """A schedule as it is shown."""
    return ScheduleDocument(
        name=record.name,
        expression=record.expression,
        tz=record.tz,
        type=record.type,
        tenant=record.tenant,
        pool=record.pool,
        priority=record.priority.word,
        payload=value_of(record.payload),
        overlap=record.overlap.value,
        catch_up=record.catch_up.value,
        app=record.app,
        state=record.state.value,
        next_fires=list(record.next_fires),
        fires=[_fire(fire) for fire in record.fires],
    )


def _fire(fire: PastFire) -> FireDocument:
    state = None if fire.job_state is None else fire.job_state.value
    return FireDocument(
        at=fire.at,
        outcome=fire.outcome.value,
        times=fire.times,
        manual=fire.manual,
        job_id=fire.job_id,
        job_state=state,
    )
