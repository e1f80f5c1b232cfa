"""The client: everything a program does with jobs, on one event loop."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from fairlead.client.admission import Admission, Doorkeeper
from fairlead.client.blocking import Bridge
from fairlead.client.callbacks import KnownCallbacks
from fairlead.client.direct import Direct
from fairlead.client.gather import BATCH, Gatherer, Stored
from fairlead.client.job import Job, jobs_in_hand
from fairlead.client.places import Places
from fairlead.client.wakeups import Waker
from fairlead.config import Settings
from fairlead.core.insight.explain import Explanation
from fairlead.core.insight.timeline import Moment, timeline
from fairlead.core.jobs.idempotency import check_key
from fairlead.core.jobs.ids import is_id, make_ids
from fairlead.core.jobs.job_records import AttemptRecord, JobFilter, JobRecord, Page
from fairlead.core.jobs.model import Enqueued, Lane, NewJob
from fairlead.core.jobs.states import FINAL
from fairlead.core.plain import PlainBatch
from fairlead.core.protection.backpressure import with_shed
from fairlead.errors import JobNotDone, JobNotFound
from fairlead.handlers.options import Options, Template, new_jobs, template
from fairlead.handlers.spec import HandlerSpec
from fairlead.operate.job_explanation import explain_job
from fairlead.records.store import Store

FIRST_LOOK = 0.01
LAST_LOOK = 0.5
MOST_ENTRIES = 1_000


class Client:
    """Submits jobs of declared types and reads any job."""

    def __init__(self, store: Store, settings: Settings, admission: Admission | None = None) -> None:
        self.store = store
        self._settings = settings
        self._waker = Waker(store)
        self._gatherer = Gatherer(store, self._waker)
        self.places = Places(store)
        self.callbacks = KnownCallbacks(store)
        self._admission = admission or Admission()
        self._doorkeeper = Doorkeeper(store, self._admission)

    async def close(self) -> None:
        """Wait for what is on its way; the store stays open."""
        await self._gatherer.close()
        await self.places.close()
        await self._waker.close()
        await self._doorkeeper.close()

    async def enqueue(self, spec: HandlerSpec, calls: Sequence[Mapping[str, Any]], options: Options) -> list[Job]:
        """Submit one job a call; returns when all are durable, in batches that are each stored whole."""
        await self.require_callback(options)
        jobs = build_jobs(spec, calls, template_of(spec, options, self._settings, self.places.of(spec)), self._settings)
        return jobs_in_hand(self.itself, jobs, await self.submit(jobs))

    async def itself(self) -> "Client":
        """This client, for what finds its client when it needs one."""
        return self

    async def require_callback(self, options: Options) -> None:
        """UnknownCallback where a submission names an endpoint that is not there."""
        if options.callback is not None:
            await self.callbacks.require(options.tenant or self._settings.default_tenant, options.callback)

    async def submit(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Store jobs and wake the workers they are for; Refused if they are not wanted now."""
        if self._admission.is_quiet():
            return await self._store_all(jobs)
        kept = await self._doorkeeper.admit(jobs)
        answers = await self._store_all(kept) if kept else []
        return answers if len(kept) == len(jobs) else with_shed(jobs, kept, answers)

    def direct(self, bridge: Bridge, loop: asyncio.AbstractEventLoop) -> Direct | None:
        """The way for blocking callers past the bridge and this client's loop, while nothing has to be done there.

        Those who come while many submit on the loop share a commit with them.
        """
        if self._gatherer.has_company or not self.is_quiet() or not self.places.is_fresh():
            return None
        return Direct(self.store, self._gatherer, self._waker, self.places, bridge, loop)

    async def submit_payloads(
        self, payloads: Sequence[str], make: Callable[[Sequence[str]], list[NewJob]]
    ) -> AsyncGenerator[Stored]:
        """Make jobs of payloads and submit them; many are made batch by batch, while others are stored."""
        if not self._admission.is_quiet():
            jobs = make(payloads)
            yield jobs, await self.submit(jobs)
            return
        batches = (make(payloads[start : start + BATCH]) for start in range(0, len(payloads), BATCH))
        async with aclosing(self._gatherer.submit_batches(batches)) as stored:
            async for batch in stored:
                yield batch

    async def submit_plain(
        self, lane: Lane, payloads: Sequence[str], clock: Callable[[], float]
    ) -> AsyncGenerator[PlainBatch]:
        """The same for jobs that nothing is special about, while `is_quiet`."""
        some = (payloads[start : start + BATCH] for start in range(0, len(payloads), BATCH))
        batches = (PlainBatch(lane, make_ids(len(own), clock()), own) for own in some)
        async with aclosing(self._gatherer.submit_plain(batches)) as stored:
            async for batch, _ in stored:
                yield batch

    def is_quiet(self) -> bool:
        """Whether nothing has to be decided about what is submitted now."""
        return self._admission.is_quiet()

    async def _store_all(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        if len(jobs) <= BATCH:
            return await self._gatherer.submit(jobs)
        batches = (list(jobs[start : start + BATCH]) for start in range(0, len(jobs), BATCH))
        async with aclosing(self._gatherer.submit_batches(batches)) as stored:
            return [answer async for _, answers in stored for answer in answers]

    async def read(self, job_id: str) -> JobRecord:
        """The job, live or finished; JobNotFound if there is none."""
        record = await self.store.reader.read(job_id) if is_id(job_id) else None
        if record is None:
            raise JobNotFound(f"there is no job {job_id}; it may have been removed after its retention time")
        return record

    async def attempts(self, job_id: str) -> list[AttemptRecord]:
        """The runs of a job that did not end it well, oldest first."""
        return await self.store.reader.attempts(job_id)

    async def timeline(self, job_id: str) -> list[Moment]:
        """All that happened to a job, in order; JobNotFound if there is none."""
        record, attempts = await self.read(job_id), await self.attempts(job_id)
        return timeline(record, attempts, await self.store.audit.read(MOST_ENTRIES, job_id=job_id))

    async def explain(self, job_id: str) -> Explanation:
        """Why a job is where it is; JobNotFound if there is none."""
        return await explain_job(self.store, await self.read(job_id))

    async def estimated_start(self, job_id: str) -> datetime | None:
        """When a job should start; None where that cannot be told."""
        return (await self.explain(job_id)).estimated_start

    async def list_jobs(
        self, wanted: JobFilter, limit: int = 100, cursor: str | None = None, containing: str | None = None
    ) -> Page:
        """Jobs, newest first; `containing` is a text in their idempotency keys."""
        if containing is not None:
            check_key(containing)
        return await self.store.reader.list_jobs(wanted, limit, cursor, containing)

    async def wait(self, job_id: str, timeout: float | None = None) -> JobRecord:
        """The job once it has ended; JobNotDone if that takes longer than `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = FIRST_LOOK
        while (record := await self.read(job_id)).state not in FINAL:
            if deadline is not None and time.monotonic() + pause > deadline:
                raise JobNotDone(f"job {job_id} is {record.state} after {timeout:g} s; it goes on, wait again")
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LAST_LOOK)
        return record


def template_of(spec: HandlerSpec, options: Options, settings: Settings, pool: str | None = None) -> Template:
    """What all jobs of a handler with these options share; `pool` is where they go unless the options say."""
    place, marks = pool or spec.pool, spec.marks.shared
    return template(spec.name, spec.version, place, settings.default_tenant, options, spec.exact, marks)


def build_jobs(
    spec: HandlerSpec,
    calls: Sequence[Mapping[str, Any]],
    shared: Template,
    settings: Settings,
    clock: Callable[[], float] = time.time,
) -> list[NewJob]:
    """The jobs that these calls of a handler ask for, checked; `clock` is the store's where that has one."""
    return make_jobs(spec, dump_calls(spec, calls, settings), shared, clock())


def dump_calls(spec: HandlerSpec, calls: Sequence[Mapping[str, Any]], settings: Settings) -> list[str]:
    """The arguments as they are stored, checked."""
    dump, limit = spec.arguments.dump, settings.payload_limit
    return [dump(call, limit) for call in calls]


def make_jobs(spec: HandlerSpec, payloads: Sequence[str], shared: Template, now: float) -> list[NewJob]:
    """The jobs with these payloads."""
    jobs = new_jobs(shared, payloads, now)
    if spec.marks.is_keyed:
        for job in jobs:
            job.lane = shared.lane._replace(limits=spec.marks.of(job.payload))
    return jobs
