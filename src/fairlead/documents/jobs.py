"""Jobs: their document, their runs and timeline, and the bodies that submit and change them."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import from_json, to_json

from fairlead.core.insight.explain import Explanation
from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.cancel import GRACE, MOST_GRACE
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord, Page
from fairlead.core.jobs.model import Ending, ErrorInfo, Priority
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import State
from fairlead.core.web.callbacks import OPTION
from fairlead.documents.base import (
    LONGEST_TIMEOUT,
    Body,
    Document,
    EndpointName,
    Id,
    Instant,
    Key,
    Name,
    PriorityName,
    PriorityWord,
    Seconds,
    Text,
    json_value,
)
from fairlead.documents.retry import Attempts, RetryPolicy

MOST_JOBS = 1_000
LARGE_FIELDS = ("payload", "result")


class JobSubmission(Body):
    """A job to run. Durations are seconds."""

    type: Name
    payload: dict[str, Any] = Field(default_factory=dict, description="The handler's arguments by name.")
    tenant: Name | None = None
    pool: Name | None = None
    priority: PriorityWord = "default"
    run_in: Seconds | None = None
    run_at: Instant | None = None
    not_after: Instant | None = None
    idempotency_key: Key | None = None
    idempotency_scope: Literal["active", "window", "forever"] = "active"
    idempotency_window: Seconds | None = None
    timeout: Annotated[float, Field(strict=True, gt=0, le=LONGEST_TIMEOUT)] | None = None
    attempts: Attempts | None = Field(None, description="How often it is tried, with the waits of its type.")
    retry: RetryPolicy | None = Field(None, description="A policy of its own, instead of that of its type.")
    exact: bool | None = Field(None, description="Keep a time more than an hour ahead to the second.")
    parent: Id | None = Field(None, description="The job that it belongs to: kept with it, it waits for nothing.")
    callback: EndpointName | None = Field(None, description="The callback endpoint that is told how the job ends.")

    @model_validator(mode="after")
    def _fits_together(self) -> "JobSubmission":
        if self.run_in is not None and self.run_at is not None:
            raise ValueError("run_in and run_at exclude each other; give one of them")
        if (self.idempotency_scope == "window") != (self.idempotency_window is not None):
            raise ValueError("idempotency_window goes with the scope window, and that scope needs it")
        if self.attempts is not None and self.retry is not None:
            raise ValueError("attempts and retry exclude each other; retry has attempts of its own")
        if self.idempotency_key is None and self.idempotency_scope != "active":
            raise ValueError("idempotency_scope needs an idempotency_key")
        return self


class BatchSubmission(Body):
    """Many jobs; each is accepted or refused on its own."""

    jobs: Annotated[list[JobSubmission], Field(min_length=1, max_length=MOST_JOBS)]


class JobChange(Body):
    """What to change of a job that waits; a field that is absent or null stays."""

    priority: PriorityWord | None = None
    run_at: Instant | None = None
    payload: dict[str, Any] | None = None
    reason: Text | None = None


class Cancellation(Body):
    """A job to cancel."""

    grace: Annotated[float, Field(strict=True, ge=0, le=MOST_GRACE)] = Field(
        GRACE, description="Seconds that a running handler may take to end."
    )
    reason: Text | None = None


class SubmittedDocument(Document):
    """A job that was accepted, or the one that holds its idempotency key."""

    id: str
    type: str
    tenant: str
    pool: str
    priority: PriorityName
    state: State | None = Field(description="Null where the job was shed, or is gone.")
    duplicate: bool = Field(description="A job with this idempotency key was there before; this is that job.")
    gone: bool = Field(False, description="A duplicate whose record was removed after its retention time.")
    shed: bool = Field(description="Not stored, never to run: the system is overloaded, and that is its policy.")
    deferred: float | None = Field(description="Seconds that an overload has put it off; else null.")
    estimated_start: datetime | None = Field(description="Null where it cannot be told: no worker would take it now.")


class CancelledDocument(Document):
    """The state of a job after a cancellation: `cancelled`, or `running` where its worker was asked to end it."""

    id: str
    state: State


class BatchResult(Document):
    """The fate of one job of a batch: `job` where it was accepted, else `problem`."""

    status: int
    job: SubmittedDocument | None = None
    problem: dict[str, Any] | None = None


class BatchResults(Document):
    """The results, in the order of the jobs."""

    results: list[BatchResult]


class ErrorDocument(Document):
    """An error of a run."""

    type: str
    message: str
    failure: FailureClass | None
    fingerprint: str | None
    traceback: str | None = None

    def record(self) -> ErrorInfo:
        """The error as core has it."""
        return ErrorInfo(self.type, self.message, self.traceback, self.failure, fingerprint=self.fingerprint)


class AttemptDocument(Document):
    """A run that did not end its job well."""

    attempt: int
    fence: int
    worker: str | None
    started_at: datetime | None
    ended_at: datetime
    ending: Ending
    due_at: datetime | None
    ready_at: datetime | None
    error: ErrorDocument | None

    def record(self) -> AttemptRecord:
        """The run as core has it."""
        return AttemptRecord(**{**_shallow(self), "error": self.error and self.error.record()})


class MomentDocument(Document):
    """Something that happened to a job."""

    at: datetime
    what: str
    state: State | None = Field(description="The job's state from then on; null where that did not change.")
    attempt: int | None
    worker: str | None
    took: float | None
    by: str | None
    note: str | None
    error: ErrorDocument | None

    def record(self) -> Moment:
        """The moment as core has it."""
        return Moment(**{**_shallow(self), "error": self.error and self.error.record()})


class ProgressDocument(Document):
    """How far the last run has come, as its handler said; without a total `done` is the fraction."""

    fraction: float
    done: float
    total: float | None
    message: str
    at: datetime

    def record(self) -> Progress:
        """The progress as core has it."""
        return Progress(self.done, self.total, self.message, self.at)


class CheckpointDocument(Document):
    """A checkpoint of a job, without its content; `name` is the step or loop that made it, `size` is in bytes."""

    number: int
    name: str
    at: datetime
    size: int
    fence: int
    version: int
    resumptions: int = Field(description="How often the job had been resumed by then, in this attempt.")


class JobDocument(Document):
    """A job, live or finished."""

    id: str
    type: str
    tenant: str
    pool: str
    priority: PriorityName
    version: int
    state: State
    payload: Any = Field(None, description="In lists null, unless `fields` names it.")
    attempt: int
    crashes: int
    fence: int
    created_at: datetime
    run_at: datetime
    not_after: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    result: Any = Field(None, description="In lists null, unless `fields` names it.")
    error: ErrorDocument | None = Field(
        description="Of a job that succeeded: null, or why its result could not be kept (`ResultDropped`)."
    )
    idempotency_key: str | None
    parent: str | None
    replays: int
    callback: str | None = Field(description="The callback endpoint that is told how it ends.")
    traceparent: str | None
    options: dict[str, Any] | None = Field(description="The terms of its own that it was submitted with.")
    progress: ProgressDocument | None = Field(description="Null where the last run has reported none.")

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a job."""
        assert isinstance(record, JobRecord)
        options = from_json(record.options) if record.options else {}
        callback, trace = options.pop(OPTION, None), options.pop("trace", None)
        return super().of(
            record,
            payload=json_value(record.payload),
            result=json_value(record.result),
            idempotency_key=record.key,
            callback=callback,
            traceparent=trace,
            options=options or None,
            **fields,
        )

    def record(self) -> JobRecord:
        """The job as core has it."""
        fields = _shallow(self)
        options = {**(fields.pop("options") or {}), OPTION: fields.pop("callback"), "trace": fields.pop("traceparent")}
        given = {name: value for name, value in options.items() if value is not None}
        return JobRecord(
            **{name: fields[name] for name in JobDocument.model_fields if name in fields and name in _OF_RECORDS},
            priority=Priority.parse(self.priority),
            payload=to_json(self.payload).decode(),
            result=None if self.result is None else to_json(self.result).decode(),
            error=None if self.error is None else self.error.record(),
            key=self.idempotency_key,
            options=to_json(given).decode() if given else None,
            progress=None if self.progress is None else self.progress.record(),
        )

    def small(self, fields: frozenset[str] = frozenset()) -> "JobDocument":
        """The document without its large fields, except those that are asked for."""
        return self.model_copy(update={name: None for name in LARGE_FIELDS if name not in fields})


