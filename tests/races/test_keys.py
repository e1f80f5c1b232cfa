"""Idempotency keys between two statements of one submission: what others commit meanwhile counts."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import psycopg
import pytest

from fairlead import wiring
from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.dead_letters import revive
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.core.jobs.states import State
from fairlead.ports.database import RunEach
from fairlead.records.enqueue import enqueue_script
from fairlead.records.store import Store
from fairlead.stores.postgres.connection import query
from tests.contract.making import claim_one, failed, keyed_job, new_lease, state_of

NOTE = AuditNote("ann", "replay", "dead letters", {})

pytestmark = pytest.mark.postgres


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    """A store on PostgreSQL."""
    opened = wiring.make_store(postgres_url)
    await opened.open()
    yield opened
    await opened.close()


async def enqueue_with(url: str, job: NewJob, meanwhile: Callable[[], Awaitable[None]], after: str) -> list[Enqueued]:
    """Submit a job statement by statement; something else happens after the first one of that name."""
    pending = [meanwhile]
    async with await psycopg.AsyncConnection.connect(url) as connection:
        script = enqueue_script([job])
        step = next(script)
        while True:
            assert isinstance(step, RunEach)
            given = {"shard": 0, "rows": json.dumps(step.rows)}
            cursor = await connection.execute(query(step.query), given)
            found: list[Any] = await cursor.fetchall() if cursor.description else []
            if step.query == after and pending:
                await pending.pop()()
            try:
                step = script.send(found)
            except StopIteration as done:
                answers: list[Enqueued] = done.value
                return answers


async def test_a_job_revived_after_its_key_was_read_as_free_keeps_it(postgres_url: str, store: Store) -> None:
    old, new = keyed_job("once"), keyed_job("once")
    await store.jobs.enqueue([old])
    await store.jobs.settle([failed(await claim_one(store, new_lease()), permanent=True)])
    dead = await store.reader.read(old.id)
    assert dead is not None

    async def bring_back() -> None:
        assert (await store.dead_letters.revive([revive(dead)], NOTE)).ids == {old.id}

    assert await enqueue_with(postgres_url, new, bring_back, "read_keys") == [Enqueued(old.id, True)]
    assert (await state_of(store, old.id), await state_of(store, new.id)) == (State.READY, None)
