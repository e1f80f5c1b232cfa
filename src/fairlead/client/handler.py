"""A declared handler: still callable as the function it is, and the typed way to submit its jobs."""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload

from fairlead.client.admission import Admission
from fairlead.client.blocking import ThreadClient
from fairlead.client.client import Client, build_jobs, template_of
from fairlead.client.job import Job, jobs_in_hand
from fairlead.config import Settings
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.errors import ConfigError
from fairlead.handlers.context import Context
from fairlead.handlers.options import Choices, Options, Template
from fairlead.handlers.spec import HandlerSpec
from fairlead.records.store import Store

P = ParamSpec("P")
Result = TypeVar("Result")


class Submitter(Protocol):
    """What a handler needs of the application it belongs to."""

    settings: Settings
    clock: Callable[[], float]
    admission: Admission
    threads: ThreadClient

    async def client(self) -> Client: ...
    def unopened_store(self) -> Store: ...


class Call(dict[str, Any]):
    """The arguments of one job, for enqueue_many."""


class HandlerDecorator:
    """What `app.handler(...)` returns: it turns a function into a Handler with the same arguments."""

    def __init__(self, build: "Callable[[Callable[..., Any]], Handler[..., Any]]") -> None:
        self._build = build

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], Result]) -> "Handler[P, Result]": ...
    @overload
    def __call__(self, function: Callable[P, Result]) -> "Handler[P, Result]": ...
    def __call__(self, function: Callable[..., Any]) -> "Handler[..., Any]":
        return self._build(function)


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
        # Made at the first use, since the options are checked then; with the version of the pools it was made by.
        self._template: tuple[int, Template] | None = None
        self.spec = spec
        update_wrapper(self, function)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the function itself, as in a unit test."""
        return self._function(*args, **keywords)

    def __repr__(self) -> str:
        return f"<Handler {self.spec.name} v{self.spec.version} in pool {self.spec.pool}>"

    def options(self, **changes: Unpack[Choices]) -> "Handler[P, Result]":
        """The same handler with options for what it submits: whose jobs, when, how often, in which transaction."""
        return Handler(self._submitter, self.spec, self._function, self._options.but(**changes))

    def call(self, *args: P.args, **keywords: P.kwargs) -> Call:
        """Arguments for enqueue_many, checked by the type checker."""
        return Call(self.spec.arguments.bind(args, keywords))

    async def enqueue(self, *args: P.args, **keywords: P.kwargs) -> Job:
        """Submit one job; returns when it is durable."""
        (job,) = await self.enqueue_many([self.spec.arguments.bind(args, keywords)])
        return job

    async def enqueue_many(self, calls: Sequence[Mapping[str, Any]]) -> list[Job]:
        """Submit a job for each set of arguments; all are checked before the first is stored."""
        if self._options.connection is None:
            return await self._submit(await self._submitter.client(), calls)
        jobs, answers = self._enqueue_within(calls)
        return self._submitted(jobs, answers if isinstance(answers, list) else await answers)

    def delay(self, *args: P.args, **keywords: P.kwargs) -> Job:
        """Submit one job from synchronous code; returns when it is durable."""
        (job,) = self.delay_many([self.spec.arguments.bind(args, keywords)])
        return job

    def delay_many(self, calls: Sequence[Mapping[str, Any]]) -> list[Job]:
        """Submit a job for each set of arguments, from synchronous code."""
        if self._options.connection is None:
            return self._submitter.threads.run(lambda client: self._submit(client, calls))
        jobs, answers = self._enqueue_within(calls)
        if not isinstance(answers, list):
            answers.close()
            raise ConfigError("this connection is async; use await enqueue(...) instead of delay(...)")
        return self._submitted(jobs, answers)

    async def _submit(self, client: Client, calls: Sequence[Mapping[str, Any]]) -> list[Job]:
        if self._submitter.admission.is_new():
            await client.know_rules()
        shared = self._shared()
        if self._options.callback is not None:
            await client.require_callback(self._options)
        jobs = self._build(calls, shared)
        return self._submitted(jobs, await client.submit(jobs))

    def _enqueue_within(self, calls: Sequence[Mapping[str, Any]]) -> tuple[list[NewJob], Any]:
        """In the caller's transaction everything happens on the caller's connection; ours are not even opened."""
        jobs, store = self._build(calls, self._shared()), self._submitter.unopened_store()
        return jobs, store.jobs.enqueue_within(self._options.connection, jobs, self._submitter.admission)

    def _build(self, calls: Sequence[Mapping[str, Any]], shared: Template) -> list[NewJob]:
        return build_jobs(self.spec, calls, shared, self._submitter.settings, self._submitter.clock)

    def _shared(self) -> Template:
        """What all jobs have in common; made again where a type's pool has changed."""
        admission = self._submitter.admission
        made, version = self._template, admission.pools_version
        if made is None or made[0] != version:
            shared = template_of(self.spec, self._options, self._submitter.settings, admission.pool_of(self.spec))
            made = self._template = version, shared
        return made[1]

    def _submitted(self, jobs: list[NewJob], answers: list[Enqueued]) -> list[Job]:
        return jobs_in_hand(self._submitter.client, jobs, answers)
