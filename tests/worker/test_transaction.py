"""`ctx.transaction`: the handler's own writes and its job's success are committed together, or not at all."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

import fairlead
from fairlead.core.jobs.model import Ending, Quota
from fairlead.stores.postgres import transactions
from tests.contract.making import ended, failed, new_lease

ONCE = fairlead.Retry(attempts=1)
postgres = pytest.mark.postgres


@pytest.fixture
async def app(postgres_url: str) -> AsyncIterator[fairlead.App]:
    """An app on PostgreSQL, and a table of the user's in the same database."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table booking (job uuid, fence bigint, note text)")
    try:
        async with fairlead.App(postgres_url, poll="50ms", drain="1s") as made:
            yield made
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("drop table booking")


async def bookings(app: fairlead.App) -> list[tuple[str, int]]:
    """What the user's table has."""
    async with await psycopg.AsyncConnection.connect(app.settings.database_url) as connection:
        cursor = await connection.execute("select job::text, fence from booking order by fence")
        return await cursor.fetchall()


async def book(connection: Any, ctx: fairlead.Context) -> None:
    await connection.execute("insert into booking (job, fence) values (%s, %s)", [ctx.job_id, ctx.fence])


@postgres
async def test_writes_and_success_are_committed_together(app: fairlead.App) -> None:
    seen: dict[str, list[tuple[str, int]]] = {}

    @app.handler("book")
    async def handle(ctx: fairlead.Context) -> str:
        async with ctx.transaction() as connection:
            connection.row_factory = dict_row
            await book(connection, ctx)
        seen[ctx.job_id] = await bookings(app)
        return "booked"

    async with app.worker():
        jobs = [await handle.enqueue() for _ in range(3)]
        assert [await job.wait(20) for job in jobs] == ["booked"] * 3
    assert all((job.id, 1) not in seen[job.id] for job in jobs), "nothing of a run is visible before it has ended"
    assert sorted(await bookings(app)) == sorted((job.id, 1) for job in jobs)
    assert [attempt for job in jobs for attempt in await job.attempts()] == []


@postgres
async def test_a_handler_may_return_inside_the_block(app: fairlead.App) -> None:
    @app.handler("book")
    async def handle(ctx: fairlead.Context) -> int:
        async with ctx.transaction() as connection:
            await book(connection, ctx)
            return 7

    async with app.worker() as worker:
        job = await handle.enqueue()
        assert await job.wait(20) == 7
        assert await bookings(app) == [(job.id, 1)]
        assert worker._settler.counts[fairlead.State.SUCCEEDED] == 1


@postgres
async def test_its_writes_are_kept_although_its_result_is_too_large(app: fairlead.App) -> None:
    @app.handler("book")
    async def handle(ctx: fairlead.Context) -> str:
        async with ctx.transaction() as connection:
            await book(connection, ctx)
        return "x" * 100_000

    async with app.worker():
        job = await handle.enqueue()
        with pytest.raises(fairlead.ResultDropped, match="100,002 bytes"):
            await job.wait(20)
    assert await bookings(app) == [(job.id, 1)]


@postgres
async def test_a_thread_has_one_too(app: fairlead.App) -> None:
    @app.handler("book")
    def handle(ctx: fairlead.Context) -> str:
        with ctx.blocking.transaction() as connection:
            connection.execute("insert into booking (job, fence) values (%s, %s)", [ctx.job_id, ctx.fence])
        return "booked"

    async with app.worker():
        job = await handle.enqueue()
        assert await job.wait(20) == "booked"
    assert await bookings(app) == [(job.id, 1)]


@postgres
@pytest.mark.parametrize("inside", [True, False])
async def test_nothing_is_kept_of_a_run_that_fails(app: fairlead.App, inside: bool) -> None:
    @app.handler("book", retry=fairlead.Retry(attempts=2, first="10ms", factor=1.0))
    async def handle(ctx: fairlead.Context) -> None:
        async with ctx.transaction() as connection:
            await book(connection, ctx)
            if ctx.first_attempt and inside:
                raise ValueError("no")
        if ctx.first_attempt:
            raise ValueError("no")

    @app.handler("book_in_thread", retry=fairlead.Retry(attempts=2, first="10ms", factor=1.0))
    def handle_in_thread(ctx: fairlead.Context) -> None:
        with ctx.blocking.transaction() as connection:
            connection.execute("insert into booking (job, fence) values (%s, %s)", [ctx.job_id, ctx.fence])
            if ctx.first_attempt and inside:
                raise ValueError("no")
        if ctx.first_attempt:
            raise ValueError("no")

    async with app.worker():
        jobs = [await handle.enqueue(), await handle_in_thread.enqueue()]
        for job in jobs:
            await job.wait(20)
    assert sorted(await bookings(app)) == sorted((job.id, 2) for job in jobs)


