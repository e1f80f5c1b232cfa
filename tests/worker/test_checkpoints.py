"""`ctx.checkpoint`, `ctx.resume` and `ctx.step`: what an interrupted job has done is not done again."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel

import fairlead
from fairlead.core.jobs.job_records import JobRecord

TWICE = fairlead.Retry(attempts=2, first="10ms", factor=1.0)
ONCE = fairlead.Retry(attempts=1)


class Place(BaseModel):
    """A state as a model."""

    page: int
    seen: set[str] = set()


@dataclass
class Point:
    """A state as a dataclass."""

    page: int


@pytest.fixture
async def app(store_url: str) -> AsyncIterator[fairlead.App]:
    """An app on each store."""
    made = fairlead.App(store_url, poll="50ms", drain="0s")
    async with made:
        yield made


@pytest.fixture
async def postgres_app(postgres_url: str) -> AsyncIterator[fairlead.App]:
    """An app on PostgreSQL, and a table of the user's."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table moved (item int)")
    try:
        async with fairlead.App(postgres_url, poll="50ms", drain="0s") as made:
            yield made
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("drop table moved")


async def moved(app: fairlead.App) -> list[int]:
    """The items in the user's table."""
    async with await psycopg.AsyncConnection.connect(app.settings.database_url) as connection:
        return [row[0] for row in await (await connection.execute("select item from moved")).fetchall()]


async def record_of(app: fairlead.App, job: fairlead.Job) -> JobRecord:
    """The job as stored."""
    return await app.read(job.id)


@pytest.mark.parametrize(
    ("type_", "state"),
    [
        (Place, Place(page=3, seen={"ä"})),
        (Point, Point(3)),
        (None, {"page": [3, None]}),
        (bytes, b"\x00\xff"),
        (None, 0),
    ],
)
async def test_the_next_run_gets_the_state_as_it_was(app: fairlead.App, type_: Any, state: Any) -> None:
    found: list[Any] = []

    @app.handler("read", retry=TWICE)
    async def read(ctx: fairlead.Context) -> None:
        found.append(await ctx.load_checkpoint(type_))
        if ctx.first_attempt:
            await ctx.checkpoint(state)
            raise ValueError("no")

    async with app.worker():
        await (await read.enqueue()).wait(20)
    assert found == [None, state]


async def test_only_the_newest_state_is_written(app: fairlead.App) -> None:
    @app.handler("read", retry=ONCE)
    async def read(ctx: fairlead.Context) -> None:
        for page in range(500):
            await ctx.checkpoint(page)
        if ctx.claim.payload == "{}":
            raise ValueError("no")

    async with app.worker():
        job = await read.enqueue()
        with pytest.raises(fairlead.JobFailed):
            await job.wait(20)
    kept = await (await app.store()).checkpoints.kept(job.id)
    assert len(kept) <= 2
    found = await (await app.store()).checkpoints.newest(job.id)
    assert found is not None
    assert '"json":499' in found.state


async def test_a_job_that_succeeds_at_once_writes_no_checkpoint(app: fairlead.App) -> None:
    @app.handler("read")
    async def read(ctx: fairlead.Context) -> int:
        await ctx.checkpoint(1)
        return len([row async for row in ctx.resume(range(5))])

    async with app.worker():
        job = await read.enqueue()
        assert await job.wait(20) == 5
    assert await (await app.store()).checkpoints.kept(job.id) == []


async def test_a_checkpoint_is_written_in_the_background(app: fairlead.App) -> None:
    """No call of the handler follows, so that only the worker's writer can have done it."""
    release = asyncio.Event()

    @app.handler("read")
    async def read(ctx: fairlead.Context) -> None:
        await ctx.checkpoint("here")
        await release.wait()

    async with app.worker():
        job = await read.enqueue()
        store = await app.store()
        async with asyncio.timeout(20):
            while not await store.checkpoints.kept(job.id):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        release.set()
        await job.wait(20)


async def test_a_state_of_another_version_is_upgraded_or_refused(app: fairlead.App) -> None:
    found: list[Any] = []

    @app.handler("read", retry=fairlead.Retry(attempts=3, first="10ms", factor=1.0))
    async def read(ctx: fairlead.Context) -> None:
        if ctx.first_attempt:
            await ctx.checkpoint({"page": 3}, version=1, now=True)
            raise ValueError("no")
        try:
            await ctx.load_checkpoint(Place, version=2)
        except fairlead.ConfigError as error:
            found.append(str(error))
        found.append(await ctx.load_checkpoint(version=2, upgrade=lambda state, version: (state, version)))

    async with app.worker():
        await (await read.enqueue()).wait(20)
    assert "has version 1, and this code reads version 2" in found[0]
    assert found[1] == ({"page": 3}, 1)


async def test_a_checkpoint_that_is_too_large_is_refused_with_its_size(app: fairlead.App) -> None:
    @app.handler("read", retry=ONCE)
    async def read(ctx: fairlead.Context, size: int) -> None:
        await ctx.checkpoint("x" * size)

    async with app.worker():
        await (await read.enqueue(60_000)).wait(20)
        with pytest.raises(fairlead.JobFailed, match=r"the checkpoint has 70,0\d\d bytes and at most 65,536 are kept"):
            await (await read.enqueue(70_000)).wait(20)


