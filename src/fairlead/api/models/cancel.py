"""Cancelling and changing many jobs over HTTP."""

from typing import Annotated, Literal

from pydantic import Field

from fairlead.api.models.common import NUMBER_ONLY, Incoming, Name, Outgoing, PriorityWord, Text, priority_of
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.states import State

LiveState = Literal["scheduled", "ready", "running", "retrying"]
MOST = 100_000


class LiveFilter(Incoming):
    """Which jobs that have not ended; what is left out does not restrict."""

    states: list[LiveState] = Field(default_factory=list, max_length=20)
    type: Name | None = None
    tenant: Name | None = None
    pool: Name | None = None
    priority: PriorityWord | None = None

    def job_filter(self, tenant: str | None) -> JobFilter:
        """The filter, for the tenant that the caller may act for."""
        states = tuple(State(word) for word in self.states)
        return JobFilter(states, self.type, tenant, self.pool, priority_of(self.priority))


class CancelChoice(Incoming):
    """Which jobs to cancel, and why."""

    filter: LiveFilter
    reason: Annotated[Text, Field(min_length=1)]
    limit: Annotated[int, Field(ge=1, le=MOST), NUMBER_ONLY] = MOST


class RunNowChoice(CancelChoice):
    """Which jobs that wait for their time or for a retry to run now, and why."""


class PriorityChoice(CancelChoice):
    """Which jobs that wait get which priority, and why."""

    priority: PriorityWord


class ChangeReport(Outgoing):
    """How many were changed."""

    changed: int


class CancelReport(Outgoing):
    """How many were cancelled, and of how many the worker was asked."""

    cancelled: int
    asked: int


class JobCounts(Outgoing):
    """Jobs by state."""

    states: dict[str, int]
