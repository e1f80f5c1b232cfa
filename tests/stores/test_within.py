"""Jobs that join the caller's own transaction, through every kind of connection that is supported."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
import psycopg2
import pytest
from psycopg.rows import dict_row

from fairlead.core.jobs.ids import make_ids
from fairlead.core.jobs.model import Enqueued, Lane, NewJob, Priority, Unique
from fairlead.errors import ConfigError
from fairlead.records.store import Store
from fairlead.stores.sqlite.migrate import migrate
from fairlead.wiring import make_store

LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)

# A process of its own, since Django is configured once for a process.
DJANGO = """
import sys
from urllib.parse import urlsplit
import django
from django.conf import settings
from django.db import connection, transaction
import fairlead

url = urlsplit(sys.argv[1])
place = {"HOST": url.hostname, "PORT": url.port, "USER": url.username, "NAME": url.path[1:]}
settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", **place}})
django.setup()
app = fairlead.App(sys.argv[1])

@app.handler("mail")
def mail(number: int) -> None: ...

def stored() -> int:
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from job")
        return cursor.fetchone()[0]

try:
    with transaction.atomic():
        mail.options(connection=connection).delay(number=1)
        raise ValueError("the order could not be kept")
except ValueError:
    print(stored())
with transaction.atomic():
    mail.options(connection=connection).delay_many([{"number": number} for number in range(3)])
    with connection.cursor() as cursor:
        mail.options(connection=cursor).delay(number=3)
