"""Enqueueing in the caller's own transaction, through the public surface."""

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

import psycopg
import pytest
import sqlalchemy

import fairlead


def declare(url: str) -> tuple[fairlead.App, fairlead.Handler[..., Any]]:
    app = fairlead.App(url)

    @app.handler("confirm")
    async def confirm(order: int) -> None: ...

    return app, confirm


async def stored(url: str) -> int:
    async with fairlead.App(url) as app:
        return len((await app.jobs()).jobs)


def test_sqlite3_commits_and_rolls_back_jobs_with_its_own_rows(sqlite_url: str) -> None:
    _, confirm = declare(sqlite_url)
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        connection.execute("create table orders (id integer)")
        connection.execute("insert into orders values (1)")
        confirm.options(connection=connection).delay(order=1)
        connection.rollback()
        connection.execute("insert into orders values (2)")
        confirm.options(connection=connection).delay(order=2)
        connection.commit()
    assert asyncio.run(stored(sqlite_url)) == 1


def test_sqlalchemy_on_sqlite_commits_jobs(sqlite_url: str) -> None:
    _, confirm = declare(sqlite_url)
    engine = sqlalchemy.create_engine(sqlite_url)
    with engine.begin() as connection:
        confirm.options(connection=connection).delay_many([{"order": 1}, {"order": 2}])
    engine.dispose()
    assert asyncio.run(stored(sqlite_url)) == 2


async def test_sqlite3_is_refused_beside_an_open_store_of_the_same_file(sqlite_url: str) -> None:
    app, confirm = declare(sqlite_url)
    async with app:
        await confirm.enqueue(order=1)
        with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
            connection.execute("begin immediate")
            with pytest.raises(fairlead.ConfigError, match="apsw"):
                await confirm.options(connection=connection).enqueue(order=2)


@pytest.mark.postgres
async def test_an_async_connection_needs_the_async_form(postgres_url: str) -> None:
    _, confirm = declare(postgres_url)
    async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
        with pytest.raises(fairlead.ConfigError, match="await enqueue"):
            confirm.options(connection=connection).delay(order=1)
        await confirm.options(connection=connection).enqueue(order=1)
    assert await stored(postgres_url) == 1
