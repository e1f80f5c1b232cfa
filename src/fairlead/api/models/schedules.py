"""Recurring schedules over HTTP."""

from datetime import datetime
from typing import Annotated, Any, cast

from pydantic import Field, StringConstraints

from fairlead.api.models.common import TEXT_PATTERN, EndpointName, Incoming, Name, Outgoing, PriorityWord, Seconds, Text
from fairlead.api.models.jobs import LONGEST_TIMEOUT, value_of
from fairlead.api.models.retry import RetryPolicy
from fairlead.core.schedule.schedules import CatchUp, Overlap, PastFire, ScheduleRecord
from fairlead.handlers.recurring import Terms

Expression = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=TEXT_PATTERN)]
Zone = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=TEXT_PATTERN)]


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
    catch_up_window: float
    start_within: float | None
    options: dict[str, Any] | None = Field(description="The options of its jobs that are not their type's.")
    version: int


class Schedules(Outgoing):
    """Schedules by name; `cursor` continues, and is null at the end."""

    schedules: list[ScheduleDocument]
    cursor: str | None


class ScheduleAction(Incoming):
    """Which schedule, and why."""

    name: Name
    reason: Annotated[Text, Field(min_length=1)]


class ScheduleTerms(Incoming):
    """When a schedule fires and what its jobs are; durations are seconds."""

    payload: dict[str, Any] | None = Field(None, description="The handler's arguments by name.")
    tz: Zone | None = None
    tenant: Name | None = None
    priority: PriorityWord | None = None
    pool: Name | None = None
    timeout: Annotated[float, Field(strict=True, gt=0, le=LONGEST_TIMEOUT)] | None = None
    retry: RetryPolicy | None = Field(None, description="A policy for its jobs, instead of that of their type.")
    callback: EndpointName | None = Field(None, description="The callback endpoint that is told how its jobs end.")
    overlap: Overlap | None = None
    catch_up: CatchUp | None = None
    catch_up_window: Seconds | None = None
    start_within: Seconds | None = None
    reason: Text | None = None

    def terms(self) -> Terms:
        """The terms that are given."""
        given = self.model_dump(include=set(Terms.__annotations__), exclude_none=True)
        if self.retry is not None:
            given["retry"] = self.retry.policy()
        return cast(Terms, given)


class ScheduleCreation(ScheduleTerms):
    """A schedule to add: 5 or 6 fields of cron, `@daily` and the like, or `every 30s`."""

    name: Name
    expression: Expression
    type: Name


class ScheduleChange(ScheduleTerms):
    """What to change of a schedule; what is absent or null stays."""

    expression: Expression | None = None


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
        catch_up_window=record.catch_up_window,
        start_within=record.start_within,
        options=value_of(record.options),
        version=record.version,
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
