"""Cancelling running jobs: told at once, given time, and not waited for after that."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable

import pytest

import fairlead
from fairlead.core.jobs.model import Ending, Lease, Quota
from fairlead.errors import ConfigError, IllegalMove
from fairlead.runtime.periodic import Periodic
from fairlead.telemetry.events import CancelAsked, Event, JobEnded
from fairlead.worker import service
from fairlead.worker.service import Worker
from tests.contract.making import same_worker

OFTEN = fairlead.Retry(attempts=5, first="10ms", factor=1.0)


class Desk:
    """An app whose handlers say when they have begun, and heed a cancellation in different ways."""

    def __init__(self, url: str) -> None:
        self.app = fairlead.App(url, poll="50ms", drain="1s")
        self.begun = threading.Semaphore(0)
        self.released = threading.Event()
        self.runs: list[str] = []
        self.tidied: list[str] = []

        @self.app.handler("sleeper", retry=OFTEN)
        async def sleeper(ctx: fairlead.Context) -> None:
            self.begin(ctx)
            try:
                await asyncio.sleep(600)
            finally:
                self.tidied.append(ctx.job_id)

        @self.app.handler("stubborn", retry=OFTEN)
        async def stubborn(ctx: fairlead.Context) -> None:
            self.begin(ctx)
            while not self.released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.02)

        @self.app.handler("thread", retry=OFTEN)
        def thread(ctx: fairlead.Context) -> None:
            self.begin(ctx)
            while not self.released.wait(0.01):
                ctx.raise_if_cancelled()

        @self.app.handler("deaf", retry=OFTEN)
        def deaf(ctx: fairlead.Context) -> None:
            self.begin(ctx)
            self.released.wait(60)

        @self.app.handler("finisher", retry=OFTEN)
        def finisher(ctx: fairlead.Context) -> bool:
            self.begin(ctx)
            self.released.wait(60)
            return ctx.cancelled

        @self.app.handler("failer", retry=OFTEN)
        def failer(ctx: fairlead.Context) -> None:
            self.begin(ctx)
            self.released.wait(60)
            raise ValueError("no luck")

        self.sleeper, self.stubborn, self.thread, self.deaf = sleeper, stubborn, thread, deaf
        self.finisher, self.failer = finisher, failer

    def begin(self, ctx: fairlead.Context) -> None:
        """A handler has begun."""
        self.runs.append(ctx.job_id)
        self.begun.release()

    async def has_begun(self) -> None:
        """Wait for one more handler to begin."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=20)


@pytest.fixture
async def desk(store_url: str) -> AsyncIterator[Desk]:
    """A desk on each store, whose handlers are released at the end."""
    made = Desk(store_url)
    async with made.app:
        yield made
        made.released.set()


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def is_cancelled(desk: Desk, job: fairlead.Job, ending: Ending = Ending.CANCELLED) -> fairlead.JobRecord:
    """The job ends as cancelled after one run, and is not run again."""
    record = await (await desk.app.client()).wait(job.id, 20)
    assert record.state is fairlead.State.CANCELLED
    (attempt,) = await job.attempts()
    assert attempt.ending is ending
    assert desk.runs.count(job.id) == 1
    return record


async def test_a_coroutine_is_cancelled_and_can_tidy_up(desk: Desk) -> None:
    events: list[Event] = []
    desk.app.on_event(events.append)
    async with desk.app.worker():
        job = await desk.sleeper.enqueue()
        await desk.has_begun()
        assert await desk.app.cancel(job.id, reason="not needed", actor="ann") is fairlead.State.RUNNING
        record = await is_cancelled(desk, job)
        assert record.error is not None
        assert record.error.message == "cancelled by ann: not needed"
        assert desk.tidied == [job.id]
    assert [event for event in events if isinstance(event, CancelAsked)] == [
        CancelAsked(job.id, "sleeper", "default", "ann", "not needed", 5.0)
    ]
    assert [event.state for event in events if isinstance(event, JobEnded)] == ["cancelled"]


async def test_a_thread_that_looks_ends_by_itself(desk: Desk) -> None:
    async with desk.app.worker(concurrency=2) as worker:
        job = await desk.thread.enqueue()
        await desk.has_begun()
        await desk.app.cancel(job.id, grace="1h")
        await is_cancelled(desk, job)
        assert worker.slots.capacity == 2


async def test_a_thread_that_does_not_look_is_left_behind_after_the_grace(desk: Desk) -> None:
    async with desk.app.worker(concurrency=2) as worker:
        job = await desk.deaf.enqueue()
        await desk.has_begun()
        await desk.app.cancel(job.id, grace="100ms")
        await is_cancelled(desk, job)
        assert worker.slots.capacity == 1
        desk.released.set()
        await until(lambda: worker.slots.capacity == 2)


async def test_a_coroutine_that_swallows_it_is_left_behind_after_the_grace(desk: Desk) -> None:
    async with desk.app.worker(concurrency=2) as worker:
        job = await desk.stubborn.enqueue()
        await desk.has_begun()
        await desk.app.cancel(job.id, grace="100ms")
        await is_cancelled(desk, job)
        assert worker.slots.capacity == 1
        desk.released.set()
        await until(lambda: worker.slots.capacity == 2)


