"""Enqueueing inside the caller's own transaction: the jobs appear when it commits and vanish when it rolls back.

The caller hands over whatever it has: a driver's connection or cursor, or SQLAlchemy's or Django's wrapper of one. It
is recognised by the names of its classes, so that nothing is imported that the caller does not use, and unwrapped down
to the driver. Nothing is remembered across calls, since the caller may roll back.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from os.path import realpath
from typing import Any, NamedTuple, TypeVar

from pydantic_core import to_json

from fairlead.core.jobs.model import Enqueued, Lane, NewJob
from fairlead.core.protection.backpressure import ALL, with_shed
from fairlead.errors import ConfigError, StoreUnavailable
from fairlead.ports.database import Rows, Run, RunEach, Script, Settle, Statement
from fairlead.ports.jobs import AdmissionCheck, DepthBound
from fairlead.records.backpressure import backlog_of
from fairlead.records.controls import changed_of
from fairlead.records.enqueue import enqueue_script, key_is_held
from fairlead.records.lanes import ensure_lanes

SHARD = 0
KEY_PATIENCE = "5s"  # that a transaction waits for another one with the same key
SUPPORTED = "psycopg 3, psycopg2, sqlite3, apsw or aiosqlite, directly or through SQLAlchemy or Django"

Query = Callable[[str], str]
Answer = TypeVar("Answer")


class Driver(NamedTuple):
    """How to work with one kind of connection: may it be used now, and how does it run a statement."""

    dialect: str
    require_transaction: Callable[[Any], None]
    execute: Callable[[Any, str, Mapping[str, Any]], Any]
    is_async: bool = False
    foreign_sqlite: bool = False


class Task(NamedTuple):
    """One call of run_within."""

    dialect: str
    query: Query
    jobs: Sequence[NewJob]
    now: float
    path: str | None
    admission: AdmissionCheck | None
    ensure: Callable[[Iterable[Lane]], None] | None

    def given(self, statement: RunEach | Run) -> dict[str, Any]:
        """The parameters of a statement; many rows are one JSON text."""
        own = {"rows": to_json(statement.rows).decode()} if isinstance(statement, RunEach) else statement.parameters
        return {"shard": SHARD, "now": self.now, **own}


def run_within(
    connection: Any,
    dialect: str,
    query: Query,
    jobs: Sequence[NewJob],
    now: float = 0.0,
    path: str | None = None,
    admission: AdmissionCheck | None = None,
    ensure: Callable[[Iterable[Lane]], None] | None = None,
) -> Any:
    """Store the jobs in the caller's transaction: the answers, or an awaitable of them for an async connection.

    `ensure` writes lanes outside of it; without one they are written in it.
    """
    task = Task(dialect, query, jobs, now, path, admission, ensure)
    for name in _names(connection):
        if name in ASYNC_WRAPPERS:
            return _unwrap_and_run(connection, ASYNC_WRAPPERS[name], task)
    return _run(connection, task)


def drive(script: Script[Answer], perform: Callable[[Statement], Rows]) -> Answer:
    """Run a script of statements to its end."""
    try:
        step = next(script)
        while True:
            step = script.send(perform(step))
    except StopIteration as done:
        answer: Answer = done.value
        return answer


async def drive_async(script: Script[Answer], perform: Callable[[Statement], Awaitable[Rows]]) -> Answer:
    """The same, where a statement has to be awaited."""
    try:
        step = next(script)
        while True:
            step = script.send(await perform(step))
    except StopIteration as done:
        answer: Answer = done.value
        return answer


def _script(task: Task) -> Script[list[Enqueued]]:
    """Make sure of the database, ask whether the jobs may be submitted, make sure of the lanes, then enqueue."""
    if task.path is not None:
        _require_same_file((yield Run("main_file", {})), task.path)
    kept, bounds = (task.jobs, ()) if task.admission is None else (yield from _admit(task.admission, task.jobs))
    if not kept:
        return with_shed(task.jobs, [], [])
    if task.ensure is None:
        yield from ensure_lanes(job.lane for job in kept)
    answers = yield from _patient_script(task, kept, bounds)
    return answers if len(kept) == len(task.jobs) else with_shed(task.jobs, kept, answers)


def _patient_script(task: Task, jobs: Sequence[NewJob], bounds: Sequence[DepthBound]) -> Script[list[Enqueued]]:
    """On PostgreSQL a key may be held by another open transaction: wait for it, but not for ever."""
    if task.ensure is None or not any(job.unique for job in jobs):
        return (yield from enqueue_script(jobs, bounds=bounds))
    ((before,),) = yield Run("read_lock_timeout", {})
    yield Run("set_lock_timeout", {"patience": KEY_PATIENCE})
    answers = yield from enqueue_script(jobs, bounds=bounds)
    yield Run("set_lock_timeout", {"patience": before})
    return answers


def _admit(admission: AdmissionCheck, jobs: Sequence[NewJob]) -> Script[tuple[Sequence[NewJob], Sequence[DepthBound]]]:
    """Read what the door has to know, where what it knows is old, and let it decide."""
    if admission.is_stale():
        admission.follow(changed_of((yield Run("read_controls", {"since": admission.version}))))
        if admission.wants_sample():
            admission.sampled(backlog_of((yield RunEach("read_backlog", [{"tenant": ALL}]))))
    return admission.admit_here(jobs)


def _run(connection: Any, task: Task) -> Any:
    connection, driver = _unwrap(connection)
    if driver.dialect != task.dialect:
        raise ConfigError(
            f"this connection is to {driver.dialect}, but the app's store is {task.dialect}; jobs can join a "
            "transaction only in the database they are stored in"
        )
    if driver.foreign_sqlite and task.path is not None:
        _require_one_library(task.path)
    driver.require_transaction(connection)
    return (_perform_async if driver.is_async else _perform)(connection, driver, task)


def _perform(connection: Any, driver: Driver, task: Task) -> list[Enqueued]:
    if task.ensure is not None:
        task.ensure({job.lane for job in task.jobs})

    def perform(step: Statement) -> Rows:
        assert not isinstance(step, Settle)
        return list(driver.execute(connection, task.query(step.query), task.given(step)))

    with _explaining(task.jobs):
        return drive(_script(task), perform)


async def _perform_async(connection: Any, driver: Driver, task: Task) -> list[Enqueued]:
    if task.ensure is not None:
        await asyncio.to_thread(task.ensure, {job.lane for job in task.jobs})

    async def perform(step: Statement) -> Rows:
        assert not isinstance(step, Settle)
        return list(await driver.execute(connection, task.query(step.query), task.given(step)))

    with _explaining(task.jobs):
        return await drive_async(_script(task), perform)


@contextmanager
def _explaining(jobs: Sequence[NewJob]) -> Iterator[None]:
    """The caller's transaction raises its driver's errors; a wrong database and a key that is held are explained."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ == "UndefinedTable" or "no such table" in str(error):
            raise ConfigError(
                f"this connection's database has no Fairlead tables ({error}); use a connection to the database "
                "of the app's URL, or run `fairlead migrate` there"
            ) from error
        if type(error).__name__ == "LockNotAvailable" and any(job.unique for job in jobs):
            raise StoreUnavailable(key_is_held(jobs)) from error
        raise


