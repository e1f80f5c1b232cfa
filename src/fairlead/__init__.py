"""Fairlead: durable jobs for Python, shared fairly between tenants.

Names are imported when they are first used, so that a program pays for what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairlead.version import __version__

if TYPE_CHECKING:
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
        ResultDropped,
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
        UnknownPool,
        UnknownType,
        UnsafePayload,
    )
    from fairlead.handlers.context import Context
    from fairlead.operate.cancel_jobs import CancelCounts

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
    "ResultDropped",
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
    "UnknownPool",
    "UnknownType",
    "UnsafePayload",
    "__version__",
    "verify_callback",
]

_MODULES = {
    "fairlead.app": ("App",),
    "fairlead.client.handler": (
        "Call",
        "Handler",
    ),
    "fairlead.client.http": ("HTTPClient",),
    "fairlead.client.http_blocking": ("BlockingHTTPClient",),
    "fairlead.client.job": ("Job",),
    "fairlead.client.callbacks": ("verify_callback",),
    "fairlead.core.insight.explain": ("Explanation",),
    "fairlead.core.insight.timeline": ("Moment",),
    "fairlead.core.jobs.failure": ("FailureClass",),
    "fairlead.core.jobs.dead_letters": ("DeadGroup",),
    "fairlead.core.jobs.job_records": ("AttemptRecord", "JobRecord", "Page"),
    "fairlead.core.jobs.model": ("Priority", "Scope"),
    "fairlead.core.jobs.progress": ("Progress",),
    "fairlead.core.jobs.retry": ("Retry",),
    "fairlead.core.jobs.states": ("State",),
    "fairlead.core.protection.breaker": ("Breaker",),
    "fairlead.core.protection.limits": ("Limit",),
    "fairlead.core.protection.quarantine": ("Quarantine",),
    "fairlead.core.protection.retry_budget": ("RetryBudget",),
    "fairlead.core.schedule.schedules": (
        "CatchUp",
        "FireOutcome",
        "Overlap",
        "PastFire",
        "ScheduleRecord",
        "ScheduleState",
    ),
    "fairlead.handlers.context": ("Context",),
    "fairlead.operate.cancel_jobs": ("CancelCounts",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name; those without a module of their own are errors."""
    if name not in __all__:
        raise AttributeError(f"module 'fairlead' has no attribute {name!r}")
    value = getattr(import_module(_HOME.get(name, "fairlead.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
