"""Query plans: no hot statement may walk through a table."""

import time
from pathlib import Path

import apsw
import pytest

from fairlead.stores.sqlite.connection import query
from fairlead.stores.sqlite.migrate import apply_missing

HOT = [
    "active_lanes", "claim", "pick", "settle_succeeded", "settled_succeeded",
    "settle_plain", "settled_plain", "claim_run", "read_run", "settle_run", "settled_run", "claim_number",
    "insert_plain", "insert_one", "held", "read_fresh", "read_fresh_run", "read_fresh_runs",
    "insert_jobs", "lost", "promote", "prunable", "prune_attempts",
    "prune_history", "read_attempts", "read_many", "read_keys", "read_lanes", "renew", "reserve_keys", "settle_finish",
    "settle_note", "settle_return", "take_over_keys", "revive", "list_jobs", "forget_keys",
    "forgettable", "due", "due_lanes", "late", "promote_lanes", "read_ended", "begin_claim", "read_claimed",
    "claimed_under", "forget_claims", "cancel_requests", "count_down", "narrow_claims", "count_running", "holders",
]  # fmt: skip
# Steps of a jump along an index, rows handed over, claims (no more than jobs that run), a bounded number of rows that
# were looked up by place, and an index that holds only what is wanted.
ALLOWED = (
    "SCAN active", "SCAN owners", "SCAN CONSTANT ROW", "SCAN kept", "SCAN json_each", "SCAN carray",
    "SCAN r VIRTUAL TABLE", "SCAN quota VIRTUAL TABLE", "SCAN part VIRTUAL TABLE", "SCAN claim",
    "SCAN (subquery", "SCAN waiting", "SCAN due", "SCAN following", "SCAN next",
    "SCAN held USING INDEX idempotency_active",
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
    ["pick", "active_lanes", "lane_depths", "count_waiting", "count_jobs", "count_ahead", "live_beyond", "count_live"],
)
def test_ready_jobs_are_found_in_their_index_alone(name: str) -> None:
    connection = apsw.Connection(":memory:")
    apply_missing(connection, time.time())
    ready = [step for step in plan(connection, name) if "job_ready" in step]
    connection.close()
    assert ready
    assert [step for step in ready if " USING COVERING INDEX " not in step or "shard=?" in step] == []


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
    for path in sorted((Path(apply_missing.__code__.co_filename).parent / "queries").glob("*.sql")):
        connection.execute(f"explain {query(path.stem)}", _AnyValue()).fetchall()
    connection.close()


class _AnyValue(dict[str, int]):
    def __missing__(self, key: str) -> int:
        return 1
