"""The public surface, end to end, on every store."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import BaseModel

import fairlead
from fairlead.telemetry.events import Event, JobEnded, JobStarted

MEMORY = "sqlite:///:memory:"


class Order(BaseModel):
    """A model as an argument."""

    number: int
    lines: list[str]


@dataclass
class Point:
    """A dataclass as an argument."""

    x: float
    y: float


class Shop:
    """An app with handlers of every kind, and what they saw."""

    def __init__(self, url: str) -> None:
        self.app = fairlead.App(url, lease="5s", heartbeat="1s", poll="200ms", drain="5s")
        self.contexts: list[fairlead.Context] = []
        self.threads: set[str] = set()
        self.failures_left = 2
        handler = self.app.handler

        @handler("add")
        async def add(a: int, b: int = 2) -> int:
            return a + b

        @handler("remember")
        async def remember(ctx: fairlead.Context, order: Order, point: Point) -> dict[str, object]:
            self.contexts.append(ctx)
            return {"number": order.number, "x": point.x}

        @handler("in_thread")
        def in_thread(word: str) -> str:
            self.threads.add(threading.current_thread().name)
            return word.upper()

        @handler("flaky", retry=fairlead.Retry(attempts=5, first="10ms", factor=1.0))
        async def flaky(ctx: fairlead.Context) -> int:
            if self.failures_left:
                self.failures_left -= 1
                raise ConnectionError("not now")
            return ctx.attempt

        @handler("hopeless", retry=fairlead.Retry(attempts=2, first="10ms", factor=1.0))
        async def hopeless() -> None:
            raise ValueError("never \x00 works")

        @handler("slow", timeout="200ms", retry=fairlead.Retry(attempts=1))
        async def slow() -> None:
            await asyncio.sleep(60)

        @handler("not_json")
        async def not_json() -> object:
            return object()

        @handler("decide", retry=fairlead.Retry(attempts=3, first="10ms", factor=1.0))
        async def decide(ctx: fairlead.Context) -> int:
            if verdict := next(self.verdicts, None):
                raise verdict
            return ctx.attempt

        @handler(
            "depend",
            retry=fairlead.Retry(attempts=1),
            policies={"dependency": fairlead.Retry.fixed("10ms", attempts=4)},
            classify={KeyError: "dependency", LookupError: "permanent"},
        )
        def depend(kind: str) -> None:
            raise {"key": KeyError, "index": IndexError, "value": ValueError, "connection": ConnectionError}[kind]("no")

        self.verdicts: Iterator[Exception] = iter(())
        self.decide, self.depend = decide, depend
        self.add, self.remember, self.in_thread = add, remember, in_thread
        self.flaky, self.hopeless, self.slow, self.not_json = flaky, hopeless, slow, not_json


@pytest.fixture
async def shop(store_url: str) -> AsyncIterator[Shop]:
    """A connected shop without workers."""
    made = Shop(store_url)
    async with made.app:
        yield made


@pytest.fixture
async def open_shop(shop: Shop) -> AsyncIterator[Shop]:
    """A shop with a worker."""
    async with shop.app.worker(concurrency=10):
        yield shop


async def test_a_job_gives_its_result(open_shop: Shop) -> None:
    job = await open_shop.add.enqueue(a=1)
    assert await job.wait(timeout=10) == 3
    record = await job.read()
    assert (record.type, record.tenant, record.pool, record.attempt) == ("add", "default", "short", 1)
    assert record.payload == '{"a":1}'


async def test_arguments_may_be_given_by_position_and_by_many(open_shop: Shop) -> None:
    jobs = await open_shop.add.enqueue_many([open_shop.add.call(1, 1), {"a": 2}, open_shop.add.call(a=3, b=3)])
    assert [await job.wait(10) for job in jobs] == [2, 4, 6]


async def test_models_and_dataclasses_arrive_as_themselves(open_shop: Shop) -> None:
    job = await open_shop.remember.options(tenant="acme", priority="high", idempotency_key="order-7").enqueue(
        order=Order(number=7, lines=["a"]), point=Point(1.5, 2.5)
    )
    assert await job.wait(10) == {"number": 7, "x": 1.5}
    (ctx,) = open_shop.contexts
    assert (ctx.job_id, ctx.tenant, ctx.attempt, ctx.first_attempt, ctx.fence) == (job.id, "acme", 1, True, 1)
    assert (ctx.idempotency_key, ctx.priority, ctx.type) == ("order-7", fairlead.Priority.HIGH, "remember")


async def test_plain_functions_run_in_threads(open_shop: Shop) -> None:
    job = await open_shop.in_thread.enqueue("word")
    assert await job.wait(10) == "WORD"
    assert open_shop.threads
    assert threading.current_thread().name not in open_shop.threads


async def test_a_failing_job_is_retried_until_it_succeeds(open_shop: Shop) -> None:
    job = await open_shop.flaky.enqueue()
    assert await job.wait(10) == 3
    attempts = await job.attempts()
    assert [(item.attempt, item.ending, item.error and item.error.type) for item in attempts] == [
        (1, "failed", "ConnectionError"),
        (2, "failed", "ConnectionError"),
    ]


async def test_a_job_that_never_works_dies_with_its_error(open_shop: Shop) -> None:
    job = await open_shop.hopeless.enqueue()
    with pytest.raises(fairlead.JobFailed, match=r"dead after 2 attempts: ValueError: never \\0 works"):
        await job.wait(10)
    last = (await job.attempts())[-1]
    assert last.error is not None
    assert "in hopeless" in (last.error.traceback or "")


async def test_a_timeout_ends_a_coroutine(open_shop: Shop) -> None:
    job = await open_shop.slow.enqueue()
    with pytest.raises(fairlead.JobFailed, match="TimedOut"):
        await job.wait(10)


async def test_a_handler_can_name_the_time_of_its_retry(open_shop: Shop) -> None:
    open_shop.verdicts = iter([fairlead.RetryLater(after="300ms", reason="the bank is closed")])
    job = await open_shop.decide.enqueue()
    assert await job.wait(10) == 2
    (first,) = await job.attempts()
    record = await job.read()
    assert first.error is not None
    assert (first.ending, first.error.message, first.error.failure) == ("failed", "the bank is closed", "application")
    assert record.started_at is not None
    assert (record.started_at - first.ended_at).total_seconds() >= 0.299


async def test_retry_later_is_bounded_by_the_attempts(open_shop: Shop) -> None:
    open_shop.verdicts = iter([fairlead.RetryLater(0)] * 5)
    with pytest.raises(fairlead.JobFailed, match="dead after 3 attempts"):
        await (await open_shop.decide.enqueue()).wait(10)


async def test_a_snooze_burns_no_attempt(open_shop: Shop) -> None:
    open_shop.verdicts = iter([fairlead.Snooze("50ms")] * 5)
    job = await open_shop.decide.enqueue()
    assert await job.wait(20) == 1
    assert [attempt.ending for attempt in await job.attempts()] == ["snoozed"] * 5
    record = await job.read()
    assert (record.attempt, record.fence, record.error) == (1, 6, None)


async def test_a_snoozed_job_is_scheduled(open_shop: Shop) -> None:
    open_shop.verdicts = iter([fairlead.Snooze(for_="1h")])
    job = await open_shop.decide.enqueue()
    with pytest.raises(fairlead.JobNotDone, match="is scheduled"):
        await job.wait(2)
    record = await job.read()
    assert (record.state, record.attempt) == (fairlead.State.SCHEDULED, 0)
    assert (record.run_at - datetime.now(UTC)).total_seconds() > 3500


async def test_a_handler_can_discard_its_job(open_shop: Shop) -> None:
    open_shop.verdicts = iter([fairlead.Discard("the order is gone")])
    job = await open_shop.decide.enqueue()
    with pytest.raises(fairlead.JobFailed, match="cancelled"):
        await job.wait(10)
    record = await job.read()
    assert record.state is fairlead.State.CANCELLED
    assert record.error is not None
    assert (record.error.message, record.error.failure) == ("the order is gone", None)
    assert [attempt.ending for attempt in await job.attempts()] == ["discarded"]


async def test_a_handler_can_give_its_job_up(open_shop: Shop) -> None:
    open_shop.verdicts = iter([fairlead.DeadLetter("no such account")])
    job = await open_shop.decide.enqueue()
    with pytest.raises(fairlead.JobFailed, match=r"dead after one attempt.*no such account"):
        await job.wait(10)
    error = (await job.read()).error
    assert error is not None
    assert error.failure is fairlead.FailureClass.PERMANENT


@pytest.mark.parametrize(
    ("kind", "failure", "attempts"),
    [("value", "application", 1), ("connection", "dependency", 4), ("key", "dependency", 4), ("index", "permanent", 1)],
)
async def test_each_class_of_failures_has_its_policy(open_shop: Shop, kind: str, failure: str, attempts: int) -> None:
    job = await open_shop.depend.enqueue(kind)
    with pytest.raises(fairlead.JobFailed, match="one attempt" if attempts == 1 else f"dead after {attempts} attempts"):
        await job.wait(10)
    error = (await job.read()).error
    assert error is not None
    assert error.failure == failure
    assert [item.error and item.error.failure for item in await job.attempts()] == [failure] * attempts


async def test_an_app_classifies_exceptions_for_all_its_handlers(open_shop: Shop) -> None:
    open_shop.app.classify(ValueError, "permanent")
    with pytest.raises(fairlead.JobFailed, match="dead after one attempt"):
        await (await open_shop.hopeless.enqueue()).wait(10)
    with pytest.raises(fairlead.ConfigError, match="weather"):
        open_shop.app.classify(ValueError, "weather")


async def test_a_job_that_is_too_old_is_not_retried(open_shop: Shop) -> None:
    policy = fairlead.Retry.fixed("1h", jitter="none", attempts=5, max_age="30m")
    with pytest.raises(fairlead.JobFailed, match="dead after one attempt"):
        await (await open_shop.hopeless.options(retry=policy).enqueue()).wait(10)


async def test_a_result_that_is_no_json_is_dropped_and_its_job_has_succeeded(open_shop: Shop) -> None:
    job = await open_shop.not_json.enqueue()
    with pytest.raises(fairlead.ResultDropped, match=r"succeeded.*cannot become JSON"):
        await job.wait(10)


async def test_a_delayed_job_starts_when_it_is_due(open_shop: Shop) -> None:
    soon = await open_shop.add.options(run_in="300ms").enqueue(1)
    later = await open_shop.add.options(run_at=datetime.now(UTC) + timedelta(hours=1)).enqueue(1)
    assert await soon.state() is fairlead.State.SCHEDULED
    assert await soon.wait(10) == 3
    record = await soon.read()
    assert record.started_at is not None
    assert record.started_at >= record.run_at
    assert await later.state() is fairlead.State.SCHEDULED


async def test_a_job_that_would_start_too_late_expires(open_shop: Shop) -> None:
    job = await open_shop.add.options(not_after=datetime.now(UTC) - timedelta(seconds=1)).enqueue(1)
    with pytest.raises(fairlead.JobFailed, match="expired"):
        await job.wait(10)


async def test_a_waiting_job_can_be_cancelled_and_a_finished_one_cannot(shop: Shop) -> None:
    job = await shop.add.enqueue(1)
    await shop.app.cancel(job.id)
    assert await job.state() is fairlead.State.CANCELLED
    with pytest.raises(fairlead.IllegalMove, match="is cancelled"):
        await shop.app.cancel(job.id)
    with pytest.raises(fairlead.JobNotFound):
        await shop.app.cancel("01900000-0000-7000-8000-000000000000")


async def test_jobs_are_cancelled_by_filter_and_tell_who_did_it(shop: Shop) -> None:
    job = await shop.add.options(tenant="acme").enqueue(1)
    other = await shop.add.enqueue(1)
    with pytest.raises(fairlead.ConfigError, match="say which jobs"):
        await shop.app.cancel_many(reason="all of them?")
    counts = await shop.app.cancel_many(tenant="acme", reason="a wrong import", actor="ann")
    assert counts == fairlead.CancelCounts(cancelled=1, asked=0)
    assert await other.state() is fairlead.State.READY
    moments = await job.timeline()
    assert [moment.what for moment in moments] == ["enqueued", "cancelled"]
    assert moments == await shop.app.timeline(job.id)
    assert moments[-1].error is not None
    assert moments[-1].error.message == "cancelled by ann: a wrong import"
    with pytest.raises(fairlead.JobNotFound):
        await shop.app.timeline("01900000-0000-7000-8000-000000000000")


async def test_the_same_key_gives_the_same_job_while_it_is_active(shop: Shop) -> None:
    keyed = shop.add.options(idempotency_key="once")
    first, second = await asyncio.gather(keyed.enqueue(1), keyed.enqueue(1))
    assert first.id == second.id
    assert {first.duplicate, second.duplicate} == {False, True}
    other = await shop.add.options(idempotency_key="once", tenant="other").enqueue(1)
    assert other.id != first.id
    async with shop.app.worker():
        await first.wait(10)
    assert (await keyed.enqueue(1)).id != first.id


async def test_waiting_has_an_end(shop: Shop) -> None:
    job = await shop.add.enqueue(1)
    with pytest.raises(fairlead.JobNotDone, match="is ready"):
        await job.wait(timeout=0.05)


async def test_a_type_that_a_worker_does_not_know_is_left_for_another(shop: Shop, store_url: str) -> None:
    unknown = fairlead.App(store_url)
    unknown._memory_store = shop.app._memory_store

    @unknown.handler("from_the_future")
    async def from_the_future() -> str:
        return "done"

    try:
        job = await from_the_future.enqueue()
        async with shop.app.worker():
            assert await (await shop.add.enqueue(1)).wait(10) == 3
            assert await job.state() is fairlead.State.READY
        async with unknown.worker():
            assert await job.wait(10) == "done"
    finally:
        unknown._memory_store = None
        await unknown.close()


async def test_events_tell_of_each_run(shop: Shop) -> None:
    events: list[Event] = []
    shop.app.on_event(events.append)
    async with shop.app.worker():
        job = await shop.add.enqueue(1)
        await job.wait(10)
    assert [type(event) for event in events if isinstance(event, JobStarted | JobEnded)] == [JobStarted, JobEnded]


async def test_many_jobs_of_many_tenants_all_end(open_shop: Shop) -> None:
    jobs = []
    for tenant in ("one", "two", "three"):
        for priority in ("critical", "default", "low"):
            handler = open_shop.add.options(tenant=tenant, priority=priority)
            jobs += await handler.enqueue_many([{"a": number} for number in range(60)])
    assert [await job.wait(30) for job in jobs] == [number + 2 for number in range(60)] * 9


def test_synchronous_code_submits_and_waits(store_url: str) -> None:
    shop = Shop(store_url)

    async def work() -> None:
        async with shop.app.worker():
            await asyncio.sleep(0)
            await job.wait(10)

    job = shop.add.delay(a=1)
    try:
        shop.app.sync(work())
        assert shop.app.sync(job.wait(10)) == 3
        assert len(shop.add.delay_many([{"a": 1}, {"a": 2}])) == 2
    finally:
        shop.app.shutdown()
        asyncio.run(shop.app.close())


async def test_blocking_calls_on_an_event_loop_are_refused(shop: Shop) -> None:
    with pytest.raises(fairlead.ConfigError, match="use the async form"):
        shop.add.delay(a=1)


def test_a_handler_is_still_the_function_it_was(sqlite_url: str) -> None:
    shop = Shop(sqlite_url)
    assert asyncio.run(shop.add(1, b=5)) == 6
    assert shop.in_thread("x") == "X"


def test_a_handler_needs_neither_a_name_nor_parentheses() -> None:
    app = fairlead.App(MEMORY)

    @app.handler
    async def send_email(to: str) -> str:
        return to

    @app.handler(pool="long")
    def resize(image: str) -> None: ...

    job = send_email.delay("ann")
    assert (job.type, resize.spec.name, resize.spec.pool) == ("send_email", "resize", "long")
    assert app.sync(job.read()).payload == '{"to":"ann"}'
    asyncio.run(app.close())


def test_an_option_that_a_handler_does_not_have_is_named() -> None:
    with pytest.raises(fairlead.ConfigError, match="no option of a handler 'tiemout': did you mean timeout"):
        fairlead.App(MEMORY).handler("mail", tiemout=3)  # type: ignore[call-overload]


def test_a_database_that_is_not_supported_is_refused_at_once() -> None:
    with pytest.raises(fairlead.ConfigError, match=r"'redis'.*postgresql://"):
        fairlead.App("redis://127.0.0.1")


async def test_a_result_is_what_the_handler_returned(store_url: str) -> None:
    app = fairlead.App(store_url)

    @app.handler("add")
    async def add(numbers: list[int]) -> dict[str, int]:
        return {"sum": sum(numbers)}

    async with app, app.worker():
        job = await add.enqueue([1, 2])
        assert await job.wait(timeout=20) == {"sum": 3}
        assert (await job.read()).result == (await app.read(job.id)).result == {"sum": 3}
        assert [found.result for found in (await app.jobs()).jobs] == [{"sum": 3}]


async def test_a_job_is_submitted_by_the_name_of_its_type(store_url: str) -> None:
    declared = fairlead.App(store_url)

    @declared.handler("send_email", limit=fairlead.Limit("mails", concurrent=3, key="tenant"))
    async def send_email(to: str, tenant: str = "none") -> None: ...

    app = declared if store_url == MEMORY else fairlead.App(store_url)
    async with app, declared:
        with pytest.raises(fairlead.UnknownType, match="registered are: none"):
            await app.enqueue("send_email", to="ann")
        await (await declared.store()).types.register([send_email.spec.job_type()])
        job = await app.enqueue("send_email", {"to": "ann", "tenant": "x"}, tenant="acme", run_in="1h")
        record = await job.read()
        assert (record.tenant, record.state, record.payload) == (
            "acme", fairlead.State.SCHEDULED, '{"to":"ann","tenant":"x"}',
        )  # fmt: skip
        assert record.limits
        plain = await app.enqueue("send_email", to="bob", idempotency_key="k")
        assert (await app.enqueue("send_email", to="bob", idempotency_key="k")).id == plain.id
        with pytest.raises(fairlead.InvalidArguments, match="is an option and also an argument"):
            await app.enqueue("send_email", to="ann", tenant="acme")
        with pytest.raises(fairlead.InvalidArguments, match="do not fit 'send_email'"):
            await app.enqueue("send_email", to=5)
        with pytest.raises(fairlead.InvalidArguments, match=r"'to' .* given twice"):
            await app.enqueue("send_email", {"to": "ann"}, to="bob")