@postgres
async def test_a_run_that_lost_its_job_keeps_nothing_and_is_told(app: fairlead.App) -> None:
    told: list[str] = []

    @app.handler("book", retry=ONCE)
    async def handle(ctx: fairlead.Context) -> None:
        try:
            async with ctx.transaction() as connection:
                await book(connection, ctx)
                await (await app.store()).jobs.settle([failed(ctx.claim, permanent=True)])
        except fairlead.LeaseLost as error:
            told.append(str(error))
            raise

    @app.handler("book_in_thread", retry=ONCE)
    def handle_in_thread(ctx: fairlead.Context) -> None:
        try:
            with ctx.blocking.transaction() as connection:
                connection.execute("insert into booking (job, fence) values (%s, %s)", [ctx.job_id, ctx.fence])
                app.sync(settle(ctx))
        except fairlead.LeaseLost as error:
            told.append(str(error))
            raise

    async def settle(ctx: fairlead.Context) -> None:
        await (await app.store()).jobs.settle([failed(ctx.claim, permanent=True)])

    async with app.worker() as worker:
        for handler in (handle, handle_in_thread):
            with pytest.raises(fairlead.JobFailed, match="no such address"):
                await (await handler.enqueue()).wait(20)
        await until(lambda: worker._settler.refused == 2)
    assert await bookings(app) == []
    assert all("not this run's any more" in text for text in told)
    assert len(told) == 2


@postgres
async def test_a_job_that_is_lost_after_the_block_takes_the_writes_along(app: fairlead.App) -> None:
    @app.handler("book", retry=ONCE)
    async def handle(ctx: fairlead.Context) -> None:
        async with ctx.transaction() as connection:
            await book(connection, ctx)
        await (await app.store()).jobs.settle([failed(ctx.claim, permanent=True)])

    async with app.worker() as worker:
        job = await handle.enqueue()
        with pytest.raises(fairlead.JobFailed):
            await job.wait(20)
        await until(lambda: worker._settler.refused == 1)
    assert await bookings(app) == []


@postgres
async def test_jobs_enqueued_in_it_appear_with_its_success(app: fairlead.App) -> None:
    @app.handler("child")
    async def child() -> str:
        return "grown"

    @app.handler("parent")
    async def parent(ctx: fairlead.Context) -> str:
        async with ctx.transaction() as connection:
            return (await child.options(connection=connection).enqueue()).id

    async with app.worker():
        job = await parent.enqueue()
        child_id = await job.wait(20)
        record = await (await app.client()).wait(child_id, 20)
        assert record.state is fairlead.State.SUCCEEDED


@postgres
async def test_a_failed_statement_that_was_swallowed_fails_the_run_clearly(app: fairlead.App) -> None:
    @app.handler("book", retry=ONCE)
    async def handle(ctx: fairlead.Context) -> None:
        async with ctx.transaction() as connection:
            await book(connection, ctx)
            with pytest.raises(psycopg.Error):
                await connection.execute("select 1 / 0")

    async with app.worker():
        with pytest.raises(fairlead.JobFailed, match="PostgreSQL keeps nothing of it"):
            await (await handle.enqueue()).wait(20)
    assert await bookings(app) == []


@postgres
async def test_the_handler_cannot_commit_by_itself(app: fairlead.App) -> None:
    @app.handler("book", retry=ONCE)
    async def handle(ctx: fairlead.Context) -> None:
        async with ctx.transaction() as connection:
            await book(connection, ctx)
            await connection.commit()

    async with app.worker():
        with pytest.raises(fairlead.JobFailed, match="commit"):
            await (await handle.enqueue()).wait(20)
    assert await bookings(app) == []


@postgres
async def test_a_run_has_one_transaction(app: fairlead.App) -> None:
    @app.handler("book", retry=ONCE)
    async def handle(ctx: fairlead.Context) -> None:
        async with ctx.transaction():
            pass
        async with ctx.transaction():
            pass

    @app.handler("book_in_thread", retry=ONCE)
    def handle_in_thread(ctx: fairlead.Context) -> None:
        with ctx.blocking.transaction():
            pass
        with ctx.blocking.transaction():
            pass

    async with app.worker():
        for handler in (handle, handle_in_thread):
            with pytest.raises(fairlead.JobFailed, match="has its transaction already"):
                await (await handler.enqueue()).wait(20)


