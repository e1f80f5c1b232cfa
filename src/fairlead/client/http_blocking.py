"""The client over HTTP for synchronous code: the same methods, each of which waits."""

from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar

from fairlead.client.blocking import Bridge
from fairlead.client.http import HTTPClient
from fairlead.client.job import Job
from fairlead.core.durations import Duration
from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.cancel import GRACE
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord, Page
from fairlead.core.jobs.states import State

Result = TypeVar("Result")


class BlockingHTTPClient:
    """An HTTPClient on a thread of its own."""

    def __init__(self, address: str, key: str, **settings: Any) -> None:
        self._bridge = Bridge()
        self._client = HTTPClient(address, key, **settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the connections and end the thread."""
        if self._bridge.is_running:
            self._bridge.run(self._client.close())
            self._bridge.close()

    def sync(self, coroutine: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """Run a coroutine of a job in hand: `client.sync(job.wait(timeout=10))`."""
        return self._bridge.run(coroutine, timeout)

    def enqueue(self, type: str, payload: Mapping[str, Any] | None = None, /, **options: Any) -> Job:
        """Submit one job of a registered type; returns when it is durable."""
        return self.sync(self._client.enqueue(type, payload, **options))

    def enqueue_many(self, type: str, payloads: Sequence[Mapping[str, Any]], /, **options: Any) -> list[Job]:
        """Submit a job for each payload."""
        return self.sync(self._client.enqueue_many(type, payloads, **options))

    def read(self, job_id: str) -> JobRecord:
        """A job, live or finished; JobNotFound if there is none."""
        return self.sync(self._client.read(job_id))

    def attempts(self, job_id: str) -> list[AttemptRecord]:
        """The runs of a job that did not end it well, oldest first."""
        return self.sync(self._client.attempts(job_id))

    def jobs(self, **wanted: Any) -> Page:
        """Jobs that fit, newest first, a page at a time."""
        return self.sync(self._client.jobs(**wanted))

    def wait(self, job_id: str, timeout: float | None = None) -> JobRecord:
        """The job once it has ended; JobNotDone if that takes longer than `timeout` seconds."""
        return self.sync(self._client.wait(job_id, timeout))

    def timeline(self, job_id: str) -> list[Moment]:
        """All that happened to a job, in order."""
        return self.sync(self._client.timeline(job_id))

    def cancel(self, job_id: str, *, reason: str | None = None, grace: Duration = GRACE) -> State:
        """Cancel a job: at once if it waits; if it runs, its handler is told and has `grace` to end."""
        return self.sync(self._client.cancel(job_id, reason=reason, grace=grace))

    def run_now(self, job_id: str, *, reason: str | None = None) -> JobRecord:
        """Let a job run now that waits for a retry or for its time."""
        return self.sync(self._client.run_now(job_id, reason=reason))

    def explain(self, job_id: str) -> dict[str, Any]:
        """Why a job is where it is, in words and as data."""
        return self.sync(self._client.explain(job_id))

    def estimated_start(self, job_id: str) -> datetime | None:
        """When a job should start; None where that cannot be told."""
        return self.sync(self._client.estimated_start(job_id))

    def dead_groups(self, **wanted: Any) -> list[DeadGroup]:
        """Dead jobs by type and what they died of, the largest group first."""
        return self.sync(self._client.dead_groups(**wanted))

    def replay(self, job_id: str, *, reason: str, payload: Mapping[str, Any] | None = None) -> None:
        """Run a dead job again; the audit keeps who and why."""
        self.sync(self._client.replay(job_id, reason=reason, payload=payload))

    def purge(self, job_id: str, *, reason: str) -> None:
        """Remove a dead job for good; the audit keeps its id, who and why."""
        self.sync(self._client.purge(job_id, reason=reason))
