"""Live jobs that an older version stored, when their columns get another order."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from fairlead.core.jobs.states import LIVE
from fairlead.stores.postgres import migrate as migrating
from fairlead.stores.postgres.migrate import migrate
from fairlead.wiring import make_store
from tests.contract.making import LANE, claim, new_jobs, new_lease
from tests.support.migrations import later_than, older_migrations
from tests.support.postgres import DatabaseServer

pytestmark = pytest.mark.postgres

BEFORE = 21  # the last schema with the old order
FILL = """
insert into job (
    id, shard, lane, state, attempt, crashes, fence, owner, lease, run_at, ready_at, not_after, created_at, started_at,
    parent, unique_key, options, error_type, error_message, failure, replays, payload, cancel_at, cancel_grace,
    cancel_by, cancel_reason
)
select
    gen_random_uuid(), 0, %(lane)s, state, number, number + 1, number + 2, gen_random_uuid(), gen_random_uuid(),
    now() + number * interval '1 second', now() + number * interval '2 seconds', now() + interval '3 hours',
    now() - interval '4 seconds', now() - interval '5 seconds', gen_random_uuid(), 'key' || number, 'options',
    'error', 'message', 'failure', number + 3, '{"number": 1}', now() - interval '6 seconds', 7.5, 'somebody', 'reason'
from unnest(%(states)s::text[]) with ordinality as given(state, number)
union all
select
    gen_random_uuid(), 0, %(lane)s, 'ready', 0, 0, 0, null, null, now(), now(), null, now(), null,
    null, null, null, null, null, null, 0, '{}', null, null, null, null
from generate_series(1, 5)
"""
JOBS = "select id::text, to_jsonb(job) from job"
INDEXES = "select indexname, indexdef from pg_indexes where tablename = 'job'"
SETTINGS = "select unnest(reloptions) as setting from pg_class where oid = 'job'::regclass"
RIGHTS = (
    "select has_table_privilege('pg_monitor', 'job', 'select'), has_table_privilege('pg_monitor', 'job', 'insert'), "
    "has_table_privilege('pg_monitor', 'job', 'delete')"
)
FIRST = "select attname from pg_attribute where attrelid = 'job'::regclass and attnum between 1 and 3 order by attnum"


@pytest.fixture
async def older(
    postgres_server: DatabaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_root: Path
) -> str:
    """A database as an earlier version made it."""
    url = postgres_server.create_database(f"fairlead_order_{uuid4().hex}")
    with monkeypatch.context() as patch:
        patch.setattr(migrating, "MIGRATIONS", older_migrations(migrating.MIGRATIONS, BEFORE, tmp_path))
        await migrate(url)
    return url


async def test_nothing_is_lost_but_the_order(older: str) -> None:
    with psycopg.connect(older, autocommit=True) as connection:
        connection.execute(FILL.encode(), {"lane": LANE.id, "states": [state.value for state in LIVE]})
        connection.execute("grant select, insert on job to pg_monitor")
        before = state_of_table(connection)
        assert len(before["jobs"]) == len(LIVE) + 5
        assert await migrate(older) == later_than(BEFORE)
        assert state_of_table(connection) == before
        assert connection.execute(FIRST).fetchall() == [("id",), ("lane",), ("run_at",)]


async def test_who_works_meanwhile_goes_on(older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of the version before has prepared its statements for the table that is dropped."""
    with monkeypatch.context() as patch:
        patch.setattr("fairlead.stores.postgres.store.check_schema", pass_any)
        store = make_store(older)
        await store.open()
    try:
        lease = new_lease()
        for _ in range(7):  # from the sixth time on a statement is prepared
            await store.jobs.enqueue(new_jobs(2))
            assert len(await claim(store, lease, 2)) == 2
        await store.jobs.enqueue(new_jobs(3))
        await migrate(older)
        assert len(await claim(store, lease, 3)) == 3
    finally:
        await store.close()


async def pass_any(connection: object) -> None:
    """No schema is wrong."""


def state_of_table(connection: psycopg.Connection[Any]) -> dict[str, Any]:
    """What the order of the columns must not change."""
    return {
        "jobs": dict(connection.execute(JOBS).fetchall()),
        "indexes": dict(connection.execute(INDEXES).fetchall()),
        "settings": sorted(connection.execute(SETTINGS).fetchall()),
        "rights": connection.execute(RIGHTS).fetchone(),
    }
