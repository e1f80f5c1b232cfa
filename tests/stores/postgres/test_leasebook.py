"""Renewing leases while PostgreSQL does not answer."""

import uuid
from collections.abc import Iterator

import psycopg
import pytest

from fairlead.core.jobs.workers import WorkerInfo
from fairlead.errors import StoreUnavailable
from fairlead.stores.postgres.leasebook import PostgresLeaseBook
from fairlead.wiring import make_store

pytestmark = pytest.mark.postgres


@pytest.fixture
def book(postgres_url: str) -> Iterator[PostgresLeaseBook]:
    """A lease book."""
    opened = PostgresLeaseBook(postgres_url)
    yield opened
    opened.close()


async def test_a_renewal_that_hangs_is_given_up_and_the_next_one_works(
    postgres_url: str, book: PostgresLeaseBook
) -> None:
    worker = str(uuid.uuid4())
    store = make_store(postgres_url)
    await store.open()
    try:
        await store.workers.register(WorkerInfo(worker, "host", 1, ("short",), ("mail",), 1, "1"), 60.0)
    finally:
        await store.close()
    assert book.renew([worker], 3.0) == {worker}
    with psycopg.connect(postgres_url) as blocker:
        blocker.execute("select 1 from worker where id = %s for update", [worker])
        with pytest.raises(StoreUnavailable, match="did not renew a lease"):
            book.renew([worker], 3.0)
    assert book.renew([worker], 3.0) == {worker}
