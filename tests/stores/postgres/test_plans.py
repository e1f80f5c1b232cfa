"""No plan of a hot statement depends on statistics: tables go from empty to full within seconds."""

from collections.abc import AsyncIterator
from typing import Any, cast

import psycopg
import pytest

from fairlead.core.jobs.model import Ending
from fairlead.records.store import Store
from fairlead.stores.postgres import connection as connections
from fairlead.stores.postgres.store import PostgresStore
from fairlead.wiring import make_store
from tests.contract.making import LANE, claim, done, ended, failed, keyed_job, new_job, new_lease

pytestmark = pytest.mark.postgres

FLOOD = """
insert into job (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload)
select gen_random_uuid(), 0, %s, 'ready', 0, 0, 0, now(), now(), now(), '{}' from generate_series(1, 200000)
"""
SCANS = "select seq_scan, seq_tup_read from pg_stat_user_tables where relname = 'job'"


@pytest.fixture
async def store(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    """One with a single connection, so that what it has prepared is used again."""
    pool = connections.make_pool
    monkeypatch.setattr("fairlead.stores.postgres.store.make_pool", lambda url: pool(url, size=1))
    opened = make_store(postgres_url)
    await opened.open()
    try:
        yield opened
    finally:
        await opened.close()


async def work(store: Store) -> None:
    """What workers and submitters do all the time."""
    await store.jobs.enqueue([new_job() for _ in range(8)])
    await store.jobs.enqueue([keyed_job("k"), new_job(delay=0.001)])
    await store.reader.active_lanes()
    lease = new_lease()
    claims = await claim(store, lease, 8)
    assert len(claims) == 8
    await store.reader.held([claims[0].id])
    settled = [*map(done, claims[:4]), failed(claims[4]), failed(claims[5], permanent=True)]
    settled += [ended(item, Ending.SNOOZED) for item in claims[6:]]
    assert len(await store.jobs.settle(settled)) == 8
    await store.promotion.promote(10)
    await store.reader.lost(10)
    await store.changes.cancel_requests(lease.owner)


async def test_what_was_prepared_on_an_empty_table_goes_by_indexes_in_a_flood(store: Store, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as operator:
        operator.execute("analyze job")
        for _ in range(12):  # often enough for plans that are kept
            await work(store)
        operator.execute("delete from job")
        operator.execute("vacuum analyze job")
        await work(store)
        operator.execute(FLOOD, [LANE.id])
        before = await scans(store, operator)
        for _ in range(3):
            await work(store)
        assert await scans(store, operator) == before


async def scans(store: Store, operator: psycopg.Connection[Any]) -> Any:
    """How often anybody read the whole table, once the store's session has said what it did."""
    async with cast(PostgresStore, store.jobs).connection() as connection:
        await connection.execute("select pg_stat_force_next_flush()")
    operator.execute("select pg_stat_clear_snapshot()")
    return operator.execute(SCANS).fetchone()