def _require_same_file(found: list[Any], path: str) -> None:
    file = found[0][0]
    if not file or realpath(file) != path:
        raise ConfigError(f"this connection is to {file or 'a database in memory'}, but the app's store is {path}")


def _require_one_library(path: str) -> None:
    from fairlead.stores.sqlite.openfiles import is_open

    if is_open(path):
        raise ConfigError(
            f"this process has {path} open in Fairlead, and this connection uses another SQLite library (Python's "
            "sqlite3); the two do not see each other's locks and would lose data. Use an apsw connection, or do "
            "not open the app in this process, or use PostgreSQL"
        )


# What is recognised: the top-level package and the name of a class.


def _names(connection: Any) -> list[str]:
    return [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(connection).__mro__]


def _unwrap(connection: Any) -> tuple[Any, Driver]:
    """The driver's connection inside whatever it is wrapped in."""
    names = _names(connection)
    for name in names:
        if name in DRIVERS:
            return connection, DRIVERS[name]
        if name in WRAPPERS:
            return _unwrap(WRAPPERS[name](connection))
    raise ConfigError(
        f"jobs cannot join the transaction of a {names[0]}; it must be a connection of {SUPPORTED}"
        + ("; instead of asyncpg use psycopg 3, which is async too" if names[0].startswith("asyncpg") else "")
    )


async def _unwrap_and_run(connection: Any, unwrap: Callable[[Any], Awaitable[Any]], task: Task) -> Any:
    answers = run_within(await unwrap(connection), *task)
    return await answers if hasattr(answers, "__await__") else answers


def _from_sqlalchemy(connection: Any) -> Any:
    """SQLAlchemy commits only a transaction it knows of, so one is begun as its own execute would."""
    if not connection.in_transaction():
        connection.begin()
    return connection.connection.driver_connection


