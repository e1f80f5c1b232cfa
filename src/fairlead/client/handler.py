"""A declared handler: still callable as the function it is, and the typed way to submit its jobs."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from fairlead.client.admission import Admission
from fairlead.client.client import Client, build_jobs, dump_calls, make_jobs, template_of
from fairlead.client.direct import Direct
from fairlead.client.gather import BATCH
from fairlead.client.job import Job, jobs_in_hand
from fairlead.client.places import Places
from fairlead.config import Settings
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.errors import ConfigError
from fairlead.handlers.options import Options, Template
from fairlead.handlers.spec import HandlerSpec
from fairlead.records.store import Store

ALONE = BATCH // 2  # more than so many need nobody's company

P = ParamSpec("P")
Result = TypeVar("Result")


class Submitter(Protocol):
    """What a handler needs of the application it belongs to."""

    settings: Settings
    clock: Callable[[], float]
    admission: Admission

    async def client(self) -> Client: ...
    def unopened_store(self) -> Store: ...
    def direct(self) -> Direct | None: ...
    def sync(self, coroutine: Coroutine[Any, Any, Result]) -> Result: ...


class Call(dict[str, Any]):
    """The arguments of one job, for enqueue_many."""


class Handler(Generic[P, Result]):
    """A job type of an application."""

    def __init__(
        self,
        submitter: Submitter,
        spec: HandlerSpec,
        function: Callable[..., Any],
        options: Options | None = None,
    ) -> None:
        self._submitter = submitter
        self._function = function
        self._options = options or Options()
        # Made at the first use, since the options are checked then; with the version of the places it was made by.
        self._template: tuple[int, Template] | None = None
        self.spec = spec
        update_wrapper(self, function)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the function itself, as in a unit test."""
        return self._function(*args, **keywords)

    def __repr__(self) -> str:
        return f"<Handler {self.spec.name} v{self.spec.version} in pool {self.spec.pool}>"

    def options(self, **changes: Any) -> "Handler[P, Result]":
        """The same handler with options for what it submits: tenant, priority, pool, run_in, run_at, not_after,
        on_late, exact, idempotency_key, idempotency_scope, idempotency_window, timeout, retry, callback, parent,
        connection."""
        return Handler(self._submitter, self.spec, self._function, self._options.but(**changes))

    def call(self, *args: P.args, **keywords: P.kwargs) -> Call:
        """Arguments for enqueue_many, checked by the type checker."""
        return Call(self.spec.arguments.bind(args, keywords))

    async def enqueue(self, *args: P.args, **keywords: P.kwargs) -> Job:
        """Submit one job; returns when it is durable."""
        (job,) = await self.enqueue_many([self.spec.arguments.bind(args, keywords)])
        return job

    async def enqueue_many(self, calls: Sequence[Mapping[str, Any]]) -> list[Job]:
        """Submit a job for each set of arguments."""
        if self._options.connection is None:
            client = await self._submitter.client()
            shared = self._shared(client.places.version, client.places)
            if self._options.callback is not None:
                await client.require_callback(self._options)
            if len(calls) > ALONE:
                return await self._enqueue_batches(client, calls, shared)
            jobs = self._build(calls, shared)
            return self._submitted(jobs, await client.submit(jobs))
        jobs, answers = self._enqueue_within(calls)
        return self._submitted(jobs, answers if isinstance(answers, list) else await answers)

    def delay(self, *args: P.args, **keywords: P.kwargs) -> Job:
        """Submit one job from synchronous code; returns when it is durable."""
        (job,) = self.delay_many([self.spec.arguments.bind(args, keywords)])
        return job

    def delay_many(self, calls: Sequence[Mapping[str, Any]]) -> list[Job]:
        """Submit a job for each set of arguments, from synchronous code."""
        if self._options.connection is None:
            direct = self._submitter.direct()
            if direct is None or self._options.callback is not None or len(calls) > ALONE:
                return self._submitter.sync(self.enqueue_many(calls))
            jobs = self._build(calls, self._shared(direct.places.known_version, direct.places))
            return self._submitted(jobs, direct.submit(jobs))
        jobs, answers = self._enqueue_within(calls)
        if not isinstance(answers, list):
            answers.close()
            raise ConfigError("this connection is async; use await enqueue(...) instead of delay(...)")
        return self._submitted(jobs, answers)

    def _enqueue_within(self, calls: Sequence[Mapping[str, Any]]) -> tuple[list[NewJob], Any]:
        """In the caller's transaction everything happens on the caller's connection; ours are not even opened."""
        jobs = self._build(calls, self._shared())
        store = self._submitter.unopened_store()
        return jobs, store.jobs.enqueue_within(self._options.connection, jobs, self._submitter.admission)

    async def _enqueue_batches(self, client: Client, calls: Sequence[Mapping[str, Any]], shared: Template) -> list[Job]:
        """All arguments are checked before anything is stored; the rest is done batch by batch."""
        payloads = dump_calls(self.spec, calls, self._submitter.settings)
        clock, own = self._submitter.clock, self._submitter.client
        submitted: list[Job] = []
        made = client.submit_payloads(payloads, lambda some: make_jobs(self.spec, some, shared, clock()))
        async with aclosing(made) as stored:
            async for jobs, answers in stored:
                submitted += jobs_in_hand(own, jobs, answers)
        return submitted

    def _build(self, calls: Sequence[Mapping[str, Any]], shared: Template) -> list[NewJob]:
        return build_jobs(self.spec, calls, shared, self._submitter.settings, self._submitter.clock)

    def _shared(self, version: int = 0, places: Places | None = None) -> Template:
        """What all jobs have in common; made again where the type's pool has changed."""
        made = self._template
        if made is None or made[0] != version:
            pool = self.spec.pool if places is None else places.of(self.spec)
            made = self._template = version, template_of(self.spec, self._options, self._submitter.settings, pool)
        return made[1]

    def _submitted(self, jobs: list[NewJob], answers: list[Enqueued]) -> list[Job]:
        return jobs_in_hand(self._submitter.client, jobs, answers)
