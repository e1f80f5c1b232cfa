"""From the exception that a handler raised to an outcome: a verdict on its own job, or a failure with its class.

A type that fails mostly fails at the same place, so the text of each stack is made once and remembered.
"""

import errno
import logging
import os
import sysconfig
import traceback
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType, TracebackType

from fairlead.core.durations import seconds
from fairlead.core.jobs.failure import KNOWN, FailureClass, classify, combined, fingerprint
from fairlead.core.jobs.model import Claim, Ending, ErrorInfo, Outcome, Settlement
from fairlead.core.jobs.states import State
from fairlead.errors import DeadLetter, Discard, JobCancelled, RetryLater, Snooze
from fairlead.handlers.spec import HandlerSpec
from fairlead.telemetry.events import ResultDropped, RunFailed, Telemetry
from fairlead.worker.http_errors import retry_after_of, status_of

MESSAGE_LIMIT = 2_000
TRACEBACK_LIMIT = 16_000
MOST_CHAINED = 10  # causes that a traceback shows
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"

_log = logging.getLogger("fairlead")
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_STDLIB = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.__file__))
_NOT_USERS = tuple({_OURS, *(os.path.join(folder, "") for folder in _STDLIB)})

Stack = tuple[tuple[CodeType, int], ...]  # the code and the line of each frame
DEEPEST = 5  # causes and groups that are looked through
MOST_PARTS = 100


def outcome_of(error: BaseException, spec: HandlerSpec) -> Outcome:
    """What a run ended in that raised this. What is no Exception, such as SystemExit, fails the job alone."""
    if not isinstance(error, Exception):
        _log.warning("a handler of %s raised %r, which ends its job and not the worker", spec.name, error)
    try:
        return _outcome(error, spec)
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
    failure = class_of(error, spec.classes)
    retry_after = retry_after_of(error) if failure is FailureClass.DEPENDENCY else None
    return Outcome(Ending.FAILED, error=describe(error, failure, retry_after))


def class_of(error: BaseException, tables: Sequence[Mapping[str, FailureClass]] = (), depth: int = 0) -> FailureClass:
    """The class of an exception; one that says nothing itself is what its parts or its cause are.

    A group is what all of its parts are. The cause is what `raise ... from` names: a library's own error says less
    than the connection error that it was raised from.
    """
    failure = classify(_names(error), status_of(error), tables)
    if failure is not FailureClass.APPLICATION or depth >= DEEPEST or _is_decided(error, tables):
        return failure
    if isinstance(error, BaseExceptionGroup):
        return combined(class_of(part, tables, depth + 1) for part in error.exceptions[:MOST_PARTS])
    cause = error.__cause__
    return failure if cause is None else class_of(cause, tables, depth + 1)


def _is_decided(error: BaseException, tables: Sequence[Mapping[str, FailureClass]]) -> bool:
    """Whether the user or Fairlead says that it is an application error."""
    return any(name in table for table in (*tables, KNOWN) for name in _names(error))


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
    lines = _traceback(error, from_handler(error))
    return ErrorInfo(
        type=_clean(name, 200),
        message=message,
        traceback=_clean(lines[-TRACEBACK_LIMIT:], TRACEBACK_LIMIT),
        failure=failure,
        retry_after=retry_after,
        fingerprint=fingerprint(name, message, user_frame(error)),
    )


def _traceback(error: BaseException, found: TracebackType | None, chained: int = 0) -> str:
    """The text that traceback.format_exception makes, with the stacks from memory."""
    if isinstance(error, BaseExceptionGroup):
        return "".join(traceback.format_exception(type(error), error, found))
    cause = error.__cause__
    context = None if error.__suppress_context__ else error.__context__
    before = ""
    if (earlier := cause or context) is not None and chained < MOST_CHAINED:
        before = _traceback(earlier, earlier.__traceback__, chained + 1) + (CONTEXT if cause is None else CAUSE)
    stack = _frames(found)
    shown = f"Traceback (most recent call last):\n{_stack_text(stack)}" if stack else ""
    return before + shown + "".join(traceback.format_exception_only(type(error), error))


def _frames(found: TracebackType | None) -> Stack:
    frames = []
    while found is not None:
        frames.append((found.tb_frame.f_code, found.tb_lineno))
        found = found.tb_next
    return tuple(frames)


@lru_cache(maxsize=512)
def _stack_text(stack: Stack) -> str:
    """The frames with their lines of source; keeping the code objects keeps their names and files."""
    lines = [traceback.FrameSummary(code.co_filename, line, code.co_name) for code, line in stack]
    return "".join(traceback.StackSummary.from_list(lines).format())


def user_frame(error: BaseException) -> str | None:
    """File and function of the innermost frame that is the user's own, or of the innermost of all."""
    codes = [code for code, _ in _frames(error.__traceback__)]
    if not codes:
        return None
    own = [code for code in codes if _is_users(code.co_filename)]
    return _place((own or codes)[-1])


def from_handler(error: BaseException) -> TracebackType | None:
    """Where an error came from, without the frames of Fairlead that led to the handler."""
    found = error.__traceback__
    while found is not None and found.tb_next is not None and found.tb_frame.f_code.co_filename.startswith(_OURS):
        found = found.tb_next
    return found


@lru_cache(maxsize=4096)
def _is_users(filename: str) -> bool:
    """Whether a file is neither Fairlead's nor the standard library's nor an installed package's."""
    if filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    return not path.startswith(_NOT_USERS) and not any(part in path for part in _PACKAGES)


def _place(code: CodeType) -> str:
    return f"{os.path.basename(code.co_filename)}:{code.co_qualname}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as unexpected:
        return f"its text cannot be read: {type(unexpected).__qualname__}"


def _clean(text: str, limit: int) -> str:
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return shown.replace("\x00", "\\0").encode("utf-8", "backslashreplace").decode()


def tell_failure(telemetry: Telemetry, claim: Claim, settlement: Settlement) -> None:
    """Emit RunFailed or ResultDropped where that is so, whether events of single jobs are wanted or not."""
    error = settlement.error
    if error is not None and settlement.state is State.SUCCEEDED:
        telemetry.emit(ResultDropped(claim.id, claim.lane.type, claim.lane.tenant, error.message))
    if error is None or settlement.state not in (State.RETRYING, State.DEAD):
        return
    telemetry.emit(
        RunFailed(
            job=claim.id,
            type=claim.lane.type,
            tenant=claim.lane.tenant,
            attempt=claim.attempt,
            error_type=error.type,
            error=error.message,
            failure=error.failure,
            again_in=settlement.delay if settlement.state is State.RETRYING else None,
            traceback=error.traceback,
        )
    )
