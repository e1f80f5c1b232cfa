"""Handlers that cannot be stopped: their jobs are settled, and their slots come back when they end."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable

import pytest

import fairlead
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.model import Ending
from fairlead.telemetry.events import Event, ThreadLost
from fairlead.worker import runner

ONCE = fairlead.Retry(attempts=1)


class Desk:
    """An app whose handlers end when they are released, not when they are told to."""

    def __init__(self) -> None:
        self.app = fairlead.App("sqlite:///:memory:", poll="50ms", drain="1s")
        self.released = threading.Event()
        self.events: list[Event] = []
        self.app.on_event(self.events.append)

        @self.app.handler("thread", timeout="100ms", retry=ONCE)
        def thread() -> None:
            self.released.wait(30)

        @self.app.handler("stubborn", timeout="100ms", retry=ONCE)
        async def stubborn() -> None:
            while not self.released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.02)

        @self.app.handler("quick")
        def quick() -> str:
            return "done"

        self.thread, self.stubborn, self.quick = thread, stubborn, quick

    @property
    def lost(self) -> list[int]:
        """What the events said."""
        return [event.lost for event in self.events if isinstance(event, ThreadLost)]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """A desk whose handlers are released at the end."""
    made = Desk()
    async with made.app:
        yield made
        made.released.set()


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def timed_out(job: fairlead.Job) -> None:
    with pytest.raises(fairlead.JobFailed, match="TimedOut"):
        await job.wait(10)
    (attempt,) = await job.attempts()
    assert attempt.ending is Ending.TIMED_OUT
    assert attempt.error is not None
    assert attempt.error.failure is FailureClass.TIMEOUT


async def test_a_thread_that_goes_on_keeps_its_slot_until_it_ends(desk: Desk) -> None:
    async with desk.app.worker(concurrency=2) as worker:
        await timed_out(await desk.thread.enqueue())
        assert (worker.slots.capacity, desk.lost) == (1, [1])
        assert await (await desk.quick.enqueue()).wait(10) == "done"
        desk.released.set()
        await until(lambda: worker.slots.capacity == 2)


async def test_a_worker_without_a_free_thread_claims_nothing(desk: Desk) -> None:
    async with desk.app.worker(concurrency=1) as worker:
        await timed_out(await desk.thread.enqueue())
        waiting = await desk.quick.enqueue()
        await asyncio.sleep(0.3)
        assert await waiting.state() is fairlead.State.READY
        desk.released.set()
        assert await waiting.wait(10) == "done"
        assert worker.slots.capacity == 1


async def test_a_coroutine_that_swallows_cancellation_is_left_behind(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "STOP_PATIENCE", 0.2)
    async with desk.app.worker(concurrency=2) as worker:
        await timed_out(await desk.stubborn.enqueue())
        assert (worker.slots.capacity, desk.lost) == (1, [1])
        assert await (await desk.quick.enqueue()).wait(10) == "done"
        desk.released.set()
        await until(lambda: worker.slots.capacity == 2)
        assert not worker.is_worn


async def test_the_figures_tell_of_lost_threads(desk: Desk) -> None:
    async with desk.app.worker(concurrency=4) as worker:
        jobs = [await desk.thread.enqueue() for _ in range(2)]
        for job in jobs:
            await timed_out(job)
        worker._reports.hint()
        store = await desk.app.store()
        async with asyncio.timeout(10):
            while (await store.workers.all())[0].report.get("lost_threads") != 2:
                await asyncio.sleep(0.05)
                worker._reports.hint()
        desk.released.set()


async def test_a_worker_of_a_program_does_not_end_itself(desk: Desk) -> None:
    async with desk.app.worker(concurrency=4) as worker:
        jobs = [await desk.thread.enqueue() for _ in range(4)]
        for job in jobs:
            await timed_out(job)
        await asyncio.sleep(0.3)
        assert (worker.slots.capacity, worker.is_worn) == (0, False)
        desk.released.set()
        assert await (await desk.quick.enqueue()).wait(10) == "done"


async def test_a_thread_that_is_left_at_the_end_of_a_worker_gives_its_job_back(desk: Desk) -> None:
    slow = desk.thread.options(timeout="1h")
    async with desk.app.worker(concurrency=1) as worker:
        job = await slow.enqueue()
        await until(lambda: bool(worker.slots.running))
        worker.stop(0.0)
        await until(lambda: not worker.slots.running)
    assert worker.has_stuck_handlers
    assert await job.state() is fairlead.State.READY
    desk.released.set()
    await until(lambda: not any(thread.is_alive() for thread in worker._threads._threads))
