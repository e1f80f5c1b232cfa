"""Every exception Fairlead raises, in one tree.

    FairleadError
    ├── ConfigError                 settings, URLs and declarations that cannot work
    │   └── NotSet                  there is nothing of this name to remove, reset or release
    ├── ChangedMeanwhile            a setting is not of the version any more that its change was decided on
    ├── PayloadError                what was submitted does not fit
    │   ├── UnknownType             no such job type is registered
    │   ├── InvalidArguments        the arguments do not fit the handler's types
    │   ├── UnsafePayload           NUL, NaN, Infinity, lone surrogates, too deep
    │   ├── PayloadTooLarge
    │   └── UnknownCallback         there is no such callback endpoint for the job's tenant
    ├── Refused                     a submission that is not wanted now: try again after `retry_after` seconds
    │   ├── TenantQueueFull         as many jobs of the tenant wait as may
    │   ├── TenantRateExceeded      the tenant submits faster than it may
    │   └── Overloaded              the system has too much to do for jobs of this priority
    ├── JobError                    about one job
    │   ├── JobNotFound
    │   ├── JobNotDone              a wait ran out of time
    │   ├── JobFailed               a wait ended in a state other than succeeded
    │   ├── JobCancelled            raised in a handler whose job was asked to end
    │   ├── IllegalMove             a state change that the table of states does not allow
    │   └── ReplayStopped           a replay in stages ended itself, since jobs failed again
    ├── ScheduleError               about one recurring schedule
    │   ├── ScheduleNotFound
    │   └── ScheduleRefused         its name is taken, its code declares it, it is still catching up
    ├── StoreError                  about the database
    │   ├── StoreUnavailable        cannot be reached now: worth trying again
    │   ├── StoreRefused            it said no (read-only, full, no rights): an operator has to act
    │   └── SchemaMismatch          its schema is older or newer than this version of Fairlead
    ├── CallbackError               about callbacks
    │   ├── CallbackNotFound        no such endpoint or delivery
    │   ├── CallbackRefused         an endpoint cannot be made or changed so
    │   ├── EgressRefused           a URL or address that nothing is sent to
    │   ├── CallbackFailed          a receiver did not take a callback; it is tried again
    │   └── InvalidSignature        what was received is not a callback of ours
    ├── KeyNotFound                 no API key has this id
    ├── WorkerNotFound              no live worker has this id
    ├── RequestRefused              a server of the HTTP API said no, in a way that has no error of its own
    │   └── AccessDenied            it wants a key, or one that may do more
    ├── TooManyFollowers            a server follows as many jobs as it may
    ├── LeaseLost                   this worker no longer owns what it wanted to write
    └── Verdict                     what a handler raises to decide about its own job
        ├── RetryLater              failed; run again after exactly this time
        ├── Snooze                  not failed; run again later, as if it had not run
        ├── Discard                 not needed any more; the job is cancelled
        └── DeadLetter              failed, and trying again cannot help

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
    """What was submitted cannot become a job."""

    code = "PAYLOAD_ERROR"


class UnknownType(PayloadError):
    """No such job type is registered."""

    code = "UNKNOWN_TYPE"


class InvalidArguments(PayloadError):
    """The arguments do not fit the handler's types."""

    code = "INVALID_ARGUMENTS"


class UnsafePayload(PayloadError):
    """The payload holds something that JSON or a database cannot keep."""

    code = "UNSAFE_PAYLOAD"


class PayloadTooLarge(PayloadError):
    """The payload is larger than what is stored inline."""

    code = "PAYLOAD_TOO_LARGE"


class UnknownCallback(PayloadError):
    """There is no callback endpoint of this name for the job's tenant."""

    code = "UNKNOWN_CALLBACK"


