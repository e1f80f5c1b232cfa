"""Breakers, quarantines and limits over HTTP."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from fairlead.api.models.common import Incoming, Name, Outgoing, Text

Reason = Annotated[Text, Field(min_length=1)]


class BreakerDocument(Outgoing):
    """A breaker: where it is and why. `good` and `bad` are runs of its window, or of its phase while not closed."""

    name: str
    phase: str
    good: int
    bad: int
    why: str | None
    since: datetime | None
    until: datetime | None
    openings: int
    by: str | None
    types: list[str]


class Breakers(Outgoing):
    """The breakers of dependencies, and those of types that have something to tell."""

    breakers: list[BreakerDocument]


class BreakerAction(Incoming):
    """Which breaker, and why."""

    name: Name
    reason: Reason


class QuarantineDocument(Outgoing):
    """A type whose jobs have so many attempts, with 0 none starts; `by` is null where it came to that by itself."""

    type: str
    why: str
    by: str | None
    since: datetime | None
    attempts: int


class Quarantines(Outgoing):
    """All types in quarantine."""

    quarantines: list[QuarantineDocument]


class QuarantineAction(Incoming):
    """Which type, and why."""

    type: Name
    reason: Reason


class QuarantineBegin(QuarantineAction):
    """How many attempts its jobs have until it is released; with 0 nothing of it starts."""

    attempts: Annotated[int, Field(ge=0, le=100)] = 0


class LimitDocument(Outgoing):
    """A limit and its use now; `tokens` are what is left of its rate, `each` is one for each of a kind."""

    scope: str
    name: str
    concurrent: int | None
    rate: float | None
    burst: float | None
    set_by: str
    running: int
    tokens: float | None
    each: bool
    version: int


class HolderDocument(Outgoing):
    """A job that runs under a limit."""

    id: str
    tenant: str
    since: datetime
    worker: str | None


class LimitDetail(LimitDocument):
    """A limit, and the jobs that run under it, those that run longest first."""

    holders: list[HolderDocument]


class Limits(Outgoing):
    """All limits in force."""

    limits: list[LimitDocument]
