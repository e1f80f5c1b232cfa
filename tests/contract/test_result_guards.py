"""A success with a result counts only in the situation it was decided in, as one without does."""

from typing import Any
from uuid import uuid4

import pytest

from fairlead.core.jobs.model import Claim, Ending
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import claim_one, done, ended, enqueue_one, new_lease

WRONG_PARTS: dict[str, Any] = {"fence": 2, "owner": str(uuid4()), "lease": str(uuid4())}


@pytest.fixture
async def running(store: Store) -> Claim:
    """A job that somebody runs."""
    await enqueue_one(store)
    return await claim_one(store, new_lease())


@pytest.mark.parametrize("part", WRONG_PARTS)
async def test_a_result_with_a_wrong_part_of_the_hold_is_refused(store: Store, running: Claim, part: str) -> None:
    late = done(running, '"late"')._replace(hold=running.hold._replace(**{part: WRONG_PARTS[part]}))
    assert await store.jobs.settle([late]) == set()
    record = await store.reader.read(running.id)
    assert record is not None
    assert (record.state, record.result) == (State.RUNNING, None)
    assert await store.jobs.settle([done(running, '"good"')]) == {running.id}


async def test_a_late_result_does_not_replace_that_of_the_run_that_took_over(store: Store, running: Claim) -> None:
    await store.jobs.settle([ended(running, Ending.LOST)])
    again = await claim_one(store, new_lease())
    assert await store.jobs.settle([done(running, '"late"'), done(again, '"good"')]) == {again.id}
    assert await store.jobs.settle([done(running, '"later"')]) == set()
    record = await store.reader.read(running.id)
    assert record is not None
    assert (record.state, record.result) == (State.SUCCEEDED, '"good"')
