"""`ctx.progress`: cheap to call, written now and then for all runs at once, never for a run that is over."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

import fairlead
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Claim, Lane, Lease, Priority
from fairlead.core.jobs.progress import ProgressReport, RunReport
from fairlead.core.jobs.states import State
from fairlead.errors import LeaseLost, StoreUnavailable
from fairlead.handlers.context import Context
from fairlead.testing import drain
from fairlead.worker.progress import ProgressBook
from tests.support.doubles import store_of
from tests.worker.support import until

ONCE = fairlead.Retry(attempts=1)
TWICE = fairlead.Retry(attempts=2, first="10ms", factor=1.0)
LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)


def claimed(job_id: str = "a", fence: int = 1) -> Claim:
    return Claim(job_id, LANE, "{}", 1, 0, fence, 0.0, 0.0, None, None, None, Lease("owner", "token"))


class Slow:
    """A store that takes reports when it is told to."""

    def __init__(self) -> None:
        self.heard: list[list[tuple[str, float]]] = []
        self.may = asyncio.Event()
        self.may.set()
        self.away = False

    async def report_progress(self, reports: Sequence[RunReport]) -> set[str]:
        await self.may.wait()
        if self.away:
            raise StoreUnavailable("away")
        self.heard.append([(told.id, told.done) for told in reports])
        return {told.id for told in reports}


def booked() -> tuple[ProgressBook, Slow]:
    store = Slow()
    return ProgressBook(store_of(run_state=store)), store


@pytest.fixture
async def app(store_url: str) -> AsyncIterator[fairlead.App]:
    """An app on each store."""
    made = fairlead.App(store_url, poll="50ms", drain="1s")
    async with made:
        yield made


async def seen(job: fairlead.Job) -> JobRecord:
    """The job once it shows progress."""
    while True:
        record = await job.read()
        if record.progress is not None:
            return record
        await asyncio.sleep(0.01)


async def test_progress_is_seen_while_the_job_runs_and_the_last_word_is_kept(app: fairlead.App) -> None:
    go_on = asyncio.Event()

    @app.handler("parse")
    async def parse(ctx: fairlead.Context) -> None:
        await ctx.progress(3, 12, "page <3>")
        await go_on.wait()
        await ctx.progress(12, 12, "all pages")

    async with app.worker():
        job = await parse.enqueue()
        async with asyncio.timeout(60):
            record = await seen(job)
        assert record.state is State.RUNNING
        assert record.progress
        assert (record.progress.fraction, record.progress.message) == (0.25, "page <3>")
        go_on.set()
        await job.wait(60)
        progress = (await job.read()).progress
        assert progress
        assert (progress.fraction, progress.message) == (1.0, "all pages")


async def test_a_handler_in_a_thread_reports_too(app: fairlead.App) -> None:
    go_on = threading.Event()

    @app.handler("parse")
    def parse(ctx: fairlead.Context) -> None:
        for page in range(10_000):
            ctx.blocking.progress(page / 10_000)
        go_on.wait(60)

    async with app.worker():
        job = await parse.enqueue()
        async with asyncio.timeout(60):
            await seen(job)
        go_on.set()
        await job.wait(60)
        progress = (await job.read()).progress
        assert progress
        assert progress.done == 0.9999


async def test_a_failed_run_keeps_its_progress_and_the_next_begins_anew(app: fairlead.App) -> None:
    @app.handler("parse", retry=TWICE)
    async def parse(ctx: fairlead.Context) -> None:
        if ctx.first_attempt:
            await ctx.progress(0.7)
            raise ValueError("no")

    @app.handler("fail", retry=ONCE)
    async def fail(ctx: fairlead.Context) -> None:
        await ctx.progress(0.7)
        raise ValueError("no")

    async with app.worker():
        again, dead = await parse.enqueue(), await fail.enqueue()
        await again.wait(60)
        with pytest.raises(fairlead.JobFailed):
            await dead.wait(60)
        assert (await again.read()).progress is None
        progress = (await dead.read()).progress
        assert progress
        assert progress.done == 0.7


async def test_jobs_that_report_nothing_cost_nothing(app: fairlead.App, monkeypatch: pytest.MonkeyPatch) -> None:
    @app.handler("quiet")
    async def quiet(ctx: fairlead.Context) -> None: ...

    store = await app.store()
    asked: list[Any] = []
    monkeypatch.setattr(store.run_state, "report_progress", asked.append)
    async with app.worker():
        await (await quiet.enqueue()).wait(60)
    assert asked == []


async def test_progress_in_a_drained_app_and_in_a_context_of_a_test(app: fairlead.App) -> None:
    @app.handler("parse")
    async def parse(ctx: fairlead.Context) -> None:
        await ctx.progress(0.3)

    job = await parse.enqueue()
    assert await drain(app) == 1
    progress = (await job.read()).progress
    assert progress
    assert progress.done == 0.3
    await Context(claimed()).progress(0.5)


async def test_a_run_that_is_over_is_told_so() -> None:
    context = Context(claimed())
    context.end()
    with pytest.raises(LeaseLost, match="is over"):
        await context.progress(0.5)


async def test_many_reports_of_many_runs_are_one_write() -> None:
    book, store = booked()
    for number in range(100):
        book.report(claimed("a"), ProgressReport(number / 100))
        book.report(claimed("b"), ProgressReport(number / 200))
    sending = asyncio.create_task(book.repeated.run())
    await until(lambda: bool(store.heard), "the write")
    sending.cancel()
    assert store.heard == [[("a", 0.99), ("b", 0.495)]]


async def test_the_last_word_of_a_run_comes_after_what_is_on_its_way_and_of_no_other_run() -> None:
    book, store = booked()
    store.may.clear()
    book.report(claimed("a"), ProgressReport(0.1))
    sending = asyncio.create_task(book.repeated.run())
    await until(lambda: bool(book._sending), "the first write")
    book.report(claimed("a"), ProgressReport(0.2))
    book.report(claimed("b"), ProgressReport(0.3))
    ending = asyncio.create_task(book.last_words([("a", 1)]))
    store.may.set()
    await ending
    sending.cancel()
    assert store.heard == [[("a", 0.1)], [("a", 0.2)]]
    assert book.is_busy


async def test_what_the_store_did_not_take_is_told_again_unless_there_is_newer() -> None:
    book, store = booked()
    store.away = True
    book.report(claimed("a"), ProgressReport(0.1))
    book.report(claimed("b"), ProgressReport(0.1))
    await book._send([("a", 1), ("b", 1)])
    book.report(claimed("b"), ProgressReport(0.2))
    store.away = False
    sending = asyncio.create_task(book.repeated.run())
    await until(lambda: bool(store.heard), "the write")
    sending.cancel()
    assert sorted(store.heard[0]) == [("a", 0.1), ("b", 0.2)]


async def test_a_store_that_is_away_does_not_keep_runs_from_ending() -> None:
    book, store = booked()
    store.away = True
    book.report(claimed("a"), ProgressReport(0.1))
    await book.last_words([("a", 1)])
    assert not book.is_busy


async def test_waits_of_started_jobs_are_counted_by_pool(app: fairlead.App) -> None:
    @app.handler("mail")
    async def mail() -> None: ...

    async with app.worker():
        await asyncio.gather(*[job.wait(60) for job in [await mail.enqueue() for _ in range(5)]])
    counts = await (await app.store()).shares.wait_counts(600)
    assert {count.pool for count in counts} == {"short"}
    assert sum(count.starts for count in counts) == 5
