"""The application: a database, the job types declared in code, and the ways to use both.

Every worker process imports this module, so what only others need is imported where it is used.
"""

import asyncio
import atexit
import contextlib
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, overload
from weakref import WeakKeyDictionary, WeakSet

from fairlead.client.admission import Admission
from fairlead.client.blocking import Bridge, Guard, ThreadClient, run_through
from fairlead.client.by_name import named_call, submit_by_name
from fairlead.client.client import Client
from fairlead.client.handler import Handler, HandlerDecorator
from fairlead.client.job import Job, with_result
from fairlead.config import load_settings
from fairlead.core.durations import Duration
from fairlead.core.jobs.cancel import GRACE
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import AttemptRecord, JobFilter, JobRecord, Page
from fairlead.core.jobs.model import Priority
from fairlead.core.jobs.states import State
from fairlead.core.names import check_name
from fairlead.core.protection.breaker import Breaker
from fairlead.core.protection.quarantine import Quarantine
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.core.web.callbacks import check_type_name
from fairlead.errors import ConfigError
from fairlead.handlers.context import Context
from fairlead.handlers.options import require_known
from fairlead.handlers.spec import Declaration, Registry, class_table
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator, whoami
from fairlead.telemetry.events import Event, Telemetry
from fairlead.wiring import check_url, is_in_memory, make_blocking_store, make_lease_book, make_store, migrate

if TYPE_CHECKING:
    from fairlead.app_schedules import Schedules
    from fairlead.core.insight.explain import Explanation
    from fairlead.core.insight.timeline import Moment
    from fairlead.core.jobs.dead_letters import DeadGroup
    from fairlead.handlers.recurring import Terms
    from fairlead.operate.cancel_jobs import CancelCounts
    from fairlead.worker.service import Worker

P = ParamSpec("P")
Result = TypeVar("Result")
AnyHandler = TypeVar("AnyHandler", bound=Handler[..., Any])

LAST_PATIENCE = 5.0  # seconds that the end of a program waits for the database
_apps: "WeakSet[App]" = WeakSet()


