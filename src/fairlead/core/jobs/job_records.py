"""Jobs and job types as they are read back: records, attempts, filters and pages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fairlead.core.jobs.model import Ending, ErrorInfo, Priority
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.states import State


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A live or finished job as read from the store."""

    id: str
    type: str
    tenant: str
    pool: str
    priority: Priority
    version: int
    state: State
    payload: str
    attempt: int
    crashes: int
    fence: int
    created_at: datetime
    run_at: datetime
    not_after: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    result: Any  # JSON text as stored; in a program the value that the handler returned
    error: ErrorInfo | None
    key: str | None
    options: str | None
    parent: str | None
    replays: int = 0
    limits: str = ""
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """A stored attempt: one run that did not succeed."""

    fence: int
    attempt: int
    worker: str | None
    started_at: datetime | None
    ended_at: datetime
    ending: Ending
    error: ErrorInfo | None
    due_at: datetime | None = None  # when this run was due, and when the job became ready for it
    ready_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list; an empty field does not filter. A live job has no fingerprint and no `finished_at`."""

    states: tuple[State, ...] = ()
    type: str | None = None
    tenant: str | None = None
    pool: str | None = None
    priority: Priority | None = None
    key: str | None = None
    fingerprint: str | None = None
    error_type: str | None = None
    finished_after: float | None = None
    finished_before: float | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of jobs, newest first, and the cursor of the next page."""

    jobs: tuple[JobRecord, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class JobType:
    """A registered job type: what a process without the handler's code needs to submit jobs of it."""

    name: str
    version: int
    pool: str
    schema: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
