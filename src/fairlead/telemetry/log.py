"""Events as log lines: one line each, for people on a terminal and as JSON elsewhere."""

import logging
import re
import sys
from dataclasses import fields

import structlog

from fairlead.telemetry.events import (
    AlertRaised,
    BreakerOpened,
    Event,
    JobStarted,
    LateExecution,
    LeadLost,
    LeaseEnded,
    ProcessEnded,
    PromoterBehind,
    RetriesDelayed,
    RetriesRefused,
    ScheduleMissed,
    ServiceFailed,
    SettlementRefused,
    StoreAway,
    ThreadLost,
    TypeQuarantined,
    WorkerWorn,
)

_WARNINGS = (
    AlertRaised, BreakerOpened, LateExecution, LeadLost, LeaseEnded, ProcessEnded, PromoterBehind, RetriesDelayed,
    RetriesRefused, ScheduleMissed, ServiceFailed, SettlementRefused, StoreAway, ThreadLost,
    TypeQuarantined, WorkerWorn,
)  # fmt: skip
_WORDS = re.compile(r"(?<!^)(?=[A-Z])")


def configure_logging(as_json: bool | None = None) -> None:
    """Log to standard error: JSON unless that is a terminal."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # our own events say when the store is away
    if as_json is None:
        as_json = not sys.stderr.isatty()
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(pad_event_to=18, sort_keys=False)
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso" if as_json else "%H:%M:%S", utc=as_json),
            renderer,
        ],
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


class EventLog:
    """A listener that writes events as log lines; of a run, only its end."""

    def __init__(self) -> None:
        self._log = structlog.get_logger()

    def __call__(self, event: Event) -> None:
        if isinstance(event, JobStarted):
            return
        name = _WORDS.sub("_", type(event).__name__).lower()
        values = {field.name: _short(getattr(event, field.name)) for field in fields(event)}
        write = self._log.warning if isinstance(event, _WARNINGS) else self._log.info
        write(name, **{key: value for key, value in values.items() if value is not None})


def _short(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value
