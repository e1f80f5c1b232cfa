"""Bare connections of the benchmark: its own statements, run as directly as the drivers allow."""

import time
from array import array
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import apsw
import psycopg

from fairlead.stores.postgres.connection import conninfo, query
from fairlead.stores.sql import pyformat
from fairlead.stores.sqlite.address import parse
from fairlead.stores.sqlite.connection import connect

FOLDER = Path(__file__).parent / "queries"

Rows = list[tuple[Any, ...]]


def binary(statement: str) -> str:
    """The parameter style of psycopg with values in PostgreSQL's binary form."""
    return pyformat(statement).replace(")s", ")b")


@cache
def postgres_query(name: str) -> str:
    """The text of a statement for PostgreSQL."""
    return binary((FOLDER / "postgres" / f"{name}.sql").read_text(encoding="utf-8").strip())


@cache
def sqlite_query(name: str) -> str:
    """The text of a statement for SQLite."""
    return (FOLDER / "sqlite" / f"{name}.sql").read_text(encoding="utf-8").strip()


class Database(Protocol):
    """One blocking connection."""

    def rows(self, name: str, **parameters: Any) -> Rows:
        """Run a statement in a transaction of its own; returns its rows."""

    def now(self) -> float:
        """The clock that the store's timestamps come from."""

    def close(self) -> None:
        """Disconnect."""


class PostgresDatabase:
    """Statements are prepared, values and rows are binary."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(conninfo(url), autocommit=True)
        self.connection.execute(query("settle_session"))  # as the connections of the store are

    def rows(self, name: str, **parameters: Any) -> Rows:
        """Run a statement in a transaction of its own; returns its rows."""
        cursor = self.connection.cursor(binary=True)
        cursor.execute(postgres_query(name), parameters or None, prepare=bool(parameters))
        return cursor.fetchall() if cursor.description else []

    def now(self) -> float:
        """The server's clock."""
        return float(self.rows("now")[0][0])

    def close(self) -> None:
        """Disconnect."""
        self.connection.close()


class SqliteDatabase:
    """A connection with the store's own settings: WAL, synchronous=FULL, the same checkpoints."""

    def __init__(self, url: str) -> None:
        self.connection = connect(parse(url), create=True)

    def rows(self, name: str, **parameters: Any) -> Rows:
        """Run a statement in a transaction of its own; returns its rows."""
        return self.connection.execute(sqlite_query(name), parameters).fetchall()

    def now(self) -> float:
        """This machine's clock."""
        return time.time()

    def close(self) -> None:
        """Disconnect."""
        self.connection.close()


def open_database(url: str) -> Database:
    """A bare connection to the store behind a URL."""
    return PostgresDatabase(url) if url.startswith("postgres") else SqliteDatabase(url)


def numbers(ids: list[int]) -> Any:
    """Integers as SQLite's carray takes them."""
    return apsw.carray(array("q", ids))
