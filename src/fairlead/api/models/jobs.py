"""Jobs over HTTP."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import from_json

from fairlead.api.models.common import (
    EndpointName,
    Id,
    Incoming,
    Instant,
    Key,
    Name,
    Outgoing,
    PriorityWord,
    Seconds,
    Text,
)
from fairlead.api.models.retry import Attempts, RetryPolicy
from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord
from fairlead.core.jobs.model import ErrorInfo
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import State
from fairlead.core.web.callbacks import endpoint_named
from fairlead.handlers.options import Options, trace_of

MOST_JOBS = 1_000
LONGEST_TIMEOUT = 30 * 86400.0


class JobSubmission(Incoming):
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
    parent: Id | None = None
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

    def options(self, tenant: str | None, trace: str | None) -> Options:
        """The options of the submission."""
        return Options(
            tenant=tenant,
            priority=self.priority,
            pool=self.pool,
            run_in=self.run_in,
            run_at=self.run_at,
            not_after=self.not_after,
            idempotency_key=self.idempotency_key,
            idempotency_scope=self.idempotency_scope,
            idempotency_window=self.idempotency_window,
            timeout=self.timeout,
            retry=None if self.retry is None else self.retry.policy(),
            exact=self.exact,
            parent=self.parent,
            callback=self.callback,
            trace=trace,
        )


class BatchSubmission(Incoming):
    """Many jobs; each is accepted or refused on its own."""

    jobs: Annotated[list[JobSubmission], Field(min_length=1, max_length=MOST_JOBS)]


class JobChange(Incoming):
    """What to change of a job that waits; what is absent or null stays."""

    priority: PriorityWord | None = None
    run_at: Instant | None = None
    payload: dict[str, Any] | None = None
    reason: Text | None = None


class Submitted(Outgoing):
    """A job that was accepted, or the one that held its idempotency key before."""

    id: str
    type: str
    tenant: str
    pool: str
    priority: PriorityWord
    state: State | None = Field(description="Null where the job was shed.")
    duplicate: bool
    shed: bool = Field(description="Not stored, never to run: the system is overloaded, and that is its policy.")
    deferred: float | None = Field(description="Seconds that an overload has put it off; else null.")
    estimated_start: datetime | None = Field(description="Null where it cannot be told: no worker would take it now.")


class CancelledDocument(Outgoing):
    """What became of a cancellation: `cancelled`, or `running` where the worker was asked to end it."""

    id: str
    state: State


class BatchResult(Outgoing):
    """What became of one job of a batch: `job` where it was accepted, else `problem`."""

    status: int
    job: Submitted | None = None
    problem: dict[str, Any] | None = None


class BatchResults(Outgoing):
    """In the order of the jobs."""

    results: list[BatchResult]


class ErrorDocument(Outgoing):
    """An error of a run."""

    type: str
    message: str
    failure: str | None
    fingerprint: str | None
    traceback: str | None = None


class AttemptDocument(Outgoing):
    """A run that did not end its job well."""

    attempt: int
    fence: int
    worker: str | None
    started_at: datetime | None
    ended_at: datetime
    ending: str
    due_at: datetime | None
    ready_at: datetime | None
    error: ErrorDocument | None


class MomentDocument(Outgoing):
    """Something that happened to a job."""

    at: datetime
    what: str
    state: State | None = Field(description="Where it was from then on; null where that did not change.")
    attempt: int | None
    worker: str | None
    took: float | None
    by: str | None
    note: str | None
    error: ErrorDocument | None


class ProgressDocument(Outgoing):
    """How far the last run has come, as its handler said; without a total `done` is the fraction."""

    fraction: float
    done: float
    total: float | None
    message: str
    at: datetime


class JobDocument(Outgoing):
    """A job, live or finished."""

    id: str
    type: str
    tenant: str
    pool: str
    priority: PriorityWord
    version: int
    state: State
    payload: Any
    attempt: int
    crashes: int
    fence: int
    created_at: datetime
    run_at: datetime
    not_after: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    result: Any
    error: ErrorDocument | None
    idempotency_key: str | None
    parent: str | None
    replays: int
    callback: str | None = Field(description="The callback endpoint that is told how it ends.")
    traceparent: str | None
    progress: ProgressDocument | None = Field(description="Null where the last run has reported none.")


class JobDetail(JobDocument):
    """A job with its runs, the terms that it runs on, and all that happened to it."""

    attempts_allowed: int | None = Field(description="How often it is tried; null where its type is not registered.")
    timeout: float | None = Field(description="Seconds after which a run is stopped; null for never.")
    attempts: list[AttemptDocument]
    timeline: list[MomentDocument]


class JobPage(Outgoing):
    """Jobs, newest first; `cursor` continues, and is null at the end."""

    jobs: list[JobDocument]
    cursor: str | None


class ReasonDocument(Outgoing):
    """One thing that explains where a job is."""

    code: str
    words: str
    data: dict[str, Any]


class ExplanationDocument(Outgoing):
    """Why a job is where it is."""

    state: State
    summary: str
    reasons: list[ReasonDocument]
    estimated_start: datetime | None


def job_fields(job: JobRecord) -> dict[str, Any]:
    """The fields of a job's document."""
    return {
        "id": job.id,
        "type": job.type,
        "tenant": job.tenant,
        "pool": job.pool,
        "priority": job.priority.word,
        "version": job.version,
        "state": job.state,
        "payload": value_of(job.payload),
        "attempt": job.attempt,
        "crashes": job.crashes,
        "fence": job.fence,
        "created_at": job.created_at,
        "run_at": job.run_at,
        "not_after": job.not_after,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "worker": job.worker,
        "result": value_of(job.result),
        "error": error_document(job.error),
        "idempotency_key": job.key,
        "parent": job.parent,
        "replays": job.replays,
        "callback": endpoint_named(job.options or "{}"),
        "traceparent": trace_of(job.options),
        "progress": progress_document(job.progress),
    }


def job_document(job: JobRecord) -> JobDocument:
    """A job as it is shown in lists."""
    return JobDocument(**job_fields(job))


def attempt_document(attempt: AttemptRecord) -> AttemptDocument:
    """A run as it is shown."""
    return AttemptDocument(
        attempt=attempt.attempt,
        fence=attempt.fence,
        worker=attempt.worker,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        ending=attempt.ending.value,
        due_at=attempt.due_at,
        ready_at=attempt.ready_at,
        error=error_document(attempt.error),
    )


def moment_document(moment: Moment) -> MomentDocument:
    """A moment as it is shown."""
    return MomentDocument(
        at=moment.at,
        what=moment.what,
        state=moment.state,
        attempt=moment.attempt,
        worker=moment.worker,
        took=moment.took,
        by=moment.by,
        note=moment.note,
        error=error_document(moment.error),
    )


def progress_document(found: Progress | None) -> ProgressDocument | None:
    """Progress as it is shown."""
    if found is None:
        return None
    return ProgressDocument(
        fraction=found.fraction, done=found.done, total=found.total, message=found.message, at=found.at
    )


def error_document(error: ErrorInfo | None) -> ErrorDocument | None:
    """An error as it is shown."""
    if error is None:
        return None
    return ErrorDocument(
        type=error.type,
        message=error.message,
        failure=error.failure.value if error.failure else None,
        fingerprint=error.fingerprint,
        traceback=error.traceback,
    )


def value_of(text: str | None) -> Any:
    """A stored JSON text as a value; text that is not JSON stays text."""
    try:
        return None if text is None else from_json(text)
    except ValueError:
        return text
