"""What a user's test does: move the clock, do what is due, look at the result."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

import fairlead
from fairlead.telemetry.events import Event, LateExecution
from fairlead.testing import ManualClock, drain


class Shop:
    """An app on a store in memory whose time the test moves."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.app = fairlead.App("sqlite:///:memory:", clock=self.clock)
        self.ran: list[object] = []
        self.note = self.app.handler("note")(self._note)
        self.missed = self.app.handler("missed", pool="calls")(self._missed)
        self.flaky = self.app.handler("flaky", retry=fairlead.Retry.fixed("10m", attempts=3, jitter="none"))(
            self._flaky
        )
        self.parent = self.app.handler("parent")(self._parent)
        self.slow = self.app.handler("slow", timeout="10ms", retry=fairlead.Retry(attempts=1))(self._slow)

    def in_(self, **duration: float) -> datetime:
        """An instant of the shop's time."""
        return datetime.fromtimestamp(self.clock(), UTC) + timedelta(**duration)

    async def _note(self, text: str) -> str:
        self.ran.append(text)
        return text.upper()

    async def _missed(self, job_id: str, type: str, not_after: datetime, late_by: float) -> None:
        self.ran.append((job_id, type, not_after, late_by))

    def _flaky(self) -> None:
        self.ran.append("try")
        if len(self.ran) < 3:
            raise OSError("not yet")

    async def _parent(self) -> None:
        await self.note.enqueue("child")

    async def _slow(self) -> None:
        await asyncio.sleep(60)


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop()
    async with shop.app:
        yield shop


async def test_what_is_ready_is_run(shop: Shop) -> None:
    jobs = [await shop.note.enqueue(f"note {number}") for number in range(150)]
    assert await drain(shop.app) == 150
    assert await drain(shop.app) == 0
    assert await jobs[0].wait(0) == "NOTE 0"


async def test_days_pass_in_no_time(shop: Shop) -> None:
    await shop.note.options(run_at=shop.in_(days=3), exact=True).enqueue("then")
    assert await drain(shop.app) == 0
    shop.clock.advance("2d23h59m")
    assert await drain(shop.app) == 0
    shop.clock.advance(timedelta(minutes=1))
    assert await drain(shop.app) == 1
    assert shop.ran == ["then"]


async def test_an_instant_lies_ahead_by_the_clock_of_the_store() -> None:
    clock = ManualClock(1_000_000.0)
    app = fairlead.App("sqlite:///:memory:", clock=clock)
    note = app.handler("note")(lambda: None)
    async with app:
        await note.options(run_at=datetime.fromtimestamp(clock() + 60, UTC)).enqueue()
        assert await drain(app) == 0
        clock.advance("1m")
        assert await drain(app) == 1


async def test_retries_wait_for_their_time(shop: Shop) -> None:
    job = await shop.flaky.enqueue()
    for expected in ("retrying", "retrying", "succeeded"):
        assert await drain(shop.app) == 1
        assert await job.state() == expected
        assert await drain(shop.app) == 0
        shop.clock.advance("10m")


async def test_what_a_job_enqueues_is_run_too(shop: Shop) -> None:
    await shop.parent.enqueue()
    assert await drain(shop.app) == 2
    assert shop.ran == ["child"]


async def test_only_the_pools_that_are_named_are_served(shop: Shop) -> None:
    await shop.note.enqueue("short")
    await shop.note.options(pool="calls").enqueue("calls")
    assert await drain(shop.app, pools=("calls",)) == 1
    assert shop.ran == ["calls"]


async def test_a_timeout_ends_a_run(shop: Shop) -> None:
    job = await shop.slow.enqueue()
    await drain(shop.app)
    assert await job.state() is fairlead.State.DEAD


async def test_who_named_a_handler_for_it_is_told_once_of_a_late_job(shop: Shop) -> None:
    told: list[Event] = []
    shop.app.on_event(told.append)
    deadline = shop.in_(minutes=5)
    job = await shop.note.options(not_after=deadline, on_late=shop.missed).enqueue("too late")
    shop.clock.advance("6m")
    assert await drain(shop.app) == 1
    assert await drain(shop.app) == 0
    assert await job.state() is fairlead.State.EXPIRED
    assert shop.ran == [(job.id, "note", deadline, 60.0)]
    assert [event for event in told if isinstance(event, LateExecution)] == [
        LateExecution(job.id, "note", "default", 60.0)
    ]


def test_a_clock_can_begin_anywhere() -> None:
    clock = ManualClock(1000.0)
    clock.advance("1h30m")
    assert clock() == 1000 + 5400


async def test_schedules_fire_as_the_clock_is_moved(shop: Shop) -> None:
    shop.app.recurring("@daily", payload={"text": "night"}, catch_up="all", catch_up_window="7d")(shop.note)
    assert await drain(shop.app) == 0
    shop.clock.advance("1d")
    assert await drain(shop.app) == 1
    shop.clock.advance("3d")
    assert await drain(shop.app) == 3
    assert await drain(shop.app) == 0
    assert shop.ran == ["night"] * 4


async def test_handlers_have_what_a_worker_lends_them(shop: Shop) -> None:
    charged: list[int] = []

    @shop.app.handler("pay", retry=fairlead.Retry.fixed("10m", attempts=2, jitter="none"))
    async def pay(ctx: fairlead.Context) -> None:
        await ctx.once("charge", lambda: charged.append(ctx.attempt))
        await ctx.progress(ctx.attempt, 2)
        if ctx.first_attempt:
            raise OSError("not yet")

    job = await pay.enqueue()
    assert await drain(shop.app) == 1
    shop.clock.advance(timedelta(minutes=11).total_seconds())
    assert await drain(shop.app) == 1
    assert charged == [1]
    progress = (await job.read()).progress
    assert progress
    assert progress.fraction == 1.0
