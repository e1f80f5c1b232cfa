"""The client over HTTP: the methods of the in-process client, towards a server that `fairlead serve` runs."""

import asyncio
import random
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from pydantic_core import from_json, to_json

from fairlead.client.http_errors import error_of, problem_error
from fairlead.client.job import Fate, Job, not_done
from fairlead.core.durations import Duration, seconds
from fairlead.core.insight.timeline import Moment
from fairlead.core.jobs.cancel import GRACE
from fairlead.core.jobs.dead_letters import DeadGroup
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord, Page
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.retry import Retry
from fairlead.core.jobs.states import FINAL, State
from fairlead.documents.dead_letters import DeadGroupDocument
from fairlead.documents.jobs import (
    LARGE_FIELDS,
    AttemptDocument,
    JobDocument,
    JobPage,
    MomentDocument,
    SubmittedDocument,
)
from fairlead.errors import ConfigError, FairleadError, JobNotDone, StoreUnavailable

if TYPE_CHECKING:
    import httpx2

MISSING = "the HTTP client needs a package that is not installed; add it with: pip install 'fairlead[client]'"
PATIENCE = 10.0
LONGEST_WAIT = 30.0
WORTH_REPEATING = ("STORE_UNAVAILABLE", "IDEMPOTENCY_IN_PROGRESS", "TOO_MANY_FOLLOWERS", "KEY_RATE_LIMIT_EXCEEDED")
DURATIONS = ("run_in", "idempotency_window", "timeout")
JSON = {"Content-Type": "application/json"}
BATCH = 1_000
BATCH_BYTES = 512 * 1024


