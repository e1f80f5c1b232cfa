"""The log of a process: events and the application's own `logging`, one line each, for people or as JSON.

A line of a handler's logging says which job it is of. Failed runs are shown without any option: one that is retried as
a warning, one that leaves a dead letter as an error with its traceback. Of very many alike, most are only counted.
"""

import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TextIO

from fairlead.core.durations import humanize
from fairlead.telemetry.events import (
    AlertRaised,
    BreakerOpened,
    Event,
    JobEnded,
    JobStarted,
    LateExecution,
    LeadLost,
    LeaseEnded,
    ProcessEnded,
    PromoterBehind,
    ResultDropped,
    RetriesDelayed,
    RetriesRefused,
    RunFailed,
    ScheduleMissed,
    ServiceFailed,
    SettlementRefused,
    StoreAway,
    ThreadLost,
    TypeQuarantined,
    WorkerWorn,
    current_claim,
)
from fairlead.telemetry.tracebacks import Tracebacks

_WARNINGS = (
    AlertRaised, BreakerOpened, LateExecution, LeadLost, LeaseEnded, ProcessEnded, PromoterBehind, ResultDropped,
    RetriesDelayed, RetriesRefused, ScheduleMissed, ServiceFailed, SettlementRefused, StoreAway, ThreadLost,
    TypeQuarantined, WorkerWorn,
)  # fmt: skip
_WORDS = re.compile(r"(?<!^)(?=[A-Z])")
COLOURS = {"debug": "2", "info": "32", "warning": "33", "error": "31", "critical": "1;31"}
LONGEST_MESSAGE = 500
MOST_LIKE_IT = 20  # failures of one type and error that are shown within PERIOD
PERIOD = 10.0


class LogOutput:
    """Writes lines to a stream: JSON, or text for a person."""

    def __init__(self, stream: TextIO, as_json: bool) -> None:
        self._stream = stream
        self.as_json = as_json
        self._colours = not as_json and stream.isatty()

    def write(
        self, level: str, event: str, values: Mapping[str, Any], text: str | None = None, stack: str | None = None
    ) -> None:
        """Write one entry; `text` says the same as the values to a person."""
        given = {name: value for name, value in values.items() if value is not None}
        if text is not None and "job" not in given:
            given.setdefault("message", text)
        line = self._json(level, event, given, stack) if self.as_json else self._text(level, event, given, text, stack)
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def _json(self, level: str, event: str, values: Mapping[str, Any], stack: str | None) -> str:
        told = {**values, "event": event, "level": level, "timestamp": datetime.now(UTC).isoformat()}
        return json.dumps(told if stack is None else {**told, "traceback": stack}, default=str)

    def _text(self, level: str, event: str, values: Mapping[str, Any], text: str | None, stack: str | None) -> str:
        told = text or " ".join([event, *(f"{name}={_plain(value)}" for name, value in values.items())])
        shown = f"{level:<8}"
        if self._colours:
            shown = f"\x1b[{COLOURS.get(level, '0')}m{shown}\x1b[0m"
        lines = [f"{time.strftime('%H:%M:%S')} {shown} {_plain(told)}"]
        lines += [f"    {_plain(line)}" for line in (stack or "").rstrip().splitlines()]
        return "\n".join(lines)


class ApplicationLog(logging.Handler):
    """Writes records of the standard library's logging, those of handlers with their job."""

    def __init__(self, output: LogOutput) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            claim = current_claim.get()
            job = {} if claim is None else {"job": claim.id, "type": claim.lane.type, "tenant": claim.lane.tenant}
            message = record.getMessage()
            whose = f"{job['type']} {job['job']} ({job['tenant']}) " if job else ""
            stack = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else None
            values = {**job, "logger": record.name, "message": message}
            self._output.write(record.levelname.lower(), "log", values, f"{whose}{record.name}: {message}", stack)
        except Exception:
            self.handleError(record)


class EventLog:
    """A listener that writes events as log lines; of a run its end, and of a failed run always one line."""

    def __init__(self, output: LogOutput, tracebacks: Tracebacks = Tracebacks.LAST, jobs: bool = False) -> None:
        self._output = output
        self._tracebacks = tracebacks
        self._jobs = jobs
        self._failures = _Counted()

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunFailed):
            self._write_failure(event)
        elif isinstance(event, JobEnded):
            if self._jobs and event.state not in ("retrying", "dead"):
                self._output.write("info", "job_ended", _values(event), _end(event))
        elif not isinstance(event, JobStarted):
            level = "warning" if isinstance(event, _WARNINGS) else "info"
            self._output.write(level, _name(event), _values(event))

    def _write_failure(self, event: RunFailed) -> None:
        for (type_, error_type), count in self._failures.over():
            text = f"{count} more runs of {type_} failed with {error_type} within {humanize(PERIOD)}"
            values = {"type": type_, "error_type": error_type, "count": count}
            self._output.write("warning", "runs_failed", values, text)
        if not self._failures.shows((event.type, event.error_type)):
            return
        dead = event.again_in is None
        wants_stack = self._tracebacks is Tracebacks.EACH or (dead and self._tracebacks is Tracebacks.LAST)
        values = {name: value for name, value in _values(event).items() if name != "traceback"}
        stack = event.traceback if wants_stack else None
        self._output.write("error" if dead else "warning", "run_failed", values, _failure(event), stack)


class _Counted:
    """The failures of each kind within a period: the first few are shown, the rest counted."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._seen: dict[tuple[str, str], int] = {}

    def shows(self, kind: tuple[str, str]) -> bool:
        """Count a failure; whether it is one of those that are shown."""
        self._seen[kind] = self._seen.get(kind, 0) + 1
        return self._seen[kind] <= MOST_LIKE_IT

    def over(self) -> list[tuple[tuple[str, str], int]]:
        """The kinds of which more were counted than shown, once the period is over."""
        if time.monotonic() - self._begin < PERIOD:
            return []
        found = [(kind, count - MOST_LIKE_IT) for kind, count in self._seen.items() if count > MOST_LIKE_IT]
        self._begin, self._seen = time.monotonic(), {}
        return found


def configure_logging(as_json: bool | None = None) -> LogOutput:
    """Log to standard error, JSON unless that is a terminal, and the application's own logging with it.

    An application that has configured the root logger keeps its configuration.
    """
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # our own events say when the store is away
    output = LogOutput(sys.stderr, not sys.stderr.isatty() if as_json is None else as_json)
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(ApplicationLog(output))
        root.setLevel(min(root.level, logging.INFO) if root.level else logging.INFO)
    return output


def _name(event: Event) -> str:
    return _WORDS.sub("_", type(event).__name__).lower()


def _values(event: Event) -> dict[str, Any]:
    return {field.name: _short(getattr(event, field.name)) for field in fields(event)}


def _failure(event: RunFailed) -> str:
    message = event.error if len(event.error) <= LONGEST_MESSAGE else f"{event.error[:LONGEST_MESSAGE]}…"
    after = (
        f"it is dead: fairlead jobs show {event.job}"
        if event.again_in is None
        else f"again in {humanize(event.again_in)}"
    )
    whose = f"{event.type} {event.job} ({event.tenant})"
    return f"{whose} attempt {event.attempt} failed: {event.error_type}: {message}; {after}"


def _end(event: JobEnded) -> str:
    return f"{event.type} {event.job} ({event.tenant}) {event.state} in {humanize(event.ran)}"


def _short(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value


def _plain(value: object) -> str:
    """The text on one line, with what could steer a terminal written as an escape."""
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return "".join(item if item.isprintable() else item.encode("unicode_escape").decode("ascii") for item in text)