class App:
    """Fairlead in a program. Nothing is connected before the first use."""

    def __init__(
        self,
        database_url: str | None = None,
        *,
        name: str | None = None,
        clock: Callable[[], float] = time.time,
        breaker: Breaker | None = None,
        quarantine: Quarantine | None = None,
        retry_budget: RetryBudget | None = None,
        include: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        """`name` tells this app's declared schedules from those of others in the database: the module, if not given.
        `database_url` is sqlite:///file.db, sqlite:///:memory: or postgresql://…; without it the settings decide
        (fairlead.toml, FAIRLEAD_DATABASE_URL). Other settings can be given by name; see fairlead.config.Settings.
        `clock` is the time of a SQLite store: tests may hand over a fairlead.testing.ManualClock. `breaker` and
        `quarantine` are for types and dependencies without their own, `retry_budget` for each tenant. `include` names
        modules with handlers, such as "shop.jobs", which the command line imports when it loads the app."""
        self.settings = load_settings(database_url=database_url, **settings)
        check_url(self.settings.database_url)
        own_name = check_name("app", name or _module(sys._getframe(1).f_globals))
        self.registry = Registry(own_name, breaker, quarantine, retry_budget)
        self.include = tuple(include)
        self.telemetry = Telemetry()
        self.clock = clock
        self.admission = Admission()
        guard = Guard()
        self._bridge = Bridge(guard)
        self.threads = ThreadClient(self._make_blocking_store, self.settings, self.admission, guard)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = WeakKeyDictionary()
        self._opening: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self._memory_store: Store | None = None
        self._memory_lock = threading.Lock()
        _apps.add(self)

    @cached_property
    def schedules(self) -> "Schedules":
        """Recurring jobs that are made and changed at run time."""
        from fairlead.app_schedules import Schedules

        return Schedules(self)

    def __repr__(self) -> str:
        return f"<fairlead.App with {len(self.registry)} job types>"

    @overload
    def handler(self, name: Callable[Concatenate[Context, P], Result], /) -> Handler[P, Result]: ...
    @overload
    def handler(self, name: Callable[P, Result], /) -> Handler[P, Result]: ...
    @overload
    def handler(self, name: str | None = None, **declared: Unpack[Declaration]) -> HandlerDecorator: ...
    def handler(self, name: Any = None, **declared: Any) -> Any:
        """Declare the handler of a job type: a coroutine function, or a function that runs in a thread.

        Without a name the type has that of the function; `@app.handler` is the same as `@app.handler()`.
        Without `retry` and `timeout`, the pool says how often jobs are tried, and when they are stopped.
        `upgrade(payload, version)` turns a payload of an older version into the current one. `retry` is for errors of
        the handler's own; `policies` has those for other classes of failures, and `classify` the classes of exceptions.
        `needs` names what the handler depends on: while one of them is away its jobs wait without burning attempts.
        `exact` keeps schedules more than an hour ahead to the second, which are otherwise spread by up to a minute.
        With `fixed_pool` its jobs stay in its pool although they take longer than the pool is for.
        `limit` bounds how many run at once or start in a time, over all workers.
        """
        for option in declared:
            require_known("option of a handler", option, Declaration.__annotations__)

        def build(function: Callable[..., Any]) -> Handler[..., Any]:
            own = name if isinstance(name, str) else function.__name__
            spec = self.registry.declare(check_type_name(own), function, **declared)
            return Handler(self, spec, function)

        return build(name) if callable(name) else HandlerDecorator(build)

    def recurring(
        self,
        expression: str,
        *,
        name: str | None = None,
        payload: Mapping[str, Any] | None = None,
        **terms: "Unpack[Terms]",
    ) -> Callable[[AnyHandler], AnyHandler]:
        """Declare a schedule, above `@app.handler(...)`: cron, @daily, every 30s; a second one needs a `name`."""
        from fairlead.handlers.recurring import handler_schedule

        def declare_schedule(handler: AnyHandler) -> AnyHandler:
            if not isinstance(handler, Handler):
                raise ConfigError("@app.recurring(...) belongs above @app.handler(...), which it runs")
            tenant, limit = self.settings.default_tenant, self.settings.payload_limit
            spec = handler_schedule(name, expression, handler.spec, payload, terms, tenant, limit)
            self.registry.add_schedule(spec)
            return handler

        return declare_schedule

    def classify(self, exception: type[BaseException] | str, failure: FailureClass | str) -> None:
        """Say what class of failure an exception is, for every handler: app.classify(stripe.APIError, "dependency")."""
        self.registry.classes.update(class_table({exception: failure}))

    def dependency(self, name: str, breaker: Breaker) -> None:
        """Say when the breaker of a dependency opens: app.dependency("stripe", fairlead.Breaker(minimum=50))."""
        self.registry.dependencies[check_name("dependency", name)] = breaker

    async def client(self) -> Client:
        """The client of the running event loop, connected."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            async with self._opening.setdefault(loop, asyncio.Lock()):
                client = self._clients.get(loop)
                if client is None:
                    client = self._clients[loop] = Client(await self._open_store(), self.settings, self.admission)
        return client

    def unopened_store(self) -> Store:
        """A store that is good for building statements only."""
        return self._memory_store or self._make_store()

    async def store(self) -> Store:
        """The open store behind the client of the running event loop."""
        return (await self.client()).store

    async def close(self) -> None:
        """Disconnect on the running event loop, and end the bridge for synchronous code."""
        if self._bridge.runs_here():
            raise ConfigError("app.close() cannot run on the loop that it ends; in synchronous code use app.shutdown()")
        await self._close_client()
        await asyncio.to_thread(self.shutdown)
        if self._memory_store is not None:
            await self._memory_store.close()
            self._memory_store = None

    def shutdown(self, patience: float | None = None) -> None:
        """Disconnect, from synchronous code that has used `delay` or `sync`; `patience` bounds the wait in seconds."""
        self.threads.close()
        if self._bridge.is_running:
            try:
                self._bridge.run(self._close_client(), patience)
            finally:
                self._bridge.close()

    async def __aenter__(self) -> Self:
        await self.client()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def sync(self, coroutine: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """Run a coroutine of this app from synchronous code: `app.sync(job.wait(timeout=10))`."""
        return self._bridge.run(coroutine, timeout)

    async def migrate(self) -> list[str]:
        """Create or update the tables; returns what was applied."""
        return await migrate(self.settings.database_url)

    async def enqueue(self, type_name: str, arguments: Mapping[str, Any] | None = None, **keywords: Any) -> Job:
        """Submit a job by the name of its type, which a worker has registered: the handler's code is not needed.

        `await app.enqueue("send_email", to="ann@example.org", tenant="acme")`: options are those of Handler.options,
        and every other keyword is an argument. `arguments` can have any name.
        """
        return await submit_by_name(await self.client(), named_call(type_name, arguments, keywords))

    def delay(self, type_name: str, arguments: Mapping[str, Any] | None = None, **keywords: Any) -> Job:
        """The same as `enqueue`, from synchronous code."""
        call = named_call(type_name, arguments, keywords)
        return self.threads.run(lambda client: submit_by_name(client, call))

    async def read(self, job_id: str) -> JobRecord:
        """A job, live or finished; JobNotFound if there is none."""
        return with_result(await (await self.client()).read(job_id))

    async def attempts(self, job_id: str) -> list[AttemptRecord]:
        """The runs of a job that did not end it well, oldest first."""
        return await (await self.client()).attempts(job_id)

    async def timeline(self, job_id: str) -> "list[Moment]":
        """All that happened to a job, in order: its states, runs, waits, and what operators did with it."""
        return await (await self.client()).timeline(job_id)

    async def explain(self, job_id: str) -> "Explanation":
        """Why a job is where it is, and when it should start."""
        return await (await self.client()).explain(job_id)

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

        A search with `key_contains` looks at a bounded number of jobs, so its page may be short and have a cursor.
        """
        wanted = JobFilter(states, type, tenant, pool, priority, idempotency_key)
        page = await (await self.client()).list_jobs(wanted, limit, cursor, key_contains)
        return replace(page, jobs=tuple(map(with_result, page.jobs)))

    async def cancel(
        self, job_id: str, *, reason: str | None = None, grace: Duration = GRACE, actor: str | None = None
    ) -> State:
        """Cancel a job: at once if it waits; if it runs, its handler is told and has `grace` to end.

        Returns `cancelled`, or `running` where the worker was asked. IllegalMove if the job has ended.
        """
        from fairlead.operate.cancel_jobs import cancel_one

        return await cancel_one(await self.store(), job_id, Operator(actor or whoami(), reason), grace)

    async def cancel_many(
        self,
        *,
        reason: str,
        states: tuple[State, ...] = (),
        type: str | None = None,
        tenant: str | None = None,
        pool: str | None = None,
        priority: Priority | None = None,
        idempotency_key: str | None = None,
        grace: Duration = GRACE,
        actor: str | None = None,
    ) -> "CancelCounts":
        """Cancel all live jobs that fit, in batches; says how many, and of how many the worker was asked."""
        from fairlead.operate import cancel_jobs

        wanted = JobFilter(states, type, tenant, pool, priority, idempotency_key)
        if wanted == JobFilter():
            raise ConfigError("say which jobs to cancel: a type, a tenant, a pool ...; states=tuple(State) means all")
        operator = Operator(actor or whoami(), reason)
        return await cancel_jobs.cancel_many(await self.store(), wanted, operator, grace)

    async def dead_groups(
        self,
        *,
        type: str | None = None,
        tenant: str | None = None,
        pool: str | None = None,
        fingerprint: str | None = None,
        limit: int = 100,
    ) -> "list[DeadGroup]":
        """Dead jobs by type and what they died of, the largest group first."""
        from fairlead.operate import dead_letters

        wanted = JobFilter(type=type, tenant=tenant, pool=pool, fingerprint=fingerprint)
        return await dead_letters.groups(await self.store(), wanted, limit)

    async def replay(
        self, job_id: str, *, reason: str, payload: Mapping[str, Any] | None = None, actor: str | None = None
    ) -> None:
        """Run a dead job again, with its own payload or another that fits its type; the audit keeps who and why."""
        from fairlead.operate.dead_letters import replay_one

        operator = Operator(actor or whoami(), reason)
        await replay_one(await self.store(), job_id, operator, payload, self.settings.payload_limit)

    async def purge(self, job_id: str, *, reason: str, actor: str | None = None) -> None:
        """Remove a dead job for good, with its payload, result and errors; the audit keeps its id, who and why."""
        from fairlead.operate.dead_letters import purge_one

        await purge_one(await self.store(), job_id, Operator(actor or whoami(), reason))

    def on_event(self, listener: Callable[[Event], None], jobs: bool = True) -> None:
        """Call the listener for what happens in workers and services of this process; `jobs` includes each run."""
        self.telemetry.listen(listener, jobs)

    @contextlib.asynccontextmanager
    async def worker(
        self, pools: tuple[str, ...] = ("short",), concurrency: int = 50, reserve: tuple[str, ...] = ()
    ) -> "AsyncIterator[Worker]":
        """Run a worker and the services here until the block ends; `reserve` are the only tenants it serves, if any."""
        from fairlead.embedded import embedded_worker

        store = await self.store()
        book = make_lease_book(self.settings.database_url, store)
        async with embedded_worker(
            self.registry, store, book, self.settings, pools, concurrency, self.telemetry, reserve
        ) as worker:
            yield worker

    async def _open_store(self) -> Store:
        if is_in_memory(self.settings.database_url):
            return self._shared_in_memory()
        store = self._make_store()
        await store.open()
        return store

    def _make_store(self) -> Store:
        return make_store(self.settings.database_url, self.clock, self.settings.listen_url)

    def _make_blocking_store(self) -> Store:
        shared = self._shared_in_memory() if is_in_memory(self.settings.database_url) else None
        return make_blocking_store(self.settings.database_url, self.clock, shared)

    def _shared_in_memory(self) -> Store:
        """The one store of a database in memory, opened."""
        with self._memory_lock:
            if self._memory_store is None:
                store = self._make_store()
                run_through(make_blocking_store(self.settings.database_url, self.clock, store).open())
                self._memory_store = store
            return self._memory_store

    async def _close_client(self) -> None:
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()
            if client.store is not self._memory_store:
                await client.store.close()


def _module(caller: Mapping[str, Any]) -> str:
    """The name of a module, also of one that is run as a program."""
    if caller.get("__name__") != "__main__":
        return str(caller.get("__name__") or "app")
    spec = caller.get("__spec__")
    return spec.name if spec else re.sub(r"\W", "_", Path(caller.get("__file__") or "app").stem)


def _shut_down_all() -> None:
    """At the end of a program that has not shut down its apps: leave no connection and no task behind."""
    for app in list(_apps):
        with contextlib.suppress(Exception):
            app.shutdown(LAST_PATIENCE)


atexit.register(_shut_down_all)
