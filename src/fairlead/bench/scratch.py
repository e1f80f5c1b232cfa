"""A scratch database for a benchmark, removed afterwards.

On PostgreSQL it is the schema `fairlead_bench` of the given database; no other table is touched. On SQLite it is a new
file in a temporary folder beside the given file, and so on the same disk.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg

from fairlead import wiring
from fairlead.errors import ConfigError, StoreRefused, StoreUnavailable
from fairlead.stores.sqlite.wakeups import folder_for

SCHEMA = "fairlead_bench"


class Scratch(Protocol):
    """A database that can be emptied."""

    async def fresh(self) -> str:
        """An empty database with Fairlead's tables; returns its URL."""


@contextmanager
def scratch_database(store: str | None) -> Iterator[Scratch]:
    """A scratch database on the store that a user names; without one, a temporary SQLite file."""
    if store is not None and store.startswith("postgres"):
        with _scratch_schema(store) as schema:
            yield schema
    else:
        with _scratch_file(store) as file:
            yield file


class ScratchSchema:
    """A schema of a PostgreSQL database."""

    def __init__(self, url: str, connection: "psycopg.Connection[tuple[object, ...]]") -> None:
        self._url = in_schema(url)
        self._connection = connection

    async def fresh(self) -> str:
        """Drop and create the schema, and migrate it."""
        self.remove()
        self._connection.execute(f"CREATE SCHEMA {SCHEMA}")
        await wiring.migrate(self._url)
        return self._url

    def remove(self) -> None:
        """Drop the schema."""
        self._connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


class ScratchFile:
    """SQLite files in a folder, one at a time."""

    def __init__(self, folder: Path, options: str) -> None:
        self._folder = folder
        self._options = options
        self._count = 0

    async def fresh(self) -> str:
        """Delete the file, and migrate a new one."""
        self.remove()
        self._count += 1
        url = f"sqlite:///{self._path}{self._options}"
        await wiring.migrate(url)
        return url

    def remove(self) -> None:
        """Delete the file, and the folder in which its listeners met."""
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        if hints := folder_for(str(self._path)):
            shutil.rmtree(hints, ignore_errors=True)

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._count}.db"


def in_schema(url: str) -> str:
    """The URL with the scratch schema as the only one on its search path."""
    parts = urlsplit(url)
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    parameters["options"] = f"{parameters.get('options', '')} -csearch_path={SCHEMA}".strip()
    return urlunsplit(parts._replace(query=urlencode(parameters, quote_via=quote)))


@contextmanager
def _scratch_schema(store: str) -> Iterator[ScratchSchema]:
    try:
        connection = psycopg.connect(store, autocommit=True)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"PostgreSQL cannot be reached: {error}") from error
    with connection:
        try:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
        except psycopg.errors.DuplicateSchema as error:
            raise StoreRefused(
                f"the schema {SCHEMA} is there already: another benchmark runs on this database, or one was killed. "
                f"If none runs, remove it: DROP SCHEMA {SCHEMA} CASCADE"
            ) from error
        schema = ScratchSchema(store, connection)
        try:
            yield schema
        finally:
            schema.remove()


@contextmanager
def _scratch_file(store: str | None) -> Iterator[ScratchFile]:
    options, beside = "", None
    if store is not None:
        if wiring.is_in_memory(store):
            raise ConfigError("the benchmark runs in several processes, which cannot share a database in memory")
        if not store.startswith("sqlite:///"):
            raise ConfigError(f"--store is {store!r}; {wiring.HELP}")
        path, _, query = store.removeprefix("sqlite:///").partition("?")
        beside, options = str(Path(path).resolve().parent), f"?{query}" if query else ""
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-", dir=beside) as folder:
        file = ScratchFile(Path(folder).resolve(), options)
        try:
            yield file
        finally:
            file.remove()