print(stored())
"""


def new_jobs(count: int, lane: Lane = LANE, unique: Unique | None = None) -> list[NewJob]:
    return [NewJob(job_id, lane, "{}", unique=unique) for job_id in make_ids(count, time.time())]


def ids(answers: list[Enqueued]) -> list[str]:
    return [answer.id for answer in answers]


# SQLite: the caller's sqlite3 and Fairlead's apsw must not have the file open in one process at the same time, so the
# store is opened only to look.


@pytest.fixture
async def sqlite_file(tmp_path: Path) -> str:
    await migrate(f"sqlite:///{tmp_path}/jobs.db")
    return f"{tmp_path}/jobs.db"


@pytest.fixture
def sqlite_store(sqlite_file: str) -> Store:
    return make_store(f"sqlite:///{sqlite_file}")


async def stored(store: Store) -> int:
    await store.open()
    counts = await store.reader.count_jobs()
    await store.close()
    return sum(counts.values())


async def try_blocking(store: Store, connection: Any, commit: Callable[[], Any], roll_back: Callable[[], Any]) -> None:
    """Two jobs that are rolled back, then three that are committed, with a key that repeats."""
    store.jobs.enqueue_within(connection, new_jobs(2, unique=Unique("key")))
    roll_back()
    first, second = new_jobs(2, unique=Unique("key"))
    assert ids(store.jobs.enqueue_within(connection, [first, second])) == [first.id, first.id]
    assert ids(store.jobs.enqueue_within(connection, new_jobs(1, unique=Unique("key")))) == [first.id]
    assert len(store.jobs.enqueue_within(connection, new_jobs(2))) == 2
    commit()


async def test_sqlite3_connection(sqlite_store: Store, sqlite_file: str) -> None:
    with closing(sqlite3.connect(sqlite_file)) as connection:
        connection.row_factory = lambda cursor, row: {"a": row}
        await try_blocking(sqlite_store, connection, connection.commit, connection.rollback)
        sqlite_store.jobs.enqueue_within(connection.cursor(), new_jobs(5))  # never committed
    assert await stored(sqlite_store) == 3


async def test_apsw_connection_even_while_the_store_is_open(sqlite_store: Store, sqlite_file: str) -> None:
    await sqlite_store.open()
    with closing(apsw.Connection(sqlite_file)) as connection:
        connection.execute("begin")
        sqlite_store.jobs.enqueue_within(connection, new_jobs(2))
        assert await sqlite_store.reader.count_jobs() == {}
        connection.execute("rollback")
        connection.execute("begin")
        sqlite_store.jobs.enqueue_within(connection, new_jobs(3))
        connection.execute("commit")
        assert await sqlite_store.reader.count_jobs() == {("short", "ready"): 3}
    await sqlite_store.close()


async def test_sqlalchemy_on_sqlite(sqlite_store: Store, sqlite_file: str) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(f"sqlite:///{sqlite_file}")
    with engine.connect() as connection:
        await try_blocking(sqlite_store, connection, connection.commit, connection.rollback)
    engine.dispose()
    assert await stored(sqlite_store) == 3


async def test_sqlalchemy_session_on_sqlite(sqlite_store: Store, sqlite_file: str) -> None:
    sqlalchemy, orm = pytest.importorskip("sqlalchemy"), pytest.importorskip("sqlalchemy.orm")
    engine = sqlalchemy.create_engine(f"sqlite:///{sqlite_file}")
    with orm.Session(engine) as session:
        await try_blocking(sqlite_store, session, session.commit, session.rollback)
    engine.dispose()
    assert await stored(sqlite_store) == 3


async def test_sqlalchemy_async_on_sqlite(sqlite_store: Store, sqlite_file: str) -> None:
    pytest.importorskip("greenlet")
    pytest.importorskip("aiosqlite")
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    engine = create_async_engine(f"sqlite+aiosqlite:///{sqlite_file}")
    async with AsyncSession(engine) as session:
        await sqlite_store.jobs.enqueue_within(session, new_jobs(2))
        await session.rollback()
        assert len(await sqlite_store.jobs.enqueue_within(session, new_jobs(3))) == 3
        await session.commit()
    async with engine.connect() as connection:
        await sqlite_store.jobs.enqueue_within(connection, new_jobs(1))
        await connection.commit()
    await engine.dispose()
    assert await stored(sqlite_store) == 4


async def test_sqlite3_is_refused_while_the_store_is_open_here(sqlite_store: Store, sqlite_file: str) -> None:
    await sqlite_store.open()
    with closing(sqlite3.connect(sqlite_file)) as connection, pytest.raises(ConfigError, match="locks"):
        sqlite_store.jobs.enqueue_within(connection, new_jobs(1))
    await sqlite_store.close()


async def test_sqlite_without_a_transaction_is_refused(sqlite_store: Store, sqlite_file: str) -> None:
    with (
        closing(sqlite3.connect(sqlite_file, isolation_level=None)) as connection,
        pytest.raises(ConfigError, match="autocommit"),
    ):
        sqlite_store.jobs.enqueue_within(connection, new_jobs(1))
    with closing(apsw.Connection(sqlite_file)) as other, pytest.raises(ConfigError, match="autocommit"):
        sqlite_store.jobs.enqueue_within(other, new_jobs(1))


async def test_another_file_is_refused(sqlite_store: Store, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        with pytest.raises(ConfigError, match=r"other\.db, but the app's store is .*jobs\.db"):
            sqlite_store.jobs.enqueue_within(connection, new_jobs(1))
        assert not connection.in_transaction


def test_what_is_no_connection_is_refused(sqlite_store: Store) -> None:
    with pytest.raises(ConfigError, match=r"builtins\.object"):
        sqlite_store.jobs.enqueue_within(object(), new_jobs(1))


def test_a_database_in_memory_has_no_other_connection() -> None:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(ConfigError, match="in memory"):
        make_store("sqlite:///:memory:").jobs.enqueue_within(connection, new_jobs(1))


# PostgreSQL


@pytest.fixture
async def postgres_store(postgres_url: str) -> AsyncIterator[Store]:
    store = make_store(postgres_url)
    await store.open()
    yield store
    await store.close()


async def ready(store: Store) -> int:
    return sum((await store.reader.count_jobs()).values())


@pytest.mark.postgres
async def test_psycopg_connection(postgres_store: Store, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, row_factory=dict_row) as connection:
        postgres_store.jobs.enqueue_within(connection, new_jobs(2))
        assert await ready(postgres_store) == 0
        connection.rollback()
        first, second = new_jobs(2, unique=Unique("key"))
        assert ids(postgres_store.jobs.enqueue_within(connection, [first, second])) == [first.id, first.id]
        assert ids(postgres_store.jobs.enqueue_within(connection.cursor(), new_jobs(1, unique=Unique("key")))) == [
            first.id
        ]
        connection.commit()
    assert await ready(postgres_store) == 1


@pytest.mark.postgres
async def test_psycopg2_connection(postgres_store: Store, postgres_url: str) -> None:
    with closing(psycopg2.connect(postgres_url)) as connection:
        postgres_store.jobs.enqueue_within(connection, new_jobs(2))
        connection.rollback()
        first, second = new_jobs(2, unique=Unique("key"))
        assert ids(postgres_store.jobs.enqueue_within(connection, [first, second])) == [first.id, first.id]
        assert await ready(postgres_store) == 0
        connection.commit()
    assert await ready(postgres_store) == 1


@pytest.mark.postgres
def test_django_connection(postgres_url: str) -> None:
    command = [sys.executable, "-c", DJANGO, postgres_url]
    printed = subprocess.run(command, check=True, timeout=30, stdout=subprocess.PIPE, text=True).stdout
    assert printed.split() == ["0", "4"]


@pytest.mark.postgres
async def test_psycopg_async_connection(postgres_store: Store, postgres_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
        await postgres_store.jobs.enqueue_within(connection, new_jobs(2))
        await connection.rollback()
        await postgres_store.jobs.enqueue_within(connection, new_jobs(3))
        assert await ready(postgres_store) == 0
        await connection.commit()
    assert await ready(postgres_store) == 3


@pytest.mark.postgres
async def test_psycopg_in_autocommit_needs_a_transaction(postgres_store: Store, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        with pytest.raises(ConfigError, match="autocommit"):
            postgres_store.jobs.enqueue_within(connection, new_jobs(1))
        with connection.transaction():
            postgres_store.jobs.enqueue_within(connection, new_jobs(1))
    assert await ready(postgres_store) == 1


@pytest.mark.postgres
async def test_sqlalchemy_on_postgres(postgres_store: Store, postgres_url: str) -> None:
    sqlalchemy, orm = pytest.importorskip("sqlalchemy"), pytest.importorskip("sqlalchemy.orm")
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(postgres_url))
    with engine.connect() as connection:
        postgres_store.jobs.enqueue_within(connection, new_jobs(2))
        connection.rollback()
        postgres_store.jobs.enqueue_within(connection, new_jobs(3))
        connection.commit()
    with orm.Session(engine) as session:
        postgres_store.jobs.enqueue_within(session, new_jobs(1))
        session.commit()
        postgres_store.jobs.enqueue_within(session, new_jobs(1))  # never committed
    engine.dispose()
    assert await ready(postgres_store) == 4


@pytest.mark.postgres
async def test_sqlalchemy_async_on_postgres(postgres_store: Store, postgres_url: str) -> None:
    pytest.importorskip("greenlet")
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    async def connect() -> psycopg.AsyncConnection[Any]:
        return await psycopg.AsyncConnection.connect(postgres_url)

    engine = create_async_engine("postgresql+psycopg://", async_creator=connect)
    async with engine.connect() as connection:
        await postgres_store.jobs.enqueue_within(connection, new_jobs(2))
        await connection.rollback()
        await postgres_store.jobs.enqueue_within(connection, new_jobs(3))
        await connection.commit()
    async with AsyncSession(engine) as session:
        await postgres_store.jobs.enqueue_within(session, new_jobs(1))
        await session.commit()
    await engine.dispose()
    assert await ready(postgres_store) == 4


@pytest.mark.postgres
async def test_open_transactions_with_the_same_known_lane_do_not_wait(postgres_store: Store, postgres_url: str) -> None:
    await postgres_store.jobs.enqueue(new_jobs(1))
    with psycopg.connect(postgres_url) as one, psycopg.connect(postgres_url) as two:
        postgres_store.jobs.enqueue_within(one, new_jobs(1))
        await asyncio.wait_for(asyncio.to_thread(postgres_store.jobs.enqueue_within, two, new_jobs(1)), timeout=5)
    assert await ready(postgres_store) == 3


@pytest.mark.postgres
async def test_a_connection_of_the_other_kind_is_refused(
    postgres_url: str, sqlite_store: Store, sqlite_file: str, postgres_store: Store
) -> None:
    with psycopg.connect(postgres_url) as connection, pytest.raises(ConfigError, match="to postgresql"):
        sqlite_store.jobs.enqueue_within(connection, new_jobs(1))
    with closing(sqlite3.connect(sqlite_file)) as other, pytest.raises(ConfigError, match="to sqlite"):
        postgres_store.jobs.enqueue_within(other, new_jobs(1))


def test_asyncpg_is_told_what_to_use_instead(sqlite_store: Store) -> None:
    connection = type("Connection", (), {"__module__": "asyncpg.connection"})()
    with pytest.raises(ConfigError, match="instead of asyncpg use psycopg 3"):
        sqlite_store.jobs.enqueue_within(connection, new_jobs(1))
