"""Every exception Fairlead raises, in one tree.

    FairleadError
    ├── ConfigError                 settings, URLs and declarations that cannot work
    │   └── NotSet                  there is nothing of this name to remove, reset or release
    ├── ChangedMeanwhile            a setting has changed since it was read
    ├── PayloadError                a submission that cannot become a job
    │   ├── UnknownType             no such job type is registered
    │   ├── InvalidArguments        the arguments do not fit the handler's types
    │   ├── UnsafePayload           NUL, NaN, Infinity, lone surrogates, too deep
    │   ├── PayloadTooLarge
    │   ├── UnknownPool             there is no such pool, and the key is a tenant's
    │   └── UnknownCallback         there is no such callback endpoint for the job's tenant
    ├── Refused                     a submission refused for now: try again after `retry_after` seconds
    │   ├── TenantQueueFull         the tenant has as many waiting jobs as it may have
    │   ├── TenantRateExceeded      the tenant submits faster than its rate limit
    │   └── Overloaded              the system is overloaded for jobs of this priority
    ├── JobError                    about one job
    │   ├── JobNotFound
    │   ├── JobNotDone              a wait ran out of time
    │   ├── JobFailed               a wait ended in a state other than succeeded
    │   ├── ResultDropped           a job succeeded, and its result could not be kept
    │   ├── JobCancelled            raised in a handler whose job is to be cancelled
    │   ├── IllegalMove             a state change that the table of states does not allow
    │   └── ReplayStopped           a replay in stages stopped, because jobs failed again
    ├── ScheduleError               about one recurring schedule
    │   ├── ScheduleNotFound
    │   └── ScheduleRefused         its name is taken, its code declares it, it is still catching up
    ├── StoreError                  about the database
    │   ├── StoreUnavailable        cannot be reached now: worth trying again
    │   ├── StoreRefused            it refused (read-only, full, no rights): an operator has to act
    │   └── SchemaMismatch          its schema is older or newer than this version of Fairlead
    ├── CallbackError               about callbacks
    │   ├── CallbackNotFound        no such endpoint or delivery
    │   ├── CallbackRefused         an endpoint cannot be created or changed like this
    │   ├── EgressRefused           a URL or address to which callbacks may not go
    │   ├── CallbackFailed          a receiver did not accept a callback; it is retried
    │   └── InvalidSignature        a message that is not a valid callback
    ├── KeyNotFound                 no API key has this id
    ├── WorkerNotFound              no live worker has this id
    ├── RequestRefused              the HTTP API refused a request, without an error class of its own
    │   └── AccessDenied            it needs a key, or a key with more scopes
    ├── TooManyFollowers            the server's seats for waits and streams are taken
    ├── LeaseLost                   this worker no longer owns the job
    └── Verdict                     raised by a handler to decide about its own job
        ├── RetryLater              failed; run again after exactly this time
        ├── Snooze                  not failed; run again later, as if it had not run
        ├── Discard                 not needed; the job is cancelled
        └── DeadLetter              failed for good; the job is dead at once

Messages say what happened, why, and what to do.
"""

from datetime import timedelta


class FairleadError(Exception):
    """Base of all Fairlead errors; `code` is stable and fit for scripts."""

    code = "FAIRLEAD_ERROR"


class ConfigError(FairleadError):
    """A setting, URL or declaration cannot work."""

    code = "CONFIG_ERROR"


class NotSet(ConfigError):
    """There is nothing of this name to remove, reset or release."""

    code = "NOT_SET"


class ChangedMeanwhile(FairleadError):
    """A setting was changed by somebody else since it was read; read it again and decide again."""

    code = "CHANGED_MEANWHILE"


class PayloadError(FairleadError):
    """The submission cannot become a job."""

    code = "PAYLOAD_ERROR"


class UnknownType(PayloadError):
    """No such job type is registered."""

    code = "UNKNOWN_TYPE"


class InvalidArguments(PayloadError):
    """The arguments do not fit the handler's types."""

    code = "INVALID_ARGUMENTS"


class UnsafePayload(PayloadError):
    """The payload contains a value that JSON or a database cannot store."""

    code = "UNSAFE_PAYLOAD"


class PayloadTooLarge(PayloadError):
    """The payload is larger than `payload_limit`."""

    code = "PAYLOAD_TOO_LARGE"


class UnknownPool(PayloadError):
    """A tenant's key names a pool that nobody has declared and no worker serves."""

    code = "UNKNOWN_POOL"


class UnknownCallback(PayloadError):
    """There is no callback endpoint of this name for the job's tenant."""

    code = "UNKNOWN_CALLBACK"


