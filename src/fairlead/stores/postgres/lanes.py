"""Lanes for submissions in somebody else's transaction.

A lane that was written in the caller's transaction would be locked until that ends: every other submission to it would
wait, and two transactions could wait for each other.
"""

import json
from collections.abc import Iterable
from typing import Any

import psycopg

from fairlead.core.jobs.model import Lane
from fairlead.ports.database import RunEach, Statement
from fairlead.records.lanes import ensure_lanes
from fairlead.stores.postgres.connection import query, translating
from fairlead.stores.within import drive


def write_lanes(conninfo: str, lanes: Iterable[Lane]) -> None:
    """Write lanes on a connection of our own, and commit; this blocks."""
    with translating(), psycopg.connect(conninfo, autocommit=True) as connection, connection.transaction():
        drive(ensure_lanes(lanes), lambda statement: _perform(connection, statement))


def _perform(connection: psycopg.Connection[Any], statement: Statement) -> list[Any]:
    assert isinstance(statement, RunEach)
    cursor = connection.execute(query(statement.query).encode(), {"rows": json.dumps(statement.rows)})
    return cursor.fetchall() if cursor.description else []
