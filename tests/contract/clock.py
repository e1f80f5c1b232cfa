"""A clock that stands still until a test moves it, for every store.

SQLite takes its clock as an argument. PostgreSQL uses its own `now()`; a function of the same name in a schema that is
searched before pg_catalog takes its place, for the connections of one URL only, and without a change to any statement.
"""

import time
from typing import Protocol

import psycopg
from psycopg import sql

SCHEMA = "fairlead_test_clock"

# One row holds the instant; `public` comes first, so that tables are found, made and listed there as ever.
SETUP = f"""
create schema if not exists {SCHEMA};
create table if not exists {SCHEMA}.clock (instant timestamptz not null);
create or replace function {SCHEMA}.now() returns timestamptz
    language sql stable as 'select instant from {SCHEMA}.clock';
truncate {SCHEMA}.clock;
"""
TABLES = """
select relname from pg_class
where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
    and relname <> 'schema_version'
"""
SEARCH_PATH = f"-csearch_path%3Dpublic,{SCHEMA},pg_catalog"


class Clock(Protocol):
    """The time of one database."""

    def __call__(self) -> float:
        """Seconds since 1970."""

    def advance(self, seconds: float) -> None:
        """Let so much time pass."""


class ManualClock:
    """Hand it to `make_store(url, clock)`."""

    def __init__(self, start: float | None = None) -> None:
        self._now = float(int(time.time())) if start is None else start

    def __call__(self) -> float:
        """The instant it stands at."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move it."""
        self._now += seconds


class PostgresClock(ManualClock):
    """Stores opened with `url` live by this clock; those opened with the database's own URL do not."""

    def __init__(self, database: str, start: float | None = None) -> None:
        super().__init__(start)
        self.url = f"{database}{'&' if '?' in database else '?'}options={SEARCH_PATH}"
        self._connection = psycopg.connect(database, autocommit=True, options="-c lock_timeout=5s")
        self._connection.execute(SETUP)
        self._connection.execute(f"insert into {SCHEMA}.clock values (to_timestamp(%s))", [self()])

    def advance(self, seconds: float) -> None:
        """Move it for all connections; a statement that is under way keeps the instant it began with."""
        super().advance(seconds)
        self._connection.execute(f"update {SCHEMA}.clock set instant = to_timestamp(%s)", [self()])

    def empty_database(self) -> None:
        """Delete all rows but the schema's version: for a few rows that is many times faster than truncating."""
        tables = [name for (name,) in self._connection.execute(TABLES)]
        deletes = [sql.SQL("delete from {}").format(sql.Identifier("public", name)) for name in tables]
        self._connection.execute(sql.SQL("; ").join(deletes))

    def close(self) -> None:
        """Give back the connection; the schema stays and disturbs nobody."""
        self._connection.close()