class Refused(FairleadError):
    """The submission was refused and nothing was stored; try again after `retry_after` seconds.

    `policy` names the bound; it allows `quota` jobs, within `window` seconds if it is a rate.
    """

    code = "REFUSED"
    policy = "submission"

    def __init__(
        self, message: str, retry_after: float, quota: float | None = None, window: float | None = None
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.quota = quota
        self.window = window

    def __reduce__(self) -> tuple[type["Refused"], tuple[str, float, float | None, float | None]]:
        """How to copy it."""
        return type(self), (str(self), self.retry_after, self.quota, self.window)


class TenantQueueFull(Refused):
    """The tenant has as many waiting jobs as it may have."""

    code = "TENANT_QUEUE_FULL"
    policy = "depth"


class TenantRateExceeded(Refused):
    """The tenant submits faster than its rate limit."""

    code = "TENANT_RATE_LIMIT_EXCEEDED"


class Overloaded(Refused):
    """The system is overloaded for jobs of this priority."""

    code = "OVERLOADED"
    policy = "overload"


class JobError(FairleadError):
    """Base of errors about one job."""

    code = "JOB_ERROR"


class JobNotFound(JobError):
    """No job has this id."""

    code = "JOB_NOT_FOUND"


class JobNotDone(JobError):
    """The job was not finished when the wait ended."""

    code = "JOB_NOT_DONE"


class JobFailed(JobError):
    """The job ended in a state other than succeeded."""

    code = "JOB_FAILED"


class ResultDropped(JobError):
    """The job succeeded, but its result could not be kept: it was too large, or not JSON."""

    code = "RESULT_DROPPED"


class JobCancelled(JobError):
    """The job is to be cancelled; raised by ctx.raise_if_cancelled(), it ends the run as cancelled."""

    code = "JOB_CANCELLED"


class IllegalMove(JobError):
    """A job cannot go from this state to that one."""

    code = "ILLEGAL_MOVE"


class ReplayStopped(JobError):
    """A replay in stages stopped before all jobs were replayed."""

    code = "REPLAY_STOPPED"


class ScheduleError(FairleadError):
    """Base of errors about one recurring schedule."""

    code = "SCHEDULE_ERROR"


class ScheduleNotFound(ScheduleError):
    """No schedule has this name."""

    code = "SCHEDULE_NOT_FOUND"


class ScheduleRefused(ScheduleError):
    """A schedule cannot be created or changed like this."""

    code = "SCHEDULE_REFUSED"


class StoreError(FairleadError):
    """Base of errors about the database."""

    code = "STORE_ERROR"


class StoreUnavailable(StoreError):
    """The database cannot be reached now; trying again later may work."""

    code = "STORE_UNAVAILABLE"


class StoreRefused(StoreError):
    """The database refused a write or a connection; an operator has to act."""

    code = "STORE_REFUSED"


class SchemaMismatch(StoreError):
    """The database's schema is not the one this version needs."""

    code = "SCHEMA_MISMATCH"


class CallbackError(FairleadError):
    """Base of errors about callbacks."""

    code = "CALLBACK_ERROR"


class CallbackNotFound(CallbackError):
    """There is no such callback endpoint or delivery."""

    code = "CALLBACK_NOT_FOUND"


class CallbackRefused(CallbackError):
    """A callback endpoint cannot be created or changed like this."""

    code = "CALLBACK_REFUSED"


class EgressRefused(CallbackError):
    """Callbacks may not go to this address; nothing was sent."""

    code = "EGRESS_REFUSED"


class CallbackFailed(CallbackError):
    """The receiver did not accept a callback; `headers` may contain Retry-After."""

    code = "CALLBACK_FAILED"

    def __init__(self, message: str, retry_after: str | None = None) -> None:
        super().__init__(message)
        self.headers = {} if retry_after is None else {"retry-after": retry_after}


class InvalidSignature(CallbackError):
    """The message is not signed by one of these secrets, or it is too old."""

    code = "INVALID_SIGNATURE"


class KeyNotFound(FairleadError):
    """No API key has this id."""

    code = "KEY_NOT_FOUND"


class WorkerNotFound(FairleadError):
    """No live worker has this id."""

    code = "WORKER_NOT_FOUND"


class RequestRefused(FairleadError):
    """The HTTP API refused a request; `code` is the server's error code, `status` the HTTP status."""

    code = "REQUEST_REFUSED"
    status = 0


class AccessDenied(RequestRefused):
    """The request needs a key, or a key with more scopes."""

    code = "ACCESS_DENIED"


class TooManyFollowers(FairleadError):
    """The server's seats for waits and streams are taken; try again after `retry_after` seconds."""

    code = "TOO_MANY_FOLLOWERS"
    retry_after = 5.0


class LeaseLost(FairleadError):
    """This worker no longer owns the job; nothing was written."""

    code = "LEASE_LOST"


class Verdict(FairleadError):
    """A handler's decision about its own job; raise one of its subclasses."""

    code = "VERDICT"


class RetryLater(Verdict):
    """The run failed; the next one starts after exactly this time, if an attempt is left."""

    code = "RETRY_LATER"

    def __init__(self, after: float | str | timedelta, reason: str | None = None) -> None:
        super().__init__(reason or f"asked to be run again after {after}")
        self.after = after


class Snooze(Verdict):
    """The run has not failed: the job is scheduled again after this time, without using an attempt."""

    code = "SNOOZE"

    def __init__(self, for_: float | str | timedelta) -> None:
        super().__init__(f"asked to be run again after {for_}")
        self.for_ = for_


class Discard(Verdict):
    """The job is not needed: it ends as cancelled, with this reason."""

    code = "DISCARD"

    def __init__(self, reason: str = "the handler discarded it") -> None:
        super().__init__(reason)


class DeadLetter(Verdict):
    """The run failed for good: the job is dead at once, with this reason."""

    code = "DEAD_LETTER"

    def __init__(self, reason: str = "the handler gave it up") -> None:
        super().__init__(reason)
