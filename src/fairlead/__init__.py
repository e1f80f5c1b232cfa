"""Fairlead: durable jobs for Python, shared fairly between tenants."""

from fairlead.app import App
from fairlead.client.callbacks import verify_callback
from fairlead.client.handler import Call, Handler
from fairlead.client.http import HTTPClient
from fairlead.client.http_blocking import BlockingHTTPClient
from fairlead.client.job import Job
from fairlead.core.insight.explain import Explanation
from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord, Page
from fairlead.core.jobs.model import Priority, Scope
from fairlead.core.jobs.progress import Progress
from fairlead.core.jobs.retry import Retry
from fairlead.core.jobs.states import State
from fairlead.core.protection.breaker import Breaker
from fairlead.core.protection.limits import Limit
from fairlead.core.protection.quarantine import Quarantine
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.core.schedule.schedules import CatchUp, FireOutcome, Overlap, PastFire, ScheduleRecord, ScheduleState
from fairlead.errors import (
    AccessDenied,
    CallbackError,
    CallbackNotFound,
    CallbackRefused,
    ChangedMeanwhile,
    ConfigError,
    DeadLetter,
    Discard,
    EgressRefused,
    FairleadError,
    IllegalMove,
    InvalidArguments,
    InvalidSignature,
    JobCancelled,
    JobFailed,
    JobNotDone,
    JobNotFound,
    LeaseLost,
    Overloaded,
    PayloadError,
    PayloadTooLarge,
    Refused,
    RequestRefused,
    RetryLater,
    ScheduleError,
    ScheduleNotFound,
    ScheduleRefused,
    SchemaMismatch,
    Snooze,
    StoreError,
    StoreRefused,
    StoreUnavailable,
    TenantQueueFull,
    TenantRateExceeded,
    UnknownCallback,
    UnknownType,
    UnsafePayload,
)
from fairlead.handlers.context import Context
from fairlead.operate.cancel_jobs import CancelCounts
from fairlead.version import __version__

__all__ = [
    "AccessDenied",
    "App",
    "AttemptRecord",
    "BlockingHTTPClient",
    "Breaker",
    "Call",
    "CallbackError",
    "CallbackNotFound",
    "CallbackRefused",
    "CancelCounts",
    "CatchUp",
    "ChangedMeanwhile",
    "ConfigError",
    "Context",
    "DeadGroup",
    "DeadLetter",
    "Discard",
    "EgressRefused",
    "Explanation",
    "FailureClass",
    "FairleadError",
    "FireOutcome",
    "HTTPClient",
    "Handler",
    "IllegalMove",
    "InvalidArguments",
    "InvalidSignature",
    "Job",
    "JobCancelled",
    "JobFailed",
    "JobNotDone",
    "JobNotFound",
    "JobRecord",
    "LeaseLost",
    "Limit",
    "Moment",
    "Overlap",
    "Overloaded",
    "Page",
    "PastFire",
    "PayloadError",
    "PayloadTooLarge",
    "Priority",
    "Progress",
    "Quarantine",
    "Refused",
    "RequestRefused",
    "Retry",
    "RetryBudget",
    "RetryLater",
    "ScheduleError",
    "ScheduleNotFound",
    "ScheduleRecord",
    "ScheduleRefused",
    "ScheduleState",
    "SchemaMismatch",
    "Scope",
    "Snooze",
    "State",
    "StoreError",
    "StoreRefused",
    "StoreUnavailable",
    "TenantQueueFull",
    "TenantRateExceeded",
    "UnknownCallback",
    "UnknownType",
    "UnsafePayload",
    "__version__",
    "verify_callback",
]
