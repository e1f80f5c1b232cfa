"""Query plans: no hot statement may walk through a table."""

import time

import apsw
import pytest

from fairlead.stores.sqlite.connection import query
from fairlead.stores.sqlite.migrate import apply_missing

HOT = [
    "active_lanes", "pick", "claim", "read_claimed", "succeeded", "succeed", "remove_finished", "settle_held",
    "settle_noted", "settle_finished", "settle_returned", "insert_plain", "insert_jobs", "withdraw_finished", "held",
    "lost", "promote", "promote_lanes", "prune_history", "remove_history", "purge_attempts", "read_attempts",
    "read_many", "read_keys", "take_over_keys", "strengthen_keys", "reserve_keys", "read_lanes", "renew", "revive",
    "remove_revived", "remove_dead", "due", "due_lanes", "late", "read_ended", "claimed_under", "cancel_requests",
    "count_running", "holders", "list_jobs", "report_progress", "remember_effect", "amend_waiting", "request_cancel",
]  # fmt: skip
# Steps of a jump along an index, rows handed over, and a bounded number of rows that were found before.
ALLOWED = (
    "SCAN active", "SCAN owners", "SCAN CONSTANT ROW", "SCAN json_each", "SCAN r VIRTUAL TABLE",
    "SCAN quota VIRTUAL TABLE", "SCAN (subquery", "SCAN waiting", "SCAN due", "SCAN following", "SCAN value",
)  # fmt: skip


@pytest.mark.parametrize("name", HOT)
def test_hot_statements_use_an_index(name: str) -> None:
    connection = apsw.Connection(":memory:")
    apply_missing(connection, time.time())
    assert walks(connection, name) == []
    connection.close()


def walks(connection: apsw.Connection, name: str) -> list[str]:
    """The steps of a statement that go through a table, or make an index for one look."""
    steps = plan(connection, name)
    return [step for step in steps if (step.startswith("SCAN") and not step.startswith(ALLOWED)) or "AUTOMATIC" in step]


def plan(connection: apsw.Connection, name: str) -> list[str]:
    """The steps of a statement."""
    return [row[3] for row in connection.execute(f"explain query plan {query(name)}", _AnyValue(), can_cache=False)]


@pytest.mark.parametrize(
    "name",
    ["pick", "active_lanes", "lane_depths", "count_waiting", "count_jobs", "count_ahead"],
)
def test_ready_jobs_are_found_in_their_index_alone(name: str) -> None:
    connection = apsw.Connection(":memory:")
    apply_missing(connection, time.time())
    ready = [step for step in plan(connection, name) if "job_ready" in step]
    connection.close()
    assert ready
    assert [step for step in ready if " USING COVERING INDEX " not in step] == []


def test_what_a_file_holds_can_be_read_by_older_libraries() -> None:
    """Python's own library, and the tool that makes backups, read all views and indexes when they open the file."""
    connection = apsw.Connection(":memory:")
    apply_missing(connection, time.time())
    stored = [row[0] for row in connection.execute("select sql from sqlite_schema where sql is not null")]
    connection.close()
    assert stored
    assert not [sql for sql in stored if "->" in sql]


def test_every_statement_is_valid() -> None:
    connection = apsw.Connection(":memory:")
    apply_missing(connection, time.time())
    connection.execute("analyze")  # there are statements about its tables
    names = list(query)
    assert len(names) > 150
    for name in names:
        connection.execute(f"explain {query(name)}", _AnyValue()).fetchall()
    connection.close()


class _AnyValue(dict[str, int]):
    def __missing__(self, key: str) -> int:
        return 1
