"""Through PgBouncer in transaction mode: every transaction may have another session of the server."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

import fairlead
from fairlead.errors import StoreRefused
from fairlead.insight.doctor import Level, examine
from fairlead.wiring import make_lease_book, make_store, migrate
from tests.contract.making import claim, done, enqueue_one, new_jobs, new_lease, worker_info
from tests.support import leaks
from tests.support.pooler import Pooler, PoolerMissing
from tests.support.postgres import DatabaseServer

pytestmark = [pytest.mark.faults, pytest.mark.postgres, pytest.mark.timeout(120)]

ENOUGH = 12  # times that a statement runs on each connection; psycopg prepares it after five


@pytest.fixture(scope="module")
def pooler(postgres_server: DatabaseServer, temporary_root: Path) -> Iterator[Pooler]:
    with leaks.kept_for_session(temporary_root):
        try:
            opened = Pooler(postgres_server.url())
        except PoolerMissing as missing:
            pytest.skip(f"NOT TESTED THROUGH PGBOUNCER: {missing}")
        opened.__enter__()
    try:
        yield opened
    finally:
        opened.__exit__(None, None, None)


@pytest.fixture
def pooled_url(pooler: Pooler, postgres_url: str) -> str:
    """The address of a migrated, empty database, through the pooler."""
    return pooler.url(postgres_url)


async def test_the_schema_is_made(pooler: Pooler, postgres_server: DatabaseServer) -> None:
    url = pooler.url(postgres_server.create_database(f"fairlead_pooled_{uuid4().hex}"))
    applied = await asyncio.gather(*(migrate(url) for _ in range(3)))
    assert sorted(map(bool, applied)) == [False, False, True], "one of them has done it all"
    async with fairlead.App(url) as app:
        assert (await app.jobs()).jobs == ()


async def test_the_verbs_of_the_store_are_not_mixed_up(pooled_url: str) -> None:
    stores = [make_store(pooled_url) for _ in range(3)]
    for store in stores:
        await store.open()
    try:
        for _ in range(ENOUGH):
            await asyncio.gather(*(store.jobs.enqueue(new_jobs(3)) for store in stores))
            claims = [(store, await claim(store, new_lease(), 3)) for store in stores]
            settled = await asyncio.gather(
                *(store.jobs.settle([done(item) for item in items]) for store, items in claims)
            )
            assert [len(ids) for ids in settled] == [3, 3, 3]
    finally:
        for store in stores:
            await store.close()


async def test_leases_are_renewed(pooled_url: str) -> None:
    book, store, lease = make_lease_book(pooled_url), make_store(pooled_url), new_lease()
    await store.open()
    try:
        await store.workers.register(worker_info(lease.owner), 30)
        for _ in range(ENOUGH):
            assert await asyncio.to_thread(book.renew, [lease.owner], 30.0) == {lease.owner}
            await enqueue_one(store)
    finally:
        book.close()
        await store.close()


async def test_jobs_run_with_their_limits_transactions_and_schedules(pooled_url: str, postgres_url: str) -> None:
    """Hints come from the server itself: with a poll of a minute, nothing of this would end in time without them."""
    app = fairlead.App(pooled_url, listen_url=postgres_url, poll="60s")

    @app.handler("note", limit=fairlead.Limit("notes", concurrent=2))
    async def note(ctx: fairlead.Context, number: int) -> int:
        async with ctx.transaction() as connection:
            await connection.execute("insert into pooled_note values (%s)", [number])
        found: int = await ctx.once("number", lambda: number)
        return found

    @app.handler("tick")
    async def tick() -> None:
        ticked.set()

    ticked = asyncio.Event()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table pooled_note (number integer)")
    try:
        async with app, app.worker():
            jobs = [await note.enqueue(number=number) for number in range(3 * ENOUGH)]
            assert [await job.wait(60) for job in jobs] == list(range(3 * ENOUGH))
            await app.schedules.add("ticking", "* * * * * *", tick)
            await asyncio.wait_for(ticked.wait(), 60)
        with psycopg.connect(postgres_url) as connection:
            assert connection.execute("select count(*) from pooled_note").fetchone() == (3 * ENOUGH,)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("drop table pooled_note")


async def test_without_an_address_for_hints_jobs_are_found_by_polling(
    pooled_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = fairlead.App(pooled_url, poll="50ms")

    @app.handler("greet")
    async def greet() -> str:
        return "hello"

    with caplog.at_level(logging.WARNING, "fairlead"):
        async with app, app.worker():
            assert await (await greet.enqueue()).wait(30) == "hello"
    assert "set listen_url" in caplog.text


@pytest.mark.parametrize("direct", [False, True])
async def test_the_doctor_says_whether_hints_arrive(pooled_url: str, postgres_url: str, direct: bool) -> None:
    listen_url = postgres_url if direct else None
    found = {item.topic: item for item in await examine(lambda: make_store(pooled_url, listen_url=listen_url), "here")}
    assert found["pooler"].level is (Level.OK if direct else Level.WARNING)
    assert "pooler" not in {item.topic for item in await examine(lambda: make_store(postgres_url), "here")}


async def test_what_a_pooler_does_not_pass_on_is_said(pooled_url: str) -> None:
    with pytest.raises(StoreRefused, match="ALTER ROLE"):
        await make_store(f"{pooled_url}?options=-csearch_path%3Dother").open()


async def test_a_search_path_of_the_user_holds(pooler: Pooler, postgres_server: DatabaseServer) -> None:
    name = f"fairlead_pooled_{uuid4().hex}"
    direct = postgres_server.create_database(name)
    with psycopg.connect(direct, autocommit=True) as connection:
        connection.execute("create schema jobs")
        connection.execute(f"alter database {name} set search_path = jobs")
    url = pooler.url(direct)
    await migrate(url)
    store = make_store(url)
    await store.open()
    await enqueue_one(store)
    await store.close()
    with psycopg.connect(direct) as connection:
        assert connection.execute("select count(*) from jobs.job").fetchone() == (1,)
