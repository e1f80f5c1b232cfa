"""Query plans of what is done with dead letters: the cost is that of the jobs named, not of all that are dead."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from fairlead.stores.postgres.connection import query
from fairlead.stores.postgres.database import SHARD
from tests.conftest import migrate_now
from tests.support.postgres import DatabaseServer

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("dead_plans")]  # loaded once, in one process

JOBS = 60_000
FEW = 100

LOAD = """
insert into job_history (
    id, shard, lane, state, attempt, crashes, fence, run_at, created_at, finished_at, fingerprint, payload
)
select gen_random_uuid(), 0, 1, 'dead', 1, 0, 1, now(), now(), now(), 'f' || mod(number, 300), '{}'
from generate_series(1, %s) as number
"""


@pytest.fixture(scope="module", params=["never analysed", "analysed"])
def loaded(request: pytest.FixtureRequest, postgres_server: DatabaseServer, temporary_root: Any) -> str:
    """A database with many dead letters."""
    url = postgres_server.create_database(f"fairlead_dead_plans_{uuid4().hex}")
    migrate_now(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("insert into lane values (1, 'short', 'acme', 'mail', 2, 1)")
        connection.execute(LOAD, [JOBS])
        if request.param == "analysed":
            connection.execute("analyze")
    return url


@pytest.fixture
def connection(loaded: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(loaded) as opened:
        yield opened
        opened.rollback()


def chosen(connection: psycopg.Connection[Any]) -> str:
    """Some of the dead, as the store passes them."""
    found = connection.execute("select id::text, fence, finished_at from job_history limit %s", [FEW])
    rest = {"held_state": "dead", "lane": 1, "state": "ready", "payload": None}
    return json.dumps([{"id": row[0], "fence": row[1], "finished_at": row[2].isoformat(), **rest} for row in found])


@pytest.mark.parametrize("name", ["lock_dead", "revive", "cancel_dead", "remove_dead", "read_many", "purge_attempts"])
def test_jobs_that_are_named_are_found_by_their_ids(connection: psycopg.Connection[Any], name: str) -> None:
    statement = f"explain (analyze, buffers, format json) {query(name)}"
    found = connection.execute(statement.encode(), {"shard": SHARD, "rows": chosen(connection)}).fetchone()
    assert found is not None
    plan = found[0][0]["Plan"]
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 100 * FEW


def test_a_group_is_found_by_its_fingerprint(connection: psycopg.Connection[Any]) -> None:
    names = ("key", "type", "tenant", "pool", "priority", "error_type", "finished_after", "finished_before", "cursor")
    given = {**dict.fromkeys(names), "fingerprint": "f7", "shard": SHARD, "limit": 20}
    statement = f"explain (analyze, buffers, format json) {query('list_dead')}"
    found = connection.execute(statement.encode(), given).fetchone()
    assert found is not None
    plan = found[0][0]["Plan"]
    assert plan["Actual Rows"] == 20
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 1000