class HTTPClient:
    """Submits and follows jobs over HTTP.

    A request that may not have arrived is repeated for `patience` seconds; an Idempotency-Key of its own makes sure
    that a submission is stored once. `transport` is for tests.
    """

    def __init__(
        self, address: str, key: str, *, timeout: float = 30.0, patience: float = PATIENCE, transport: Any = None
    ) -> None:
        try:
            import httpx2
        except ModuleNotFoundError as error:
            raise ConfigError(MISSING) from error
        self._patience = patience
        self._failures: type[Exception] = httpx2.TransportError
        self._http = httpx2.AsyncClient(
            base_url=address.rstrip("/"),
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx2.Timeout(timeout, read=timeout + LONGEST_WAIT),
            transport=transport,
            follow_redirects=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give back the connections."""
        await self._http.aclose()

    async def itself(self) -> Self:
        """This client, for what finds its client when it needs one."""
        return self

    async def enqueue(self, type: str, payload: Mapping[str, Any] | None = None, /, **options: Any) -> Job:
        """Submit one job of a registered type; returns when it is durable. The options are those of a handler."""
        answer = await self._post("/v1/jobs", _submission(type, payload or {}, options))
        return self._job(answer)

    async def enqueue_many(self, type: str, payloads: Sequence[Mapping[str, Any]], /, **options: Any) -> list[Job]:
        """Submit a job for each payload; an error tells of the first that was refused, and others are stored."""
        jobs: list[Job] = []
        for part in _parts([_submission(type, payload, options) for payload in payloads]):
            answer = await self._post("/v1/jobs/batch", {"jobs": part})
            for result in answer["results"]:
                if result["problem"]:
                    problem = result["problem"]
                    raise problem_error(result["status"], problem["code"], problem["detail"])
                jobs.append(self._job(result["job"]))
        return jobs

    async def read(self, job_id: str) -> JobRecord:
        """A job, live or finished; JobNotFound if there is none."""
        return JobDocument.model_validate(await self._get(f"/v1/jobs/{job_id}")).record()

    async def attempts(self, job_id: str) -> list[AttemptRecord]:
        """The runs of a job that did not end it well, oldest first."""
        found = await self._get(f"/v1/jobs/{job_id}")
        return [AttemptDocument.model_validate(attempt).record() for attempt in found["attempts"]]

    async def timeline(self, job_id: str) -> list[Moment]:
        """All that happened to a job, in order."""
        found = await self._get(f"/v1/jobs/{job_id}")
        return [MomentDocument.model_validate(moment).record() for moment in found["timeline"]]

    async def jobs(
        self,
        *,
        states: tuple[State, ...] = (),
        type: str | None = None,
        tenant: str | None = None,
        pool: str | None = None,
        priority: Priority | None = None,
        idempotency_key: str | None = None,
        key_contains: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """Jobs that fit, newest first, a page at a time; go on while a page has a cursor.

        A search with `key_contains` looks at a bounded number of jobs, and a page of large payloads ends early: a page
        may be short and have a cursor.
        """
        wanted = {
            "states": [state.value for state in states], "type": type, "tenant": tenant, "pool": pool,
            "priority": priority.word if priority is not None else None, "idempotency_key": idempotency_key,
            "key_contains": key_contains, "fields": LARGE_FIELDS, "limit": limit, "cursor": cursor,
        }  # fmt: skip
        return JobPage.model_validate(await self._get("/v1/jobs", wanted)).record()

    async def wait(self, job_id: str, timeout: float | None = None) -> JobRecord:
        """The job once it has ended; JobNotDone if that takes longer than `timeout` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = LONGEST_WAIT if until is None else min(LONGEST_WAIT, max(0.0, until - time.monotonic()))
            job = JobDocument.model_validate(await self._get(f"/v1/jobs/{job_id}/wait", {"timeout": left})).record()
            if job.state in FINAL:
                return job
            if until is not None and time.monotonic() >= until:
                raise JobNotDone(not_done(job_id, job.state, timeout))

    async def events(self, job_id: str) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        """The job's changes as they happen: `state` after each, and `result` at its end."""
        name = ""
        async with self._http.stream("GET", f"/v1/jobs/{job_id}/events") as response:
            if response.status_code != 200:
                raise error_of(response.status_code, await response.aread())
            async for line in response.aiter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, from_json(line.removeprefix("data: "))

    async def cancel(self, job_id: str, *, reason: str | None = None, grace: Duration = GRACE) -> State:
        """Cancel a job: at once if it waits; if it runs, its handler is told and has `grace` to end."""
        wanted = {"reason": reason, "grace": seconds(grace)}
        return State((await self._post(f"/v1/jobs/{job_id}/cancel", wanted))["state"])

    async def run_now(self, job_id: str, *, reason: str | None = None) -> JobRecord:
        """Let a job run now that waits for a retry or for its time."""
        return JobDocument.model_validate(await self._post(f"/v1/jobs/{job_id}/run-now", {"reason": reason})).record()

    async def explain(self, job_id: str) -> dict[str, Any]:
        """Why a job is where it is, in words and as data."""
        return dict(await self._get(f"/v1/jobs/{job_id}/explain"))

    async def estimated_start(self, job_id: str) -> datetime | None:
        """When a job should start; None where that cannot be told."""
        start = (await self.explain(job_id))["estimated_start"]
        return None if start is None else datetime.fromisoformat(start)

    async def dead_groups(
        self,
        *,
        type: str | None = None,
        tenant: str | None = None,
        pool: str | None = None,
        fingerprint: str | None = None,
        limit: int = 100,
    ) -> list[DeadGroup]:
        """Dead jobs by type and what they died of, the largest group first."""
        wanted = {"type": type, "tenant": tenant, "pool": pool, "fingerprint": fingerprint, "limit": limit}
        found = await self._get("/v1/dead-letters/groups", wanted)
        return [DeadGroupDocument.model_validate(group).record() for group in found["groups"]]

    async def replay(self, job_id: str, *, reason: str, payload: Mapping[str, Any] | None = None) -> None:
        """Run a dead job again, with its own payload or another that fits its type; the audit keeps who and why."""
        await self._post(f"/v1/jobs/{job_id}/replay", {"reason": reason, "payload": payload})

    async def purge(self, job_id: str, *, reason: str) -> None:
        """Remove a dead job for good, with its payload and errors; the audit keeps its id, who and why."""
        body = {"headers": JSON, "content": to_json({"reason": reason})}
        await self._call("DELETE", f"/v1/jobs/{job_id}", **body)

    def _job(self, document: Any) -> Job:
        """The job that a submission's answer is about."""
        found = SubmittedDocument.model_validate(document)
        lane = Lane(found.pool, found.tenant, found.type, Priority.parse(found.priority), 0)
        return Job(self.itself, lane, found.id, Fate(found.duplicate, found.shed, found.deferred))

    async def _get(self, path: str, wanted: Mapping[str, Any] | None = None) -> Any:
        given = {name: value for name, value in (wanted or {}).items() if value is not None}
        return await self._call("GET", path, params=given)

    async def _post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        headers = {"Idempotency-Key": str(uuid.uuid4()), **JSON}
        return await self._call("POST", path, headers=headers, content=None if body is None else to_json(body))

    async def _call(self, method: str, path: str, **more: Any) -> Any:
        """The document of the answer; what may not have arrived, or is worth it, is sent again."""
        give_up, pause = time.monotonic() + self._patience, 0.05
        while True:
            try:
                return _document(await self._http.request(method, path, **more))
            except self._failures as error:
                if method == "DELETE":  # it may have been done, and doing it again would be refused
                    raise StoreUnavailable(f"the server cannot be reached: {error or type(error)}") from error
                failure: FairleadError = StoreUnavailable(f"the server cannot be reached: {error or type(error)}")
            except FairleadError as error:
                if error.code not in WORTH_REPEATING:
                    raise
                failure = error
            if time.monotonic() + pause > give_up:
                raise failure
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, 1.0)


def _document(response: "httpx2.Response") -> Any:
    if response.status_code >= 300:
        raise error_of(response.status_code, response.content, response.headers.get("retry-after"))
    return from_json(response.content) if response.content else None


def _parts(submissions: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The submissions in pieces that a server takes at once."""
    part: list[dict[str, Any]] = []
    size = 0
    for submission in submissions:
        length = len(to_json(submission))
        if part and (len(part) == BATCH or size + length > BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(submission)
        size += length
    if part:
        yield part


def _submission(type_name: str, payload: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The body that asks for a job; options are named and written as a handler takes them."""
    body: dict[str, Any] = {"type": type_name, "payload": payload}
    for name, value in options.items():
        if value is None:
            continue
        if name in DURATIONS:
            value = seconds(value)
        elif isinstance(value, Priority):
            value = value.word
        elif isinstance(value, Retry):
            value = _policy(value)
        elif isinstance(value, datetime) and value.tzinfo is None:
            raise ConfigError(f"{name}={value!r} has no time zone; use datetime.now(UTC) or add tzinfo")
        body[name] = value
    return body


def _policy(retry: Retry) -> dict[str, Any]:
    if callable(retry.backoff):
        raise ConfigError("a backoff that is a function cannot be sent with a job; declare it with the handler")
    return retry.stored()