class JobDetail(JobDocument):
    """A job with its runs, the terms that it runs on, and all that happened to it."""

    attempts_allowed: int | None = Field(description="How often it is tried; null where its type is not registered.")
    timeout: float | None = Field(description="Seconds after which a run is stopped; null for never.")
    attempts: list[AttemptDocument]
    timeline: list[MomentDocument]
    checkpoints: list[CheckpointDocument] = Field(description="The last ones, newest first.")


class JobPage(Document):
    """Jobs, newest first; `cursor` continues, and is null at the end."""

    jobs: list[JobDocument]
    cursor: str | None

    def record(self) -> Page:
        """The page as core has it."""
        return Page(tuple(job.record() for job in self.jobs), self.cursor)


class JobCounts(Document):
    """Jobs by state."""

    states: dict[str, int]


class ReasonDocument(Document):
    """One thing that explains where a job is."""

    code: str
    words: str
    data: dict[str, Any]


class ExplanationDocument(Document):
    """Why a job is where it is."""

    state: State
    summary: str
    reasons: list[ReasonDocument]
    estimated_start: datetime | None

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of an explanation."""
        assert isinstance(record, Explanation)
        return super().of(record, reasons=[ReasonDocument.of(item) for item in record.reasons], **fields)


_OF_RECORDS = frozenset(JobRecord.__dataclass_fields__) - {
    "priority", "payload", "result", "error", "options", "progress",
}  # fmt: skip


def _shallow(document: Document) -> dict[str, Any]:
    """The fields of a document, nested documents as they are."""
    return {name: getattr(document, name) for name in type(document).model_fields}
