"""From what a handler raised to an outcome: its verdict on its own job, or a failure with its class."""

import errno
import traceback

from fairlead.core.durations import seconds
from fairlead.core.jobs.failure import FailureClass, classify, fingerprint
from fairlead.core.jobs.model import Ending, ErrorInfo, Outcome
from fairlead.errors import DeadLetter, Discard, JobCancelled, RetryLater, Snooze
from fairlead.handlers.spec import HandlerSpec
from fairlead.worker.answers import retry_after_of, status_of
from fairlead.worker.containing import Escaped
from fairlead.worker.frames import from_handler, user_frame

MESSAGE_LIMIT = 2_000
TRACEBACK_LIMIT = 16_000


def outcome_of(error: BaseException, spec: HandlerSpec) -> Outcome:
    """What a run ended in that raised this."""
    try:
        return _outcome(error.what if isinstance(error, Escaped) else error, spec)
    except Exception as unexpected:  # a verdict with something that is no duration, an exception that cannot be read
        return Outcome(Ending.FAILED, error=describe(unexpected))


def _outcome(error: BaseException, spec: HandlerSpec) -> Outcome:
    match error:
        case Snooze():
            return Outcome(Ending.SNOOZED, error=describe(error, None, seconds(error.for_)))
        case JobCancelled():
            return Outcome(Ending.CANCELLED)
        case Discard():
            return Outcome(Ending.DISCARDED, error=describe(error, None))
        case DeadLetter():
            return Outcome(Ending.FAILED, error=describe(error, FailureClass.PERMANENT))
        case RetryLater():
            return Outcome(Ending.FAILED, error=describe(error, FailureClass.APPLICATION, seconds(error.after)))
    failure = classify(_names(error), status_of(error), spec.classes)
    retry_after = retry_after_of(error) if failure is FailureClass.DEPENDENCY else None
    return Outcome(Ending.FAILED, error=describe(error, failure, retry_after))


def _names(error: BaseException) -> list[str]:
    """The names of its type and of the bases of that; before them that of its error number, where it has one."""
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
    if isinstance(error, OSError) and isinstance(error.errno, int) and error.errno in errno.errorcode:
        names.insert(1, f"errno.{errno.errorcode[error.errno]}")
    return names


def describe(
    error: BaseException,
    failure: FailureClass | None = FailureClass.APPLICATION,
    retry_after: float | None = None,
) -> ErrorInfo:
    """An error as it is kept: bounded text that any database takes."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    message = _clean(_text(error), MESSAGE_LIMIT)
    lines = "".join(traceback.format_exception(kind, error, from_handler(error)))
    return ErrorInfo(
        type=_clean(name, 200),
        message=message,
        traceback=_clean(lines[-TRACEBACK_LIMIT:], TRACEBACK_LIMIT),
        failure=failure,
        retry_after=retry_after,
        fingerprint=fingerprint(name, message, user_frame(error)),
    )


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as unexpected:
        return f"its text cannot be read: {type(unexpected).__qualname__}"


def _clean(text: str, limit: int) -> str:
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return shown.replace("\x00", "\\0").encode("utf-8", "backslashreplace").decode()