async def test_a_stop_saves_what_was_done_and_burns_no_attempt(app: fairlead.App) -> None:
    done: list[int] = []
    reached, release = asyncio.Event(), asyncio.Event()

    @app.handler("read")
    async def read(ctx: fairlead.Context) -> int:
        async for row in ctx.resume(range(10), every="1h"):
            if row == 6 and not release.is_set():
                reached.set()
                await release.wait()
            done.append(row)
        return ctx.attempt

    async with app.worker():
        job = await read.enqueue()
        await reached.wait()
    record = await record_of(app, job)
    assert (record.state, record.attempt) == (fairlead.State.READY, 0)
    release.set()
    async with app.worker():
        assert await job.wait(20) == 1
    assert done == list(range(10))
    last = (await (await app.store()).checkpoints.last([job.id]))[job.id]
    assert last.resumptions == 1


async def test_a_stop_saves_what_a_thread_has_done(app: fairlead.App) -> None:
    done: list[int] = []
    reached, release, over = threading.Event(), threading.Event(), threading.Event()

    @app.handler("read")
    def read(ctx: fairlead.Context) -> int:
        try:
            for row in ctx.blocking.resume(range(10), every="1h"):
                if row == 6 and not release.is_set():
                    reached.set()
                    release.wait()
                done.append(row)
        except fairlead.LeaseLost:
            over.set()
            raise
        return ctx.attempt

    async with app.worker():
        job = await read.enqueue()
        await asyncio.to_thread(reached.wait)
    release.set()
    assert await asyncio.to_thread(over.wait, 20), "a thread whose run is over ends with its row"
    async with app.worker():
        assert await job.wait(20) == 1
    assert done == [*range(7), *range(6, 10)]


async def test_two_stops_without_progress_are_a_failure(app: fairlead.App) -> None:
    begun = asyncio.Queue[int]()

    @app.handler("stuck", retry=ONCE, policies={"crash": ONCE})
    async def stuck(ctx: fairlead.Context) -> None:
        if ctx.first_attempt:
            await ctx.checkpoint("here")
        await ctx.load_checkpoint()
        begun.put_nowait(ctx.fence)
        await asyncio.Event().wait()

    job = await stuck.enqueue()
    for _ in range(2):
        async with app.worker():
            await begun.get()
        if (await record_of(app, job)).state is fairlead.State.DEAD:
            break
    record = await record_of(app, job)
    assert record.state is fairlead.State.DEAD
    assert record.error is not None
    assert record.error.type == "NoProgress"


