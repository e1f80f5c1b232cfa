"""The client: everything a program does with jobs, on one event loop."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fairlead.client.admission import Admission, Doorkeeper, tenants_of, whole
from fairlead.client.callbacks import KnownCallbacks
from fairlead.client.gather import BATCH, Gatherer
from fairlead.client.job import Job, jobs_in_hand, not_done
from fairlead.config import Settings
from fairlead.core.jobs.idempotency import check_key
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.job_records import AttemptRecord, JobFilter, JobRecord, Page
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.core.jobs.states import FINAL
from fairlead.core.protection.backpressure import with_shed
from fairlead.core.protection.limits import joined
from fairlead.errors import JobNotDone, JobNotFound, TenantQueueFull
from fairlead.handlers.options import Options, Template, new_jobs, template
from fairlead.handlers.registered import KnownTypes
from fairlead.handlers.spec import HandlerSpec
from fairlead.ports.jobs import DepthBound
from fairlead.records.store import Store
from fairlead.runtime.hints import HintSender

if TYPE_CHECKING:  # a worker does without
    from fairlead.core.insight.explain import Explanation
    from fairlead.core.insight.timeline import Moment

FIRST_LOOK = 0.01
LAST_LOOK = 0.5
MOST_ENTRIES = 1_000

Value = TypeVar("Value")


class Sender(Protocol):
    """How a client's submissions get to the store."""

    abreast: int  # how many batches of a large submission are on their way at once

    async def submit(self, jobs: Sequence[NewJob], bounds: Sequence[DepthBound] = ()) -> list[Enqueued]:
        """Store the jobs, perhaps together with what others submit; returns when they are durable."""

    async def send(self, jobs: Sequence[NewJob], bounds: Sequence[DepthBound] = ()) -> list[Enqueued]:
        """Store the jobs now and alone."""

    async def close(self) -> None:
        """Wait for what is on its way."""


class Client:
    """Submits jobs of declared types and reads any job."""

    def __init__(
        self, store: Store, settings: Settings, admission: Admission | None = None, sender: Sender | None = None
    ) -> None:
        """Without a `sender` it belongs to the running event loop, and gathers what is submitted there."""
        self.store = store
        self.settings = settings
        self.admission = admission or Admission()
        self.callbacks = KnownCallbacks(store)
        self.types = KnownTypes(store)
        self._sender = sender or Gatherer(store, HintSender(store))
        self._doorkeeper = Doorkeeper(store, self.admission, in_background=sender is None)

    async def close(self) -> None:
        """Wait for what is on its way; the store stays open."""
        await self._sender.close()
        await self._doorkeeper.close()

    async def know_rules(self) -> None:
        """Read what operators have set, unless this program has read it before."""
        if self.admission.is_new():
            await self.refresh()

    async def refresh(self) -> None:
        """Read what operators have set."""
        await self._doorkeeper.read()

    async def enqueue(self, spec: HandlerSpec, calls: Sequence[Mapping[str, Any]], options: Options) -> list[Job]:
        """Submit one job a call; returns when all are durable, in batches that are each stored whole."""
        await self.know_rules()
        shared = template_of(spec, options, self.settings, self.admission.pool_of(spec))
        await self.require_callback(options)
        jobs = build_jobs(spec, calls, shared, self.settings)
        return jobs_in_hand(self.itself, jobs, await self.submit(jobs))

    async def itself(self) -> "Client":
        """Return self; satisfies Job's client factory."""
        return self

    async def require_callback(self, options: Options) -> None:
        """UnknownCallback where a submission names an endpoint that is not there."""
        if options.callback is not None:
            await self.callbacks.require(options.tenant or self.settings.default_tenant, options.callback)

    async def submit(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Store jobs and wake the workers they are for; Refused if they are not wanted now."""
        try:
            if self.admission.is_quiet():
                return await self._store_all(jobs, self.admission.bounds(jobs))
            kept, bounds = await self._doorkeeper.admit(jobs)
            answers = await self._store_all(kept, bounds) if kept else []
            return answers if len(kept) == len(jobs) else with_shed(jobs, kept, answers)
        except TenantQueueFull as error:
            raise self._doorkeeper.refused(error, tenants_of(jobs)) from None

    async def _store_all(self, jobs: Sequence[NewJob], bounds: Sequence[DepthBound]) -> list[Enqueued]:
        small = len(jobs) <= BATCH
        return await (self._sender.submit(jobs, bounds) if small else self._store_in_batches(jobs, bounds))

    async def _store_in_batches(self, jobs: Sequence[NewJob], bounds: Sequence[DepthBound]) -> list[Enqueued]:
        """Store batch after batch, two at once where nothing but their ids tells their jobs apart.

        Where it has to be counted, the first batch is stored only if there is room for all of them.
        """
        size = BATCH * (self._sender.abreast if all(job.is_plain for job in jobs) else 1)
        answers = await self._sender.send(jobs[:BATCH], whole(bounds, jobs[BATCH:])) if bounds else []
        while len(answers) < len(jobs):
            group = jobs[len(answers) : len(answers) + size]
            own = self.admission.bounds(group) if bounds else []
            batches = [group[start : start + BATCH] for start in range(0, len(group), BATCH)]
            for found in await together([self._sender.send(batch, own) for batch in batches]):
                answers += found
        return answers

    async def read(self, job_id: str) -> JobRecord:
        """The job, live or finished; JobNotFound if there is none."""
        record = await self.store.reader.read(job_id) if is_id(job_id) else None
        if record is None:
            raise JobNotFound(f"there is no job {job_id}; it may have been removed after its retention time")
        return record

    async def attempts(self, job_id: str) -> list[AttemptRecord]:
        """The runs of a job that did not end it well, oldest first."""
        return await self.store.reader.attempts(job_id)

    async def timeline(self, job_id: str) -> "list[Moment]":
        """All that happened to a job, in order; JobNotFound if there is none."""
        from fairlead.core.insight.timeline import timeline

        record, attempts = await self.read(job_id), await self.attempts(job_id)
        return timeline(record, attempts, await self.store.audit.read(MOST_ENTRIES, job_id=job_id))

    async def explain(self, job_id: str) -> "Explanation":
        """Why a job is where it is; JobNotFound if there is none."""
        from fairlead.insight.job_explanation import explain_job

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
                raise JobNotDone(not_done(job_id, record.state, timeout))
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
    dump, limit = spec.arguments.dump, settings.payload_limit
    jobs = new_jobs(shared, [dump(call, limit) for call in calls], clock())
    if spec.marks.is_keyed:
        for job in jobs:
            job.lane = shared.lane._replace(limits=joined(spec.marks.of(job.payload), shared.limits))
    return jobs


async def together(work: Sequence[Coroutine[Any, Any, Value]]) -> list[Value]:
    """The results of several coroutines at once; a single one needs no event loop."""
    return [await work[0]] if len(work) == 1 else await asyncio.gather(*work)
