"""Room in the pages of jobs for what a claim writes."""

import psycopg
import pytest

from fairlead.wiring import make_store
from tests.contract.making import claim, new_jobs, new_lease

pytestmark = pytest.mark.postgres

MANY = 1000


async def test_claimed_jobs_stay_in_their_pages(postgres_url: str) -> None:
    store = make_store(postgres_url)
    await store.open()
    try:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("vacuum job")
            await store.jobs.enqueue(new_jobs(MANY))
            before = _pages(connection)
            assert len(await claim(store, new_lease(), MANY)) == MANY
            assert _pages(connection) == before
    finally:
        await store.close()


def _pages(connection: psycopg.Connection) -> dict[str, int]:
    """The page of each job."""
    found = connection.execute("select id::text, (ctid::text::point)[0]::int from job")
    return dict(found.fetchall())