@pytest.mark.parametrize("key", [None, lambda row: row, lambda row: (row // 2, str(row))])
async def test_a_loop_goes_on_after_the_last_row_that_was_done(app: fairlead.App, key: Any) -> None:
    done: list[int] = []

    async def rows() -> AsyncIterator[int]:
        for row in range(8):
            yield row

    @app.handler("read", retry=TWICE)
    async def read(ctx: fairlead.Context) -> None:
        async for row in ctx.resume(rows(), key=key):
            if row == 5 and ctx.first_attempt:
                raise ValueError("no")
            done.append(row)
        async for row in ctx.resume([8, 9], name="more"):
            done.append(row)

    async with app.worker():
        await (await read.enqueue()).wait(20)
    assert done == list(range(10))


async def test_with_a_key_rows_may_come_and_go(app: fairlead.App) -> None:
    done: list[int] = []
    rows = [10, 20, 30, 40]

    @app.handler("read", retry=TWICE)
    async def read(ctx: fairlead.Context) -> None:
        async for row in ctx.resume(rows, key=lambda row: row):
            if row == 30 and ctx.first_attempt:
                rows[:2] = [5]
                raise ValueError("no")
            done.append(row)

    async with app.worker():
        await (await read.enqueue()).wait(20)
    assert done == [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("rows", "key", "error"),
    [
        ([2, 1], lambda row: row, "must rise from row to row, and 1 comes after 2"),
        ([1, 1], lambda row: row, "must rise"),
        ([1, "a"], lambda row: row, "cannot be compared"),
        ([1], lambda row: {}, "must be a number, text, or a tuple"),
    ],
)
async def test_keys_that_give_no_order_are_refused(app: fairlead.App, rows: list[Any], key: Any, error: str) -> None:
    @app.handler("read", retry=ONCE)
    async def read(ctx: fairlead.Context) -> None:
        async for _ in ctx.resume(rows, key=key):
            pass

    async with app.worker():
        with pytest.raises(fairlead.JobFailed, match=error):
            await (await read.enqueue()).wait(20)


async def test_steps_that_are_done_are_passed_over(app: fairlead.App) -> None:
    done: list[str] = []

    @app.handler("film", retry=TWICE)
    async def film(ctx: fairlead.Context) -> None:
        if await ctx.step("fetch"):
            done.append("fetch")
        if await ctx.step("convert"):
            async for row in ctx.resume(range(4)):
                if row == 2 and ctx.first_attempt:
                    raise ValueError("no")
                done.append(f"convert {row}")
        if await ctx.step("publish"):
            done.append("publish")

    async with app.worker():
        job = await film.enqueue()
        await job.wait(20)
    assert done == ["fetch", *(f"convert {row}" for row in range(4)), "publish"]
    names = [item.name for item in await (await app.store()).checkpoints.kept(job.id)]
    assert names == ["step publish", "convert", "step convert"]


async def test_steps_are_passed_over_in_a_thread(app: fairlead.App) -> None:
    done: list[str] = []

    @app.handler("film", retry=TWICE)
    def film(ctx: fairlead.Context) -> Any:
        steps = ctx.blocking
        if steps.step("fetch"):
            done.append("fetch")
            steps.checkpoint(Point(1))
        if steps.step("convert"):
            done.append("convert")
            if ctx.first_attempt:
                raise ValueError("no")
        return steps.load_checkpoint(Point).page

    async with app.worker():
        assert await (await film.enqueue()).wait(20) == 1
    assert done == ["fetch", "convert", "convert"]


async def test_steps_in_another_order_are_an_error_that_names_both(app: fairlead.App) -> None:
    @app.handler("film", retry=TWICE)
    async def film(ctx: fairlead.Context) -> None:
        for name in ("fetch", "convert", "publish") if ctx.first_attempt else ("fetch", "check", "convert"):
            await ctx.step(name)
        raise ValueError("no")

    async with app.worker():
        with pytest.raises(fairlead.JobFailed, match=r"were fetch, convert, publish when .* and are fetch, check now"):
            await (await film.enqueue()).wait(20)


@pytest.mark.parametrize("named", ["step", "loop"])
async def test_a_name_is_used_once_in_a_run(app: fairlead.App, named: str) -> None:
    @app.handler("film", retry=ONCE)
    async def film(ctx: fairlead.Context) -> None:
        for _ in range(2):
            if named == "step":
                await ctx.step("fetch")
            else:
                [row async for row in ctx.resume([1], name="fetch")]

    async with app.worker():
        with pytest.raises(fairlead.JobFailed, match="of its own"):
            await (await film.enqueue()).wait(20)


@pytest.mark.postgres
async def test_a_block_with_a_checkpoint_is_committed_at_its_end(postgres_app: fairlead.App) -> None:
    app, seen = postgres_app, []

    @app.handler("move", retry=fairlead.Retry(attempts=3, first="10ms", factor=1.0))
    async def move(ctx: fairlead.Context) -> None:
        async for item in ctx.resume(range(6), every="1h"):
            async with ctx.transaction() as connection:
                await connection.execute("insert into moved values (%s)", [item])
                await ctx.checkpoint()
                if item == 3 and ctx.first_attempt:
                    raise ValueError("the row and its checkpoint are rolled back")
            seen.append(await moved(app))
            if item == 4 and ctx.fence == 2:
                raise ValueError("the row and its checkpoint stay")

    async with app.worker():
        job = await move.enqueue()
        await job.wait(20)
    assert await moved(app) == list(range(6))
    assert seen == [list(range(count + 1)) for count in range(6)]


@pytest.mark.postgres
def test_a_block_with_a_checkpoint_is_committed_in_a_thread(postgres_url: str) -> None:
    asyncio.run(_in_a_thread(postgres_url))


async def _in_a_thread(url: str) -> None:
    async with fairlead.App(url, poll="50ms") as app:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("create table moved (item int)")
        try:

            @app.handler("move", retry=fairlead.Retry(attempts=3, first="10ms", factor=1.0))
            def move(ctx: fairlead.Context) -> None:
                for item in ctx.blocking.resume(range(6)):
                    with ctx.blocking.transaction() as connection:
                        connection.execute("insert into moved values (%s)", [item])
                        ctx.blocking.checkpoint()
                        if item == 3 and ctx.first_attempt:
                            raise ValueError("rolled back")
                    if item == 4 and ctx.fence == 2:
                        raise ValueError("kept")

            async with app.worker():
                await (await move.enqueue()).wait(20)
            assert await moved(app) == list(range(6))
        finally:
            async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
                await connection.execute("drop table moved")


@pytest.mark.postgres
async def test_beside_an_open_transaction_nothing_is_saved(postgres_app: fairlead.App) -> None:
    app = postgres_app

    @app.handler("move", retry=ONCE)
    async def move(ctx: fairlead.Context) -> None:
        await ctx.checkpoint("before")
        async with ctx.transaction() as connection:
            await connection.execute("insert into moved values (1)")
        [item async for item in ctx.resume(range(3), every=0)]
        await ctx.checkpoint("after")

    async with app.worker():
        job = await move.enqueue()
        with pytest.raises(fairlead.JobFailed, match="inside the block"):
            await job.wait(20)
    assert await moved(app) == []
    found = await (await app.store()).checkpoints.newest(job.id)
    assert found is None or ('"before"' in found.state and '"rows"' not in found.state)