class Refused(FairleadError):
    """The submission is not wanted now; nothing was stored, and it may be tried again after `retry_after` seconds.

    `policy` names the bound, of which `quota` jobs are allowed, within `window` seconds where it is a rate.
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
    """As many jobs of the tenant wait as may."""

    code = "TENANT_QUEUE_FULL"
    policy = "depth"


class TenantRateExceeded(Refused):
    """The tenant submits faster than it may."""

    code = "TENANT_RATE_LIMIT_EXCEEDED"


class Overloaded(Refused):
    """The system has too much to do for jobs of this priority."""

    code = "OVERLOADED"
    policy = "overload"


class JobError(FairleadError):
    """Something about one job."""

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


class JobCancelled(JobError):
    """Somebody has asked to cancel this job; raised by ctx.raise_if_cancelled(), and ends its run as cancelled."""

    code = "JOB_CANCELLED"


class IllegalMove(JobError):
    """A job cannot go from this state to that one."""

    code = "ILLEGAL_MOVE"


class ReplayStopped(JobError):
    """A replay in stages ended itself before all jobs were brought back."""

    code = "REPLAY_STOPPED"


class ScheduleError(FairleadError):
    """Something about one recurring schedule."""

    code = "SCHEDULE_ERROR"


class ScheduleNotFound(ScheduleError):
    """No schedule has this name."""

    code = "SCHEDULE_NOT_FOUND"


class ScheduleRefused(ScheduleError):
    """A schedule cannot be made or changed so."""

    code = "SCHEDULE_REFUSED"


class StoreError(FairleadError):
    """Something about the database."""

    code = "STORE_ERROR"


class StoreUnavailable(StoreError):
    """The database cannot be reached now; trying again later may work."""

    code = "STORE_UNAVAILABLE"


class StoreRefused(StoreError):
    """The database refused to work; an operator has to act."""

    code = "STORE_REFUSED"


class SchemaMismatch(StoreError):
    """The database's schema is not the one this version needs."""

    code = "SCHEMA_MISMATCH"


class CallbackError(FairleadError):
    """Something about callbacks."""

    code = "CALLBACK_ERROR"


class CallbackNotFound(CallbackError):
    """There is no such callback endpoint or delivery."""

    code = "CALLBACK_NOT_FOUND"


class CallbackRefused(CallbackError):
    """A callback endpoint cannot be made or changed so."""

    code = "CALLBACK_REFUSED"


class EgressRefused(CallbackError):
    """A callback may not go there; nothing was sent."""

    code = "EGRESS_REFUSED"


class CallbackFailed(CallbackError):
    """The receiver did not take a callback; `headers` may say when to come again."""

    code = "CALLBACK_FAILED"

    def __init__(self, message: str, retry_after: str | None = None) -> None:
        super().__init__(message)
        self.headers = {} if retry_after is None else {"retry-after": retry_after}


class InvalidSignature(CallbackError):
    """What was received is not a callback that one of these secrets signed, or it is too old."""

    code = "INVALID_SIGNATURE"


class KeyNotFound(FairleadError):
    """No API key has this id."""

    code = "KEY_NOT_FOUND"


class WorkerNotFound(FairleadError):
    """No live worker has this id."""

    code = "WORKER_NOT_FOUND"


class RequestRefused(FairleadError):
    """A server of the HTTP API refused a request; its `code` is the server's, `status` the one of HTTP."""

    code = "REQUEST_REFUSED"
    status = 0


class AccessDenied(RequestRefused):
    """The server wants a key, or one that may do more."""

    code = "ACCESS_DENIED"


class TooManyFollowers(FairleadError):
    """This server follows as many jobs as it may; `retry_after` is worth waiting."""

    code = "TOO_MANY_FOLLOWERS"
    retry_after = 5.0


class LeaseLost(FairleadError):
    """This worker no longer owns what it wanted to write."""

    code = "LEASE_LOST"


class Verdict(FairleadError):
    """A handler's decision about its own job; raise one of its subclasses."""

    code = "VERDICT"


class RetryLater(Verdict):
    """The run failed and the next one starts after exactly this time; it uses up an attempt, and the limits hold."""

    code = "RETRY_LATER"

    def __init__(self, after: float | str | timedelta, reason: str | None = None) -> None:
        super().__init__(reason or f"asked to be run again after {after}")
        self.after = after


class Snooze(Verdict):
    """The run has not failed: the job is scheduled again after this time, and no attempt is used up."""

    code = "SNOOZE"

    def __init__(self, for_: float | str | timedelta) -> None:
        super().__init__(f"asked to be run again after {for_}")
        self.for_ = for_


class Discard(Verdict):
    """The job is not needed any more: it ends as cancelled, with this reason."""

    code = "DISCARD"

    def __init__(self, reason: str = "the handler discarded it") -> None:
        super().__init__(reason)


class DeadLetter(Verdict):
    """The run failed and trying again cannot help: the job is dead at once, with this reason."""

    code = "DEAD_LETTER"

    def __init__(self, reason: str = "the handler gave it up") -> None:
        super().__init__(reason)
