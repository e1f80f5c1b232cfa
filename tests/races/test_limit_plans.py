"""What a claim under limits reads on PostgreSQL: what runs and what it takes, never the backlog of a full limit."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from fairlead.core.jobs.model import Quota
from fairlead.stores.postgres.connection import query
from fairlead.stores.postgres.database import SHARD
from tests.conftest import migrate_now
from tests.contract.making import new_lease
from tests.races.test_plans import scans_of_job
from tests.support.postgres import DatabaseServer

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("limit_plans")]  # loaded once, in one process

BACKLOG = 100_000
RUNNING = 20
FULL, OPEN = 1, 2
FEW_BLOCKS = 300

LOAD = """
insert into job (
    id, shard, lane, state, attempt, crashes, fence, owner, lease, run_at, ready_at, created_at, started_at, payload
)
select
    gen_random_uuid(), 0, %(lane)s, %(state)s, 1, 0, 1, case when %(state)s = 'running' then gen_random_uuid() end,
    null, now(), now(), now(), now(), '{}'
from generate_series(1, %(count)s)
"""


@pytest.fixture(scope="module", params=["never analysed", "analysed when nearly empty", "analysed"])
def loaded(request: pytest.FixtureRequest, postgres_server: DatabaseServer) -> str:
    """A lane whose limit is full, with a long backlog, and one that is open."""
    url = postgres_server.create_database(f"fairlead_limit_plans_{uuid4().hex}")
    migrate_now(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter table job set (autovacuum_enabled = false)")
        connection.execute(LOAD.encode(), {"lane": FULL, "state": "running", "count": RUNNING})
        if request.param == "analysed when nearly empty":
            connection.execute("analyze")
        connection.execute(LOAD.encode(), {"lane": FULL, "state": "ready", "count": BACKLOG})
        connection.execute(LOAD.encode(), {"lane": OPEN, "state": "ready", "count": RUNNING})
        if request.param == "analysed":
            connection.execute("analyze")
    return url


@pytest.fixture
def connection(loaded: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection whose changes are undone."""
    with psycopg.connect(loaded) as opened:
        yield opened
        opened.rollback()


@pytest.mark.parametrize("name", ["count_running", "claim", "active_lanes"])
def test_the_backlog_of_a_full_limit_is_not_read(connection: psycopg.Connection[Any], name: str) -> None:
    owner, lease = new_lease()
    wanted = json.dumps([Quota(OPEN, RUNNING)._asdict()])
    given = {"shard": SHARD, "rows": wanted, "owner": owner, "lease": lease, "lanes": "[]"}
    statement = f"explain (analyze, buffers, format json) {query(name)}"
    found = connection.execute(statement.encode(), given).fetchone()
    assert found is not None
    plan = found[0][0]["Plan"]
    assert list(scans_of_job(plan)) == []
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < FEW_BLOCKS
