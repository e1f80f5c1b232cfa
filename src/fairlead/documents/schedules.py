"""Recurring schedules: their document with the next and last fires, and the bodies that make and change them."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints

from fairlead.core.jobs.states import State
from fairlead.core.schedule.schedules import CatchUp, FireOutcome, Overlap, ScheduleRecord, ScheduleState
from fairlead.documents.base import (
    LONGEST_TIMEOUT,
    TEXT_PATTERN,
    Body,
    Document,
    EndpointName,
    Name,
    PriorityName,
    PriorityWord,
    Seconds,
    Text,
    json_value,
)
from fairlead.documents.retry import RetryPolicy

Expression = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=TEXT_PATTERN)]
Zone = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=TEXT_PATTERN)]


class FireDocument(Document):
    """A fire; a record of missed ones stands for `times` of them."""

    at: datetime
    outcome: FireOutcome
    times: int
    manual: bool
    job_id: str | None
    job_state: State | None


class ScheduleDocument(Document):
    """A schedule: its terms, its next fires, and the outcome of its last ones."""

    name: str
    expression: str
    tz: str
    type: str
    tenant: str
    pool: str
    priority: PriorityName
    payload: Any
    overlap: Overlap
    catch_up: CatchUp
    catch_up_window: float
    start_within: float | None
    options: dict[str, Any] | None = Field(description="The options of its jobs that are not their type's.")
    app: str | None = Field(description="The app whose code declares it; null if it was made by a program or by hand.")
    state: ScheduleState
    next_fires: list[datetime]
    fires: list[FireDocument]
    version: int

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a schedule."""
        assert isinstance(record, ScheduleRecord)
        fires = [FireDocument.of(fire) for fire in record.fires]
        payload, options = json_value(record.payload), json_value(record.options)
        return super().of(record, payload=payload, options=options, fires=fires, **fields)


class SchedulePage(Document):
    """Schedules by name; `cursor` continues, and is null at the end."""

    schedules: list[ScheduleDocument]
    cursor: str | None


class Fires(Document):
    """The next times of an expression, the first first."""

    fires: list[datetime]


class ScheduleTerms(Body):
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


class ScheduleCreation(ScheduleTerms):
    """A schedule to add: 5 or 6 fields of cron, `@daily` and the like, or `every 30s`."""

    name: Name
    expression: Expression
    type: Name


class ScheduleChange(ScheduleTerms):
    """What to change of a schedule; a field that is absent or null stays."""

    expression: Expression | None = None


class MadeJob(Document):
    """The job that a schedule made now."""

    schedule: str
    job_id: str
