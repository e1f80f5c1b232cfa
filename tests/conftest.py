"""Fixtures for every test: real databases with cheap isolation, and a leak check after each test."""

import asyncio
import inspect
import os
import shutil
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.support import leaks
from tests.support.postgres import BorrowedServer, DatabaseServer, PostgresMissing, PrivateServer

# What no test has written to has no pages; to truncate it all the same would take longer than most tests.
WRITTEN_TABLES = """
select relname from pg_class
where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_version'
    and pg_relation_size(oid) > 0
"""
RESTART_SEQUENCES = """
select setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) from pg_sequences
where schemaname = 'public' and last_value is not null
"""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test has a name of its own: of several with one name, processes side by side would run only one."""
    shared = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if shared:
        raise pytest.UsageError(f"several tests are named {shared[0]}")


@pytest.fixture(scope="session")
def temporary_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder below which every tmp_path of this process lies."""
    return tmp_path_factory.getbasetemp().resolve()


@pytest.fixture(autouse=True)
def leak_check(temporary_root: Path) -> Iterator[None]:
    """No test leaves processes, threads, sockets or open files behind.

    It is set up before and torn down after every other fixture of a test, the event loop included.
    """
    before = leaks.snapshot(temporary_root)
    yield
    leaked = leaks.leaked_since(before, temporary_root)
    if leaked:
        pytest.fail("the test left behind:\n  " + "\n  ".join(leaked), pytrace=False)


@pytest.fixture(autouse=True)
def task_check(leak_check: None, request: pytest.FixtureRequest) -> None:
    """No coroutine test leaves asyncio tasks behind; other tests have no event loop to look at."""
    function = getattr(request, "function", None)
    if inspect.iscoroutinefunction(function) or request.node.get_closest_marker("asyncio"):
        request.getfixturevalue("pending_tasks")


@pytest.fixture
async def pending_tasks() -> AsyncIterator[None]:
    """Torn down on the test's own event loop, just before that loop is closed and would cancel them."""
    yield
    deadline = asyncio.get_running_loop().time() + leaks.GRACE_SECONDS
    while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
        if asyncio.get_running_loop().time() >= deadline:
            pytest.fail("tasks still pending:\n  " + "\n  ".join(map(repr, tasks)), pytrace=False)
        await asyncio.sleep(0.01)


def migrate_now(url: str) -> None:
    """Bring a database to the current schema, in a thread that has no event loop yet."""
    from fairlead import wiring

    async def migrate() -> None:
        await wiring.migrate(url)

    with ThreadPoolExecutor(1) as executor:
        executor.submit(asyncio.run, migrate()).result()


@pytest.fixture(scope="session")
def postgres_server(temporary_root: Path) -> Iterator[DatabaseServer]:
    """One server for each test process: FAIRLEAD_TEST_POSTGRES_URL, or a private one without fsync."""
    with leaks.kept_for_session(temporary_root):
        server = _open_server()
        opened = server.__enter__()
    try:
        yield opened
    finally:
        server.__exit__(None, None, None)


def _open_server() -> PrivateServer | BorrowedServer:
    given = os.environ.get("FAIRLEAD_TEST_POSTGRES_URL")
    if given:
        return BorrowedServer(given)
    try:
        return PrivateServer(fsync=False)
    except PostgresMissing as missing:
        if os.environ.get("CI"):
            pytest.fail(f"CI has to run the PostgreSQL tests: {missing}", pytrace=False)
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {missing}")


@pytest.fixture(scope="session")
def postgres_database(postgres_server: DatabaseServer, temporary_root: Path) -> str:
    """The address of a migrated database, one for each test process."""
    with leaks.kept_for_session(temporary_root):
        url = postgres_server.create_database(f"fairlead_test_{uuid.uuid4().hex}")
        migrate_now(url)
    return url


@pytest.fixture
def postgres_url(postgres_database: str) -> Iterator[str]:
    """The address of a migrated, empty PostgreSQL database."""
    yield postgres_database
    empty_database(postgres_database)


def empty_database(url: str) -> None:
    """Empty all tables but the schema's version; a lock that a test still holds is an error, not a wait."""
    with psycopg.connect(url, autocommit=True, options="-c lock_timeout=5s") as connection:
        tables = [sql.Identifier("public", name) for (name,) in connection.execute(WRITTEN_TABLES)]
        if tables:
            connection.execute(sql.SQL("truncate {} cascade").format(sql.SQL(", ").join(tables)))
        connection.execute(RESTART_SEQUENCES)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite file, one for each test process."""
    path = tmp_path_factory.mktemp("template") / "jobs.db"
    migrate_now(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    """The address of a migrated, empty SQLite file: a copy, since migrating takes many times as long."""
    shutil.copyfile(sqlite_template, tmp_path / "jobs.db")
    return f"sqlite:///{tmp_path / 'jobs.db'}"


@pytest.fixture(params=["sqlite-file", "sqlite-memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty store of each kind; one in memory migrates itself when it is opened."""
    if request.param == "sqlite-memory":
        return "sqlite:///:memory:"
    fixture = "sqlite_url" if request.param == "sqlite-file" else "postgres_url"
    return str(request.getfixturevalue(fixture))