@postgres
async def test_a_transaction_that_failed_can_be_given_up_for_a_result(app: fairlead.App) -> None:
    @app.handler("book", retry=ONCE)
    async def handle(ctx: fairlead.Context) -> str:
        try:
            async with ctx.transaction() as connection:
                await book(connection, ctx)
                raise KeyError("sold out")
        except KeyError:
            return "sold out"

    async with app.worker():
        assert await (await handle.enqueue()).wait(20) == "sold out"
    assert await bookings(app) == []


@postgres
async def test_a_cancelled_run_keeps_nothing(app: fairlead.App) -> None:
    begun, released = threading.Semaphore(0), threading.Event()

    @app.handler("book")
    async def handle(ctx: fairlead.Context) -> None:
        async with ctx.transaction() as connection:
            await book(connection, ctx)
            begun.release()
            await asyncio.sleep(600)

    @app.handler("book_in_thread")
    def handle_in_thread(ctx: fairlead.Context) -> None:
        with ctx.blocking.transaction() as connection:
            connection.execute("insert into booking (job, fence) values (%s, %s)", [ctx.job_id, ctx.fence])
            begun.release()
            released.wait(60)

    async with app.worker(concurrency=2) as worker:
        for handler in (handle, handle_in_thread):
            job = await handler.enqueue()
            assert await asyncio.to_thread(begun.acquire, timeout=20)
            await app.cancel(job.id, grace="100ms")
            record = await (await app.client()).wait(job.id, 20)
            assert record.state is fairlead.State.CANCELLED
        released.set()
        await until(lambda: worker.slots.capacity == 2)
    assert await bookings(app) == []


@postgres
async def test_more_transactions_than_connections_wait_for_each_other(app: fairlead.App) -> None:
    @app.handler("book")
    async def handle(ctx: fairlead.Context) -> None:
        async with ctx.transaction() as connection:
            await book(connection, ctx)
            await asyncio.sleep(0.01)

    @app.handler("book_in_thread")
    def handle_in_thread(ctx: fairlead.Context) -> None:
        with ctx.blocking.transaction() as connection:
            connection.execute("insert into booking (job, fence) values (%s, %s)", [ctx.job_id, ctx.fence])

    async with app.worker():
        handlers = (handle, handle_in_thread)
        jobs = [await handler.enqueue() for handler in handlers for _ in range(transactions.MOST * 3)]
        for job in jobs:
            await job.wait(20)
    assert len(await bookings(app)) == len(jobs)


@postgres
async def test_the_store_settles_in_it_and_commits_or_neither(app: fairlead.App) -> None:
    """The verb itself: the hold decides, whoever asks."""

    @app.handler("book")
    async def handle(ctx: fairlead.Context) -> None: ...

    job = await handle.enqueue()
    store = await app.store()
    (claim,) = await store.jobs.claim([Quota(job._lane.id, 1)], new_lease())
    context = fairlead.Context(claim)
    stale = claim._replace(fence=claim.fence + 1)
    blocking = await asyncio.to_thread(store.jobs.begin_blocking)
    for opened in (await store.jobs.begin(), blocking):
        assert await opened.holds(claim.id, claim.hold)
        assert not await opened.holds(claim.id, stale.hold)
        await opened.abandon()
    assert not await asyncio.to_thread(blocking.release, keep=True), "the run was ended meanwhile"
    opened = await store.jobs.begin()
    await book(opened.connection, context)
    assert not await opened.settle(ended(stale, Ending.SUCCEEDED))
    assert await bookings(app) == []
    opened = await store.jobs.begin()
    await book(opened.connection, context)
    assert await opened.settle(ended(claim, Ending.SUCCEEDED))
    assert await bookings(app) == [(job.id, 1)]
    assert await job.state() is fairlead.State.SUCCEEDED


@pytest.mark.parametrize("url", ["sqlite:///:memory:", "file"])
async def test_sqlite_says_why_it_cannot(url: str, sqlite_url: str) -> None:
    app = fairlead.App(sqlite_url if url == "file" else url, poll="50ms")

    @app.handler("book", retry=ONCE)
    async def handle(ctx: fairlead.Context) -> None:
        async with ctx.transaction():
            pass

    @app.handler("book_in_thread", retry=ONCE)
    def handle_in_thread(ctx: fairlead.Context) -> None:
        with ctx.blocking.transaction():
            pass

    async with app, app.worker():
        for handler in (handle, handle_in_thread):
            with pytest.raises(fairlead.JobFailed, match="needs PostgreSQL: SQLite lets one transaction write"):
                await (await handler.enqueue()).wait(20)


async def until(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