async def _from_sqlalchemy_async(connection: Any) -> Any:
    if not connection.in_transaction():
        await connection.run_sync(lambda inner: inner.begin())
    return (await connection.get_raw_connection()).driver_connection


def _from_django(wrapper: Any) -> Any:
    wrapper.ensure_connection()
    return wrapper.connection


def _require_psycopg_transaction(connection: Any) -> None:
    _require(not connection.autocommit or connection.info.transaction_status.name != "IDLE")


def _require_psycopg2_transaction(connection: Any) -> None:
    _require(not connection.autocommit or connection.get_transaction_status() != 0)


def _require_sqlite_transaction(connection: Any) -> None:
    """In its older mode sqlite3 begins by itself before the first insert, unless isolation_level is None."""
    begins = getattr(connection, "autocommit", -1) is False or (
        getattr(connection, "autocommit", -1) == -1 and connection.isolation_level is not None
    )
    _require(connection.in_transaction or begins)


def _require(in_transaction: bool) -> None:
    if not in_transaction:
        raise ConfigError(
            "this connection is in autocommit mode with no transaction open, so there is nothing the jobs could "
            "join; begin a transaction first, or call enqueue without a connection"
        )


def _execute_psycopg(connection: Any, text: str, given: Mapping[str, Any]) -> list[Any]:
    from psycopg import Cursor
    from psycopg.rows import tuple_row

    with Cursor(connection, row_factory=tuple_row) as cursor:
        cursor.execute(text.encode(), given)
        return cursor.fetchall() if cursor.description else []


async def _execute_psycopg_async(connection: Any, text: str, given: Mapping[str, Any]) -> list[Any]:
    from psycopg import AsyncCursor
    from psycopg.rows import tuple_row

    async with AsyncCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(text.encode(), given)
        return await cursor.fetchall() if cursor.description else []


def _execute_psycopg2(connection: Any, text: str, given: Mapping[str, Any]) -> list[Any]:
    with connection.cursor(cursor_factory=import_module("psycopg2.extensions").cursor) as cursor:
        cursor.execute(text, given)
        return list(cursor.fetchall()) if cursor.description else []


def _execute_sqlite3(connection: Any, text: str, given: Mapping[str, Any]) -> list[Any]:
    cursor = connection.cursor()
    cursor.row_factory = None
    return list(cursor.execute(text, given))


async def _execute_aiosqlite(connection: Any, text: str, given: Mapping[str, Any]) -> list[Any]:
    async with connection.execute(text, given) as cursor:
        return list(await cursor.fetchall())


DRIVERS = {
    "psycopg.Connection": Driver("postgresql", _require_psycopg_transaction, _execute_psycopg),
    "psycopg.AsyncConnection": Driver(
        "postgresql", _require_psycopg_transaction, _execute_psycopg_async, is_async=True
    ),
    "psycopg2.connection": Driver("postgresql", _require_psycopg2_transaction, _execute_psycopg2),
    "apsw.Connection": Driver(
        "sqlite",
        lambda connection: _require(connection.in_transaction),
        lambda connection, text, given: list(connection.execute(text, given)),
    ),
    "sqlite3.Connection": Driver("sqlite", _require_sqlite_transaction, _execute_sqlite3, foreign_sqlite=True),
    "aiosqlite.Connection": Driver(
        "sqlite",
        lambda connection: _require_sqlite_transaction(connection._conn),
        _execute_aiosqlite,
        is_async=True,
        foreign_sqlite=True,
    ),
}

WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "psycopg.Cursor": lambda cursor: cursor.connection,
    "psycopg.AsyncCursor": lambda cursor: cursor.connection,
    "psycopg2.cursor": lambda cursor: cursor.connection,
    "sqlite3.Cursor": lambda cursor: cursor.connection,
    "apsw.Cursor": lambda cursor: cursor.connection,
    "sqlalchemy.Session": lambda session: session.connection(),
    "sqlalchemy.scoped_session": lambda session: session.connection(),
    "sqlalchemy.Connection": _from_sqlalchemy,
    "django.ConnectionProxy": _from_django,
    "django.DatabaseWrapper": _from_django,
    "django.BaseDatabaseWrapper": _from_django,
    "django.CursorWrapper": lambda cursor: cursor.db,
    "django.CursorDebugWrapper": lambda cursor: cursor.db,
}

ASYNC_WRAPPERS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "sqlalchemy.AsyncSession": lambda session: session.connection(),
    "sqlalchemy.async_scoped_session": lambda session: session.connection(),
    "sqlalchemy.AsyncConnection": _from_sqlalchemy_async,
}
