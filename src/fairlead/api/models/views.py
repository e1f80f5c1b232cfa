"""What is looked at over HTTP: progress, waits, and types with their run times and history."""

from datetime import datetime

from pydantic import Field

from fairlead.api.models.common import Outgoing
from fairlead.api.models.operate import TypeDocument, type_document
from fairlead.core.insight.wait_times import Spread
from fairlead.operate.job_types import TypeLook, TypeView
from fairlead.operate.wait_times import spread_document

ALL_TENANTS = "Of all tenants; null for a key that is bound to one."


class SpreadDocument(Outgoing):
    """Percentiles of counted durations, in seconds: at most 12.5 % above the truth, never below it."""

    count: int
    p50: float
    p95: float
    p99: float


class MinuteDocument(SpreadDocument):
    """Those of one minute; `at` is its begin in seconds since 1970."""

    at: int


class Waits(Outgoing):
    """How long jobs waited from being ready until they were started."""

    seconds: float
    all: SpreadDocument | None = Field(description="Null where nothing was started.")
    pools: dict[str, SpreadDocument]
    minutes: list[MinuteDocument] = Field(description="Minutes in which something was started, oldest first.")


class BarDocument(Outgoing):
    """So many runs took from `begin` to less than `end` seconds."""

    begin: float
    end: float
    runs: int


class LookDocument(TypeDocument):
    """A type, with what its runs of the last day took."""

    place: str = Field(description="The pool that new jobs go to; measured run times may move it from `pool`.")
    runs: SpreadDocument | None = Field(description=f"Run times of the last day. {ALL_TENANTS}")
    histogram: list[BarDocument] | None = Field(description=f"The same in bars, from short to long. {ALL_TENANTS}")


class Looks(Outgoing):
    """All registered types."""

    types: list[LookDocument]


class EventDocument(Outgoing):
    """Something that was done to a type: moved to another pool, paused, resumed, quarantined, released."""

    at: datetime
    by: str
    what: str
    old: str | None
    new: str | None
    why: str | None


class ViewDocument(LookDocument):
    """A type, with what was done to it, newest first."""

    events: list[EventDocument] | None = Field(description=ALL_TENANTS)


def look_document(look: TypeLook, is_bound: bool) -> LookDocument:
    """A type as it is listed."""
    shown = type_document(look.type, look.terms).model_dump()
    bars = None if is_bound else [BarDocument(**bar._asdict()) for bar in look.bars]
    return LookDocument(**shown, place=look.place, runs=None if is_bound else _spread(look.runs), histogram=bars)


def view_document(view: TypeView, is_bound: bool) -> ViewDocument:
    """A type as it is shown."""
    shown = look_document(view.look, is_bound).model_dump()
    if is_bound:
        return ViewDocument(**shown, events=None)
    events = [
        EventDocument(at=event.at, by=event.by, what=event.what, old=event.old, new=event.new, why=event.why)
        for event in view.events
    ]
    return ViewDocument(**shown, events=events)


def _spread(found: Spread | None) -> SpreadDocument | None:
    return None if found is None else SpreadDocument(**spread_document(found))
