"""Where a benchmark runs: a schema or a file of its own, gone afterwards whatever happens.

On PostgreSQL everything is in the schema `fairlead_bench` of the given database, and no other table is touched. One
benchmark at a time may use it, which a lock of the session ensures; what one that was killed left behind is removed by
the next. A schema of that name that bears no mark of ours is refused. On SQLite it is a new file in a folder of its own
beside the given file, and so on the same disk.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from fairlead import wiring
from fairlead.bench.database import PostgresDatabase
from fairlead.errors import ConfigError, StoreRefused
from fairlead.stores.postgres.connection import translating
from fairlead.stores.sqlite.address import parse
from fairlead.stores.sqlite.wakeups import folder_for

SCHEMA = "fairlead_bench"
MARK = "made by fairlead bench"
LOCK = 4_711_230_002


class Place(Protocol):
    """A store that can be made anew."""

    url: str

    def empty(self) -> None:
        """Remove all that is in it."""


class PostgresPlace:
    """The schema of the benchmark."""

    def __init__(self, url: str, guard: PostgresDatabase) -> None:
        self.url = in_schema(url)
        self._guard = guard

    def empty(self) -> None:
        """An empty schema."""
        with translating():
            self.remove()
            self._guard.rows("create_schema")
            self._guard.rows("mark_schema")

    def remove(self) -> None:
        """Drop the schema, if it is ours."""
        marks = [row[0] for row in self._guard.rows("schema_mark")]
        if marks and marks != [MARK]:
            raise StoreRefused(f"the database has a schema {SCHEMA} that is not the benchmark's; rename or drop it")
        self._guard.rows("drop_schema")


class SqlitePlace:
    """The folder of the benchmark."""

    def __init__(self, folder: str, options: str) -> None:
        self._folder = Path(folder)
        self._options = options
        self._count = 0
        self.url = ""
        self.empty()

    def empty(self) -> None:
        """A new file."""
        self.remove()
        self._count += 1
        self.url = f"sqlite:///{self._folder / f'{self._count}.db'}{self._options}"

    def remove(self) -> None:
        """Delete the file, and the folder in which its listeners met."""
        if self.url:
            path = parse(self.url).path
            for suffix in ("", "-wal", "-shm"):
                Path(path + suffix).unlink(missing_ok=True)
            shutil.rmtree(folder_for(path) or path, ignore_errors=True)


@contextmanager
def own_place(store: str | None) -> Iterator[Place]:
    """A place on the store that a user names; without one, on a temporary SQLite file."""
    if store is not None and store.startswith("postgres"):
        with _postgres_place(store) as place:
            yield place
    else:
        with _sqlite_place(store) as place:
            yield place


async def fresh(place: Place) -> str:
    """An empty store with all tables; returns its URL."""
    await asyncio.to_thread(place.empty)
    await wiring.migrate(place.url)
    return place.url


def in_schema(url: str) -> str:
    """The URL with the benchmark's schema as the only one on its search path."""
    parts = urlsplit(url)
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    parameters["options"] = f"{parameters.get('options', '')} -csearch_path={SCHEMA}".strip()
    return urlunsplit(parts._replace(query=urlencode(parameters, quote_via=quote)))


@contextmanager
def _postgres_place(store: str) -> Iterator[Place]:
    with translating():
        guard = PostgresDatabase(store)
    try:
        if not guard.rows("lock_bench", lock=LOCK)[0][0]:
            raise StoreRefused("another `fairlead bench` runs on this database; wait for its end")
        place = PostgresPlace(store, guard)
        place.empty()
        try:
            yield place
        finally:
            place.remove()
    finally:
        guard.close()


@contextmanager
def _sqlite_place(store: str | None) -> Iterator[Place]:
    options, beside = "", None
    if store is not None:
        if wiring.is_in_memory(store):
            raise ConfigError("the benchmark runs in several processes, which cannot share a database in memory")
        beside = str(Path(parse(store).path).parent)
        options = "?" + store.partition("?")[2] if "?" in store else ""
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-", dir=beside) as folder:
        place = SqlitePlace(folder, options)
        try:
            yield place
        finally:
            place.remove()
