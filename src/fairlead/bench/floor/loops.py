"""The bare loops, one for each database, as fast as we could make them; durability is what the store promises.

They write what a queue that runs a job at least once has to write, and nothing else: a job with an id that its client
made, so that a submission can be repeated; a claim that names its owner and raises a fence; a settlement that counts
only for that owner. Both have a table of live jobs with a primary key and a narrow index of the ready ones. On
PostgreSQL finished jobs move to a history with a primary key, so that the outcome of a job can be looked up and the
live ones stay few; on SQLite they stay where they are, which is faster there. There is one lane, and nothing is
decoded. Every batch is a commit of its own, as it is in Fairlead.
"""

import os
import time
import uuid
from datetime import UTC, datetime
from typing import Any, Protocol

from fairlead.bench.database import PostgresDatabase, SqliteDatabase, numbers, open_database, sqlite_query

TABLES = ("floor_drop_job", "floor_create_job", "floor_create_ready")
HISTORY = ("floor_drop_history", "floor_create_history")


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
        self._database = PostgresDatabase(url)
        self._since = datetime.fromtimestamp(0, UTC)
        self._owner = uuid.uuid4()
        self._next = _sequence()

    def insert(self, payloads: list[str], statement: str = "floor_insert") -> None:
        """Store jobs."""
        first, self._next = self._next, self._next + len(payloads)
        ids = ",".join([f"{number:032x}" for number in range(first, self._next)])
        self._database.rows(statement, ids=f"{{{ids}}}", payloads=payloads)

    def claim(self, count: int) -> list[str]:
        """Take up to so many jobs; none before the last one taken is left."""
        rows = self._database.rows("floor_claim", count=count, since=self._since, owner=self._owner)
        if rows:
            self._since = max(row[1] for row in rows)
        return [row[0] for row in rows]

    def settle(self, jobs: list[str]) -> None:
        """Move taken jobs to the history."""
        self._database.rows("floor_settle", ids=f"{{{','.join(jobs)}}}", owner=self._owner)

    def close(self) -> None:
        """Disconnect."""
        self._database.close()


class SqliteLoop:
    """One transaction a step; jobs that lie side by side are claimed and settled by their range, others by a list."""

    def __init__(self, url: str) -> None:
        self._database = SqliteDatabase(url)
        self._connection = self._database.connection
        self._since = 0.0
        self._owner = os.urandom(16)
        self._next = _sequence()

    def insert(self, payloads: list[str]) -> None:
        """Store jobs."""
        now, first = time.time(), self._next
        self._next += len(payloads)
        rows = [(number.to_bytes(16, "big"), now, payload) for number, payload in enumerate(payloads, first)]
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(sqlite_query("floor_insert"), rows)
        self._connection.execute("COMMIT")

    def claim(self, count: int) -> list[int]:
        """Take up to so many jobs; none before the last one taken is left."""
        self._connection.execute("BEGIN IMMEDIATE")
        rows: list[Any] = self._connection.execute(
            sqlite_query("floor_pick"), {"since": self._since, "count": count}
        ).fetchall()
        places = [row[0] for row in rows]
        if places:
            self._change("floor_claim", places, {"owner": self._owner})
            self._since = rows[-1][1]
        self._connection.execute("COMMIT")
        return places

    def settle(self, jobs: list[int]) -> None:
        """End taken jobs."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._change("floor_settle", jobs, {"owner": self._owner, "now": time.time()})
        self._connection.execute("COMMIT")

    def _change(self, name: str, places: list[int], given: dict[str, Any]) -> None:
        first, last = min(places), max(places)
        if last - first + 1 == len(places):
            self._connection.execute(sqlite_query(f"{name}_run"), {**given, "first": first, "last": last})
        else:
            self._connection.execute(sqlite_query(name), {**given, "places": numbers(places)})

    def close(self) -> None:
        """Disconnect."""
        self._database.close()


def open_loop(url: str) -> Loop:
    """A loop on a connection of its own."""
    return PostgresLoop(url) if url.startswith("postgres") else SqliteLoop(url)


def create_tables(url: str) -> None:
    """Empty bare tables."""
    database = open_database(url)
    try:
        for name in TABLES + HISTORY if isinstance(database, PostgresDatabase) else TABLES:
            database.rows(name)
    finally:
        database.close()
