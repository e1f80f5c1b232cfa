"""Statistics that mislead: nobody's ANALYZE may turn a look into an index into a walk through all jobs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from fairlead.records.store import Store
from fairlead.stores.sqlite.database import DatabaseFile
from fairlead.stores.sqlite.statistics import TABLES
from fairlead.stores.sqlite.store import SqliteStore
from fairlead.wiring import make_store
from tests.stores.sqlite.support import new_jobs
from tests.stores.sqlite.test_statements import HOT, walks


def analyse(path: Path) -> None:
    """As somebody does who has a table in the same file."""
    with apsw.Connection(str(path)) as other:
        other.execute("create table if not exists theirs (word text primary key)")
        other.execute("insert or ignore into theirs values ('a'), ('b')")
        other.execute("analyze")
    other.close()


def analysed(path: Path) -> set[str]:
    connection = apsw.Connection(str(path))
    try:
        return {row[0] for row in connection.execute("select tbl from sqlite_stat1 union select tbl from sqlite_stat4")}
    finally:
        connection.close()


def walking(connection: apsw.Connection, now: float) -> dict[str, list[str]]:
    """The hot statements that would go through a table, as this connection plans them now."""
    connection.execute("select count(*) from lane").fetchall()  # reads the schema, if that has changed
    return {name: found for name in HOT if (found := walks(connection, name))}


def database_of(store: Store) -> DatabaseFile:
    return cast(SqliteStore, store.jobs)._database


@pytest.fixture
def at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.stores.sqlite.database.CHECK_INTERVAL", 0.0)
    monkeypatch.setattr(database_of(store), "_next_check", 0.0)


def nothing(connection: apsw.Connection, now: float) -> None: ...


async def test_statistics_of_a_moment_with_one_job_mislead(store: Store, path: Path) -> None:
    """Otherwise the tests below show nothing."""
    await store.jobs.enqueue(new_jobs(1))
    analyse(path)
    assert {"pick", "succeeded", "read_many", "promote", "due"} & (await database_of(store).read(walking)).keys()


@pytest.mark.parametrize("ask", [DatabaseFile.run, DatabaseFile.read], ids=["writer", "reader"])
async def test_those_taken_while_a_store_is_open_are_forgotten(
    ask: Callable[..., Any], store: Store, path: Path, at_once: None
) -> None:
    await store.jobs.enqueue(new_jobs(1))
    analyse(path)
    for _ in range(2):  # the second waits until the first has tidied up
        await database_of(store).run(nothing)
    assert await ask(database_of(store), walking) == {}
    assert analysed(path) == {"theirs"}


async def test_those_taken_before_a_store_opens_are_forgotten(store: Store, path: Path) -> None:
    await store.jobs.enqueue(new_jobs(1))
    await store.close()
    analyse(path)
    await store.open()
    assert await database_of(store).read(walking) == {}
    assert analysed(path) == {"theirs"}


async def test_who_writes_for_long_is_not_waited_for(store: Store, path: Path, at_once: None) -> None:
    await store.jobs.enqueue(new_jobs(1))
    analyse(path)
    other = apsw.Connection(str(path))
    again = make_store(f"sqlite:///{path}")
    other.execute("begin immediate")
    await again.open()
    other.execute("rollback")
    other.close()
    assert "job" in analysed(path)
    for _ in range(2):
        await database_of(again).run(nothing)
    assert analysed(path) == {"theirs"}
    await again.close()


async def test_all_tables_are_known(store: Store) -> None:
    def tables(connection: apsw.Connection, now: float) -> list[str]:
        found = connection.execute("select name from sqlite_schema where type = 'table' order by name")
        return [name for (name,) in found if not name.startswith("sqlite_")]

    assert await database_of(store).read(tables) == TABLES
