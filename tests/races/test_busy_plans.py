"""Looks beside lanes and workers that are busy: an index keeps what these have done until it is vacuumed."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from fairlead.stores.postgres.connection import query
from fairlead.stores.postgres.database import SHARD
from tests.conftest import migrate_now
from tests.support.postgres import DatabaseServer

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("plans")]

BUSY, QUIET = 500, 900
LIVE, LOST = "77777777-0000-7000-8000-000000000000", "99999999-0000-7000-8000-000000000000"
FEW_BLOCKS = 40
WORKERS = 20

INSERT = """
insert into job (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload)
select gen_random_uuid(), 0, %s, 'ready', 0, 0, 0, now(), now(), now(), '{}' from generate_series(1, %s)
"""
CLAIM = """
update job set state = 'running', owner = %s, lease = gen_random_uuid(), fence = 1, started_at = now()
where ctid in (select ctid from job where state = 'ready' and lane = %s limit %s)
"""
WORKER = """
insert into worker (id, host, pid, pools, types, slots, version, state, started_at, lease_until, report)
values (%s, 'host', 1, '[]', '[]', 1, '1', 'live', now(), now() + %s * interval '1 hour', '{}')
"""


@pytest.fixture(scope="module")
def busy(postgres_server: DatabaseServer, temporary_root: Any) -> Iterator[psycopg.Connection[Any]]:
    """A database where a live worker has run many jobs of a lane, which nobody has vacuumed."""
    url = postgres_server.create_database(f"fairlead_busy_{uuid4().hex}")
    migrate_now(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter table job set (autovacuum_enabled = false)")
        connection.execute(WORKER.encode(), [LIVE, 1])
        connection.execute(WORKER.encode(), [LOST, -1])
        connection.execute(INSERT.encode(), [BUSY, 30_000])
        connection.execute(INSERT.encode(), [QUIET, 2])
        connection.execute("analyze job")  # when nothing was running: the planner does not expect that anything is
        connection.execute(CLAIM.encode(), [LIVE, BUSY, 29_990])
        connection.execute(CLAIM.encode(), [LOST, QUIET, 1])
        connection.execute("delete from job where state = 'running' and owner = %s", [LIVE])
        for number in range(WORKERS):
            other = f"88888888-0000-7000-8000-{number:012}"
            connection.execute(WORKER.encode(), [other, 1])
            connection.execute(INSERT.encode(), [BUSY, 20])
            connection.execute(CLAIM.encode(), [other, BUSY, 20])
        yield connection


def look(connection: psycopg.Connection[Any], name: str, **given: Any) -> tuple[list[Any], int, dict[str, Any]]:
    """What a statement finds, how many blocks it reads for that, and its plan."""
    values = {"shard": SHARD, **given}
    found = connection.execute(query(name).encode(), values).fetchall()
    explained = connection.execute(f"explain (analyze, buffers, format json) {query(name)}".encode(), values).fetchone()
    assert explained is not None
    plan = explained[0][0]["Plan"]
    return found, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], plan


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes(inner)


def test_whoever_knows_that_a_lane_is_busy_does_not_read_what_was_claimed_of_it(
    busy: psycopg.Connection[Any],
) -> None:
    found, blocks, _ = look(busy, "active_lanes", lanes=f"[{BUSY}]")
    assert [row[0] for row in found] == [QUIET]
    assert blocks < FEW_BLOCKS
    found, blocks, _ = look(busy, "active_lanes", lanes="[]")
    assert [row[0] for row in found] == [BUSY, QUIET]
    assert blocks > FEW_BLOCKS, "there is nothing to be spared here, so this test shows nothing"


def test_jobs_of_lost_workers_are_found_without_reading_what_live_ones_have_run(busy: psycopg.Connection[Any]) -> None:
    found, blocks, plan = look(busy, "lost", limit=100)
    assert [(row[1], row[7]) for row in found] == [(QUIET, LOST)]
    assert blocks < FEW_BLOCKS + 3 * WORKERS
    assert [node["Actual Loops"] for node in nodes(plan) if node["Node Type"] == "WindowAgg"] == [1]
    assert len(busy.execute("select from job where state = 'running'").fetchall()) == 1 + 20 * WORKERS
