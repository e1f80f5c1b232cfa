"""Successes are settled without being told one by one; which ones they were is read where it was not all of them."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from fairlead.core.jobs.model import Claim
from fairlead.records.store import Store
from fairlead.wiring import make_store
from tests.contract.making import claim, done, new_jobs, new_lease, same_worker, state_of

pytestmark = pytest.mark.postgres

JOBS = 12


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    store = make_store(postgres_url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def taken(store: Store) -> list[Claim]:
    await store.jobs.enqueue(new_jobs(JOBS))
    claims = await claim(store, new_lease(), JOBS)
    assert len(claims) == JOBS
    return claims


@pytest.mark.parametrize("result", [None, "[1]"])
async def test_an_answer_that_was_lost_can_be_asked_for_again(store: Store, result: str | None) -> None:
    """The commit arrived, and its answer did not: whoever settles once more hears that the jobs have succeeded."""
    settlements = [done(item)._replace(result=result) for item in await taken(store)]
    first = await store.jobs.settle(settlements[:5])
    assert first == {item.id for item in settlements[:5]}
    assert await store.jobs.settle(settlements) == {item.id for item in settlements}
    assert await store.jobs.settle(settlements) == {item.id for item in settlements}


@pytest.mark.parametrize("result", [None, "[1]"])
async def test_what_somebody_else_has_is_not_told(store: Store, postgres_url: str, result: str | None) -> None:
    """Of the jobs that were taken from a worker none counts for it, not even those that have succeeded meanwhile."""
    stale = await taken(store)
    with psycopg.connect(postgres_url, autocommit=True) as operator:
        operator.execute("update job set state = 'ready', owner = null, lease = null where id = any(%s)",
                         [[item.id for item in stale[:6]]])  # fmt: skip
    again = await claim(store, same_worker(new_lease()), 6)
    assert {item.id for item in again} == {item.id for item in stale[:6]}
    finished = {item.id for item in again[:3]}
    assert await store.jobs.settle([done(item) for item in again[:3]]) == finished
    kept = await store.jobs.settle([done(item)._replace(result=result) for item in stale])
    assert kept == {item.id for item in stale[6:]}
    assert {await state_of(store, item.id) for item in again[3:]} == {again[3].hold.state}
