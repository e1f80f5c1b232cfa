"""Schemas: made once, by however many at once, and checked when a store is opened."""

import asyncio
from pathlib import Path
from uuid import uuid4

import apsw
import psycopg
import pytest

from fairlead import wiring
from fairlead.errors import SchemaMismatch, StoreError
from tests.contract.making import claim, enqueue_one, new_lease, state_of
from tests.contract.world import World
from tests.support.migrations import ALL
from tests.support.postgres import DatabaseServer


@pytest.fixture(params=["sqlite-file", pytest.param("postgres", marks=pytest.mark.postgres)])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables."""
    if request.param == "sqlite-file":
        return f"sqlite:///{tmp_path / 'bare.db'}"
    server: DatabaseServer = request.getfixturevalue("postgres_server")
    return server.create_database(f"fairlead_bare_{uuid4().hex}")


def run_statement(url: str, statement: str) -> None:
    """Change a database behind the store's back."""
    if url.startswith("postgres"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode())
    else:
        file = apsw.Connection(url.removeprefix("sqlite:///"))
        file.execute(statement)
        file.close()


async def open_and_close(url: str) -> None:
    """What every process does first."""
    store = wiring.make_store(url)
    try:
        await store.open()
    finally:
        await store.close()


async def test_migrating_twice_does_nothing_the_second_time(bare_url: str) -> None:
    assert await wiring.migrate(bare_url) == ALL
    assert await wiring.migrate(bare_url) == []
    await open_and_close(bare_url)


async def test_of_many_that_migrate_at_once_one_does_it(bare_url: str) -> None:
    applied = await asyncio.gather(*(wiring.migrate(bare_url) for _ in range(4)))
    assert sorted(applied) == [[], [], [], ALL]
    await open_and_close(bare_url)


async def test_a_database_without_tables_is_refused_with_advice(bare_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="fairlead migrate"):
        await open_and_close(bare_url)


async def test_an_older_schema_is_refused_with_advice(bare_url: str) -> None:
    await wiring.migrate(bare_url)
    run_statement(bare_url, "update schema_version set version = 0")
    with pytest.raises(SchemaMismatch, match=r"schema 0 but this version of Fairlead needs .*fairlead migrate"):
        await open_and_close(bare_url)


async def test_a_newer_schema_is_refused_with_advice(bare_url: str) -> None:
    await wiring.migrate(bare_url)
    run_statement(bare_url, "update schema_version set version = 999 where version = 1")
    with pytest.raises(SchemaMismatch, match=r"schema 999.*upgrade Fairlead"):
        await open_and_close(bare_url)


async def test_a_newer_schema_is_not_migrated(bare_url: str) -> None:
    await wiring.migrate(bare_url)
    run_statement(bare_url, "update schema_version set version = 999 where version = 1")
    with pytest.raises(SchemaMismatch, match="upgrade Fairlead"):
        await wiring.migrate(bare_url)


async def test_tables_without_a_version_are_refused(bare_url: str) -> None:

    await wiring.migrate(bare_url)
    run_statement(bare_url, "delete from schema_version")
    with pytest.raises(SchemaMismatch, match="fairlead migrate"):
        await open_and_close(bare_url)


async def test_a_table_that_is_missing_is_a_schema_mismatch(bare_url: str) -> None:
    await wiring.migrate(bare_url)
    run_statement(bare_url, "drop table worker")
    store = wiring.make_store(bare_url)
    await store.open()
    try:
        with pytest.raises(SchemaMismatch, match="fairlead migrate"):
            await store.workers.all()
    finally:
        await store.close()


async def test_a_store_can_be_closed_and_opened_again(shared_world: World) -> None:
    store = shared_world.store
    job = await enqueue_one(store)
    for _ in range(2):
        await store.close()
        await store.open()
    assert await state_of(store, job.id) is not None
    assert len(await claim(store, new_lease())) == 1


async def test_a_store_can_be_closed_twice_and_before_it_was_opened(world: World) -> None:
    store = wiring.make_store(world.url, world.clock)
    await store.close()
    await store.open()
    await store.close()
    await store.close()


async def test_a_closed_store_says_so(world: World) -> None:
    store = wiring.make_store(world.url, world.clock)
    await store.open()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.reader.count_jobs()


async def test_jobs_outlive_the_store(shared_world: World) -> None:
    other = await shared_world.another_store()
    job = await enqueue_one(other)
    await other.close()
    assert await state_of(shared_world.store, job.id) is not None
