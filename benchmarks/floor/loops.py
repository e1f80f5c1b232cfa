"""The bare loops, one for each database, as durable as the stores.

They write what a queue that runs a job at least once has to write, and nothing else: a job with an id made by its
client; a claim that names its owner and raises a fence; a settlement that counts only for that owner. There is one lane
and nothing is decoded. On PostgreSQL finished jobs move to a history; on SQLite they stay where they are, which is
faster there. Every batch is a commit of its own.
"""

import os
import time
import uuid
from array import array
from datetime import UTC, datetime
from typing import Any, Protocol

import apsw
import psycopg

from benchmarks.floor.statements import POSTGRES, SQLITE

TABLES = ("drop_job", "create_job", "create_ready")
HISTORY = ("drop_history", "create_history")


class Loop(Protocol):
    """The three steps of a job, each for many at once and durable when it returns."""

    def insert(self, payloads: list[str]) -> None:
        """Store jobs."""

    def claim(self, count: int) -> list[Any]:
        """Take up to so many jobs; returns by what they are settled."""

    def settle(self, jobs: list[Any]) -> None:
        """End taken jobs."""

    def close(self) -> None:
        """Disconnect."""


def _sequence() -> int:
    """Where the ids of a loop begin: they rise, as those of UUIDv7 do, and two loops have different ones."""
    return int.from_bytes(os.urandom(8), "big") << 64


class PostgresLoop:
    """One statement a step: arrays in, rows out, prepared."""

    def __init__(self, url: str) -> None:
        self.connection = postgres_connection(url)
        self._since = datetime.fromtimestamp(0, UTC)
        self._owner = uuid.uuid4()
        self._next = _sequence()

    def insert(self, payloads: list[str], statement: str = "insert") -> None:
        """Store jobs."""
        first, self._next = self._next, self._next + len(payloads)
        ids = ",".join([f"{number:032x}" for number in range(first, self._next)])
        self._rows(statement, ids=f"{{{ids}}}", payloads=payloads)

    def claim(self, count: int) -> list[str]:
        """Take up to so many jobs; none before the last one taken is left."""
        rows = self._rows("claim", count=count, since=self._since, owner=self._owner)
        if rows:
            self._since = max(row[1] for row in rows)
        return [row[0] for row in rows]

    def settle(self, jobs: list[str]) -> None:
        """Move taken jobs to the history."""
        self._rows("settle", ids=f"{{{','.join(jobs)}}}", owner=self._owner)

    def close(self) -> None:
        """Disconnect."""
        self.connection.close()

    def _rows(self, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor(binary=True)
        cursor.execute(POSTGRES[name], parameters, prepare=True)
        return cursor.fetchall() if cursor.description else []


class SqliteLoop:
    """One transaction a step; jobs that lie side by side are claimed and settled by their range, others by a list."""

    def __init__(self, url: str) -> None:
        self._connection = sqlite_connection(url)
        self._since = 0.0
        self._owner = os.urandom(16)
        self._next = _sequence()

    def insert(self, payloads: list[str]) -> None:
        """Store jobs."""
        now, first = time.time(), self._next
        self._next += len(payloads)
        rows = [(number.to_bytes(16, "big"), now, payload) for number, payload in enumerate(payloads, first)]
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(SQLITE["insert"], rows)
        self._connection.execute("COMMIT")

    def claim(self, count: int) -> list[int]:
        """Take up to so many jobs; none before the last one taken is left."""
        self._connection.execute("BEGIN IMMEDIATE")
        rows: list[Any] = self._connection.execute(SQLITE["pick"], {"since": self._since, "count": count}).fetchall()
        places = [row[0] for row in rows]
        if places:
            self._change("claim", places, {"owner": self._owner})
            self._since = rows[-1][1]
        self._connection.execute("COMMIT")
        return places

    def settle(self, jobs: list[int]) -> None:
        """End taken jobs."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._change("settle", jobs, {"owner": self._owner, "now": time.time()})
        self._connection.execute("COMMIT")

    def _change(self, name: str, places: list[int], given: dict[str, Any]) -> None:
        first, last = min(places), max(places)
        if last - first + 1 == len(places):
            self._connection.execute(SQLITE[f"{name}_run"], {**given, "first": first, "last": last})
        else:
            self._connection.execute(SQLITE[name], {**given, "places": apsw.carray(array("q", places))})

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()


def open_loop(url: str) -> Loop:
    """A loop on a connection of its own."""
    return PostgresLoop(url) if url.startswith("postgres") else SqliteLoop(url)


def create_tables(url: str) -> None:
    """Empty bare tables."""
    if url.startswith("postgres"):
        with postgres_connection(url) as connection:
            for name in TABLES + HISTORY:
                connection.execute(POSTGRES[name])
    else:
        file = sqlite_connection(url)
        for name in TABLES:
            file.execute(SQLITE[name])
        file.close()


def postgres_connection(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection that compiles no statements, as those of the store."""
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("SET jit = off")
    return connection


def sqlite_connection(url: str) -> apsw.Connection:
    """A connection with the store's durability: WAL, synchronous=FULL."""
    connection = apsw.Connection(url.removeprefix("sqlite:///").partition("?")[0])
    connection.set_busy_timeout(10_000)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    return connection
