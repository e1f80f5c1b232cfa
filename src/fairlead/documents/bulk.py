"""Actions on many jobs that have not ended: which jobs are meant, and what became of the action."""

from typing import Annotated, Literal

from pydantic import Field

from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.states import State
from fairlead.documents.base import NUMBER_ONLY, Body, Document, Name, PriorityWord, Reason, priority_of

LiveState = Literal["scheduled", "ready", "running", "retrying"]
MOST = 100_000


class LiveFilter(Body):
    """Which jobs that have not ended; a field that is absent does not restrict."""

    states: list[LiveState] = Field(default_factory=list, max_length=20)
    type: Name | None = None
    tenant: Name | None = None
    pool: Name | None = None
    priority: PriorityWord | None = None

    def job_filter(self, tenant: str | None) -> JobFilter:
        """The filter, for the tenant that the caller may act for."""
        states = tuple(State(word) for word in self.states)
        return JobFilter(states, self.type, tenant, self.pool, priority_of(self.priority))


class LiveChoice(Body):
    """Jobs that have not ended, and why something is done with them."""

    filter: LiveFilter
    limit: Annotated[int, Field(ge=1, le=MOST), NUMBER_ONLY] = MOST
    reason: Reason


class PriorityChoice(LiveChoice):
    """Jobs that wait, and the priority that they get."""

    priority: PriorityWord


class ChangeReport(Document):
    """How many jobs were changed."""

    changed: int


class CancelReport(Document):
    """How many jobs were cancelled, and of how many the worker was asked."""

    cancelled: int
    asked: int
