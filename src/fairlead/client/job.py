"""A submitted job in the caller's hands."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic_core import from_json

from fairlead.core.jobs.job_records import AttemptRecord, JobRecord
from fairlead.core.jobs.model import Enqueued, Lane, NewJob
from fairlead.core.jobs.states import State
from fairlead.errors import JobFailed, JobNotFound, ResultDropped

if TYPE_CHECKING:
    from fairlead.core.insight.timeline import Moment


class Reader(Protocol):
    """What a job in hand needs of its client, be it in this process or behind HTTP."""

    async def read(self, job_id: str) -> JobRecord: ...
    async def attempts(self, job_id: str) -> list[AttemptRecord]: ...
    async def timeline(self, job_id: str) -> "list[Moment]": ...
    async def wait(self, job_id: str, timeout: float | None = None) -> JobRecord: ...
    async def estimated_start(self, job_id: str) -> datetime | None: ...


class Fate(NamedTuple):
    """What became of a submission beyond its id."""

    duplicate: bool = False
    shed: bool = False
    deferred: float | None = None


NEW = Fate()


class Job:
    """What `enqueue` returns: the id, whether it was there before, and ways to follow it.

    When the system is overloaded, by its policy: `deferred` are the seconds that it was put off, and a `shed` job was
    not stored and never runs.
    """

    __slots__ = ("_client", "_fate", "_lane", "id")

    def __init__(self, client: Callable[[], Awaitable[Reader]], lane: Lane, job_id: str, fate: Fate = NEW) -> None:
        self._client = client
        self._lane = lane
        self._fate = fate
        self.id = job_id

    def __repr__(self) -> str:
        note = " (already there)" if self.duplicate else " (shed)" if self.shed else ""
        return f"<Job {self.id} {self.type} of {self.tenant}{note}>"

    @property
    def type(self) -> str:
        """The job's type."""
        return self._lane.type

    @property
    def tenant(self) -> str:
        """Whose job it is."""
        return self._lane.tenant

    @property
    def duplicate(self) -> bool:
        """Whether a job with the same idempotency key was there before; this is that job."""
        return self._fate.duplicate

    @property
    def shed(self) -> bool:
        """Whether it was not stored, and never runs."""
        return self._fate.shed

    @property
    def deferred(self) -> float | None:
        """Seconds that it was put off; None if it was not."""
        return self._fate.deferred

    async def read(self) -> JobRecord:
        """The whole job as it is now; its result is what `wait` returns."""
        if self.shed:
            raise JobNotFound(f"job {self.id} was shed: the system was overloaded, and its policy was not to store it")
        return with_result(await (await self._client()).read(self.id))

    async def state(self) -> State:
        """Its state now."""
        return (await self.read()).state

    async def estimated_start(self) -> datetime | None:
        """When it should start, by what waits and who works now; None where nobody would take it, or it has started."""
        return None if self.shed else await (await self._client()).estimated_start(self.id)

    async def attempts(self) -> list[AttemptRecord]:
        """Its runs that did not end it well, oldest first."""
        return await (await self._client()).attempts(self.id)

    async def timeline(self) -> "list[Moment]":
        """All that happened to it, in order."""
        return await (await self._client()).timeline(self.id)

    async def wait(self, timeout: float | None = None) -> Any:
        """Its result once it has succeeded.

        JobFailed if it ended otherwise, JobNotDone if it has not ended within `timeout` seconds, ResultDropped if it
        succeeded and its result could not be kept.
        """
        if self.shed:
            raise JobFailed(f"job {self.id} was shed: the system was overloaded, and its policy was not to store it")
        record = await (await self._client()).wait(self.id, timeout)
        if record.state is not State.SUCCEEDED:
            cause = f": {record.error.type}: {record.error.message}" if record.error else ""
            tries = "one attempt" if record.attempt == 1 else f"{record.attempt} attempts"
            raise JobFailed(f"job {self.id} is {record.state} after {tries}{cause}")
        if record.error is not None:
            raise ResultDropped(f"job {self.id} succeeded, but its result was dropped: {record.error.message}")
        return None if record.result is None else from_json(record.result)


def not_done(job_id: str, state: str, timeout: float | None) -> str:
    """What is said when a wait is over before its job."""
    return (
        f"job {job_id} is {state} after {timeout or 0:g} s; it goes on: wait again, or see why it waits "
        f"with `fairlead jobs explain {job_id}`"
    )


def with_result(record: JobRecord) -> JobRecord:
    """The record with its result as the handler returned it, instead of as JSON text."""
    return record if record.result is None else replace(record, result=from_json(record.result))


def jobs_in_hand(
    client: Callable[[], Awaitable[Reader]], jobs: Iterable[NewJob], answers: Iterable[Enqueued]
) -> list[Job]:
    """What was submitted, with what the store answered."""
    return [
        Job(client, job.lane, answer.id, Fate(answer.duplicate, answer.shed, job.deferred))
        for job, answer in zip(jobs, answers, strict=True)
    ]