async def test_asking_again_with_less_grace_shortens_it(desk: Desk) -> None:
    async with desk.app.worker(concurrency=2):
        job = await desk.deaf.enqueue()
        await desk.has_begun()
        assert await desk.app.cancel(job.id, grace="1h") is fairlead.State.RUNNING
        assert await desk.app.cancel(job.id, grace="1h") is fairlead.State.RUNNING
        assert len(await audit_of(desk, job)) == 1, "asking the same again is no news"
        await desk.app.cancel(job.id, grace=0)
        await is_cancelled(desk, job)
        desk.released.set()


async def test_a_result_counts_although_the_handler_was_asked_to_end(desk: Desk) -> None:
    async with desk.app.worker() as worker:
        job = await desk.finisher.enqueue()
        await desk.has_begun()
        await desk.app.cancel(job.id, grace="1h")
        await knows(worker)
        desk.released.set()
        assert await job.wait(20) is True


async def test_a_failure_is_not_retried_when_the_worker_knows(desk: Desk) -> None:
    async with desk.app.worker() as worker:
        job = await desk.failer.enqueue()
        await desk.has_begun()
        await desk.app.cancel(job.id, grace="1h")
        await knows(worker)
        desk.released.set()
        record = await is_cancelled(desk, job, Ending.FAILED)
        assert record.error is not None
        assert record.error.message == "no luck"


async def test_a_failure_is_not_retried_when_the_worker_does_not_know_yet(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint is lost and the next look is far away: the settlement finds out."""
    monkeypatch.setattr(service, "CANCELS_EVERY", 3600.0)
    monkeypatch.setattr(Periodic, "hint", lambda self: None)
    async with desk.app.worker():
        job = await desk.failer.enqueue()
        await desk.has_begun()
        await desk.app.cancel(job.id)
        desk.released.set()
        await is_cancelled(desk, job, Ending.FAILED)


async def test_a_lost_hint_only_costs_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CANCELS_EVERY", 0.05)
    monkeypatch.setattr(Periodic, "hint", lambda self: None)
    async with desk.app.worker():
        job = await desk.sleeper.enqueue()
        await desk.has_begun()
        await desk.app.cancel(job.id)
        await is_cancelled(desk, job)


async def test_a_job_that_a_worker_holds_back_is_cancelled_without_a_run(desk: Desk) -> None:
    """One slot is taken, and the next job is in the worker's hands already."""
    async with desk.app.worker(concurrency=1) as worker:
        await desk.deaf.enqueue()
        await desk.has_begun()
        job = await desk.sleeper.enqueue()
        lease = same_worker(Lease(worker.info.id, ""))
        worker.slots.admit(
            await worker._store.jobs.claim([Quota(job._lane.id, 1)], lease)
        )  # for a slot that is free soon
        assert await desk.app.cancel(job.id) is fairlead.State.RUNNING
        record = await (await desk.app.client()).wait(job.id, 20)
        assert (record.state, desk.runs.count(job.id)) == (fairlead.State.CANCELLED, 0)
        desk.released.set()


async def test_a_stopping_worker_cancels_what_was_to_be_cancelled(desk: Desk) -> None:
    async with desk.app.worker() as worker:
        job = await desk.stubborn.enqueue()
        await desk.has_begun()
        await desk.app.cancel(job.id, grace="1h")
        await knows(worker)
        worker.stop(0.0)
    desk.released.set()
    record = await job.read()
    assert record.state is fairlead.State.CANCELLED


async def test_an_idle_worker_asks_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CANCELS_EVERY", 0.01)
    async with desk.app.worker() as worker:
        store, asked = worker._store, []
        monkeypatch.setattr(store.changes, "cancel_requests", lambda owner: asked.append(owner))
        await asyncio.sleep(0.2)
        assert asked == []


async def test_what_has_ended_cannot_be_cancelled(desk: Desk) -> None:
    desk.released.set()
    async with desk.app.worker():
        done = await desk.finisher.enqueue()
        await done.wait(20)
    with pytest.raises(IllegalMove, match="is succeeded: it has ended"):
        await desk.app.cancel(done.id)
    waiting = await desk.finisher.enqueue()
    assert await desk.app.cancel(waiting.id) is fairlead.State.CANCELLED
    with pytest.raises(IllegalMove, match="nothing left to cancel"):
        await desk.app.cancel(waiting.id)


async def test_a_grace_has_a_bound(desk: Desk) -> None:
    job = await desk.finisher.enqueue()
    with pytest.raises(ConfigError, match="grace"):
        await desk.app.cancel(job.id, grace="2d")


async def audit_of(desk: Desk, job: fairlead.Job) -> list[object]:
    return list(await (await desk.app.store()).audit.read(100, job_id=job.id))


async def knows(worker: Worker) -> None:
    """The worker has heard of it."""
    await until(lambda: any(run.claim.cancel for run in worker.slots.running))
