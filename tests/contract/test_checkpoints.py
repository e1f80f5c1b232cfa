"""Checkpoints: saved under the hold of a run, the newest wins, a few are kept, all go with the job's record."""

import asyncio
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.checkpoints import KEPT, LastCheckpoint, NewCheckpoint
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Claim, Ending, Outcome, Settlement
from fairlead.core.jobs.settle import settle
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import POLICY, claim_one, done, enqueue_one, failed, new_lease
from tests.contract.world import World

NOTE = AuditNote("ann@desk", "purge", "dead letters")
WEEK = 7 * 86_400.0


async def running(store: Store) -> Claim:
    """A job that a worker runs."""
    await enqueue_one(store)
    return await claim_one(store, new_lease())


def checkpoint(claim: Claim, state: str = "{}", **changed: Any) -> NewCheckpoint:
    """A checkpoint of a run."""
    owner, token = claim.lease
    return NewCheckpoint(claim.id, claim.fence, owner, token, 1, "checkpoint", state)._replace(**changed)


async def save(store: Store, claim: Claim, state: str = "{}", **changed: Any) -> LastCheckpoint | None:
    """What is saved of one checkpoint."""
    return (await store.checkpoints.save([checkpoint(claim, state, **changed)])).get(claim.id)


async def newest(store: Store, claim: Claim) -> str | None:
    """The content of the newest checkpoint."""
    found = await store.checkpoints.newest(claim.id)
    return None if found is None else found.state


def interrupted(claim: Claim, last: LastCheckpoint | None, ending: Ending = Ending.RELEASED) -> Settlement:
    """The settlement of a run that was interrupted."""
    return settle(claim, Outcome(ending, checkpoint=last), POLICY, Random(0))


async def test_the_newest_checkpoint_is_the_one_to_resume_from(store: Store) -> None:
    claim, other = await running(store), await running(store)
    assert await newest(store, claim) is None
    assert await save(store, claim, '{"page": "ä"}') == LastCheckpoint(1, 1)
    saved = await store.checkpoints.save([checkpoint(claim, "2", name="rows", version=7), checkpoint(other, "9")])
    assert saved == {claim.id: LastCheckpoint(2, 1), other.id: LastCheckpoint(1, 1)}
    found = await store.checkpoints.newest(claim.id)
    assert found is not None
    assert (found.last, found.version, found.state) == (LastCheckpoint(2, 1), 7, "2")
    assert await newest(store, other) == "9"


async def test_the_last_checkpoints_are_kept(world: World) -> None:
    store, claim = world.store, await running(world.store)
    for number in range(1, 13):
        world.advance(1)
        assert await save(store, claim, "ä" * number, name=f"step {number}") == LastCheckpoint(number, 1)
    kept = await store.checkpoints.kept(claim.id)
    assert [(item.number, item.name, item.size) for item in kept] == [
        (number, f"step {number}", 2 * number) for number in range(12, 12 - KEPT, -1)
    ]
    assert kept[0].at - kept[-1].at == timedelta(seconds=KEPT - 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"fence": 2},
        {"owner": "00000000-0000-4000-8000-000000000001"},
        {"lease": "00000000-0000-4000-8000-000000000001"},
    ],
)
async def test_a_run_that_does_not_own_the_job_saves_nothing(store: Store, wrong: dict[str, Any]) -> None:
    claim = await running(store)
    assert await save(store, claim, **wrong) is None
    assert await newest(store, claim) is None


async def test_a_late_writer_is_refused(world: World) -> None:
    store, lease = world.store, await world.worker(10)
    await enqueue_one(store)
    zombie = await claim_one(store, lease)
    assert await save(store, zombie, "1") == LastCheckpoint(1, 1)
    await store.jobs.settle([failed(zombie)])
    assert await save(store, zombie, "2") is None
    world.advance(60)
    await store.promotion.promote(10)
    current = await claim_one(store, new_lease())
    assert await save(store, zombie, "2") is None
    assert await newest(store, current) == "1", "the next attempt goes on from it"
    assert await save(store, current, "3") == LastCheckpoint(2, 2)


async def test_resumptions_are_counted_with_the_settlement(store: Store) -> None:
    claim = await running(store)
    last = await save(store, claim)
    assert await store.jobs.settle([interrupted(claim, last)]) == {claim.id}
    resumed = await claim_one(store, new_lease())
    assert resumed.attempt == claim.attempt
    found = (await store.checkpoints.last([claim.id]))[claim.id]
    assert found == LastCheckpoint(1, claim.fence, resumptions=1, stalled=1)
    assert await save(store, resumed) == LastCheckpoint(2, resumed.fence, resumptions=1)
    assert (await store.checkpoints.last([claim.id]))[claim.id].stalled == 0


async def test_a_settlement_that_is_refused_counts_no_resumption(store: Store) -> None:
    claim = await running(store)
    last = await save(store, claim)
    late = interrupted(claim, last)
    await store.jobs.settle([done(claim)])
    assert await store.jobs.settle([late]) == set()
    assert (await store.checkpoints.last([claim.id]))[claim.id] == LastCheckpoint(1, claim.fence)


async def test_two_resumptions_without_progress_are_a_failure(world: World) -> None:
    store, claim = world.store, await running(world.store)
    assert await store.jobs.settle([interrupted(claim, await save(store, claim))])
    again = await claim_one(store, new_lease())
    last = (await store.checkpoints.last([claim.id]))[claim.id]
    assert await store.jobs.settle([interrupted(again, last, Ending.LOST)])
    record = await store.reader.read(claim.id)
    assert record is not None
    assert (record.state, record.attempt) == (State.RETRYING, 1)
    assert record.error is not None
    assert record.error.type == "NoProgress"
    assert (await store.checkpoints.last([claim.id]))[claim.id] == LastCheckpoint(1, claim.fence)


async def test_checkpoints_go_with_the_record_of_their_job(world: World) -> None:
    store = world.store
    claim, kept = await running(store), await running(store)
    await save(store, claim)
    await save(store, kept)
    await store.jobs.settle([done(claim)])
    assert await store.jobs.prune({}, WEEK, 100) == 0
    assert await newest(store, claim) == "{}"
    world.advance(timedelta(days=1).total_seconds())
    await store.jobs.settle([done(kept)])
    assert await store.jobs.prune({"mail": 3600.0}, WEEK, 100) == 1
    assert await newest(store, claim) is None
    assert await newest(store, kept) == "{}"


async def test_checkpoints_go_with_a_whole_day_of_history(world: World) -> None:
    """On PostgreSQL a partition is dropped, and nothing deletes its rows one by one."""
    store = world.store
    claim, live = await running(store), await running(store)
    await store.jobs.prune({}, WEEK, 100)
    await save(store, claim)
    await save(store, live)
    await store.jobs.settle([done(claim)])
    world.advance(timedelta(days=20).total_seconds())
    assert await store.jobs.prune({}, WEEK, 100) == 1
    assert await newest(store, claim) is None
    assert await newest(store, live) == "{}"


async def test_checkpoints_go_with_a_purge(world: World) -> None:
    store, claim = world.store, await running(world.store)
    await save(store, claim)
    await store.jobs.settle([failed(claim, permanent=True)])
    world.advance(10)
    assert await store.dead_letters.purge(JobFilter(states=(State.DEAD,)), 1.0, 10, NOTE) == 1
    assert await newest(store, claim) is None


async def test_a_checkpoint_against_a_settlement_is_before_it_or_refused(shared_world: World) -> None:
    worker, other = shared_world.store, await shared_world.another_store()
    for _ in range(30):
        claim = await running(worker)
        saved, settled = await asyncio.gather(
            save(other, claim, "1"), worker.jobs.settle([failed(claim, permanent=True)])
        )
        assert settled == {claim.id}
        assert await newest(worker, claim) == (None if saved is None else "1")


async def test_checkpoints_at_once_get_numbers_of_their_own(shared_world: World) -> None:
    one, two = shared_world.store, await shared_world.another_store()
    claim = await running(one)
    for _ in range(20):
        saved = await asyncio.gather(save(one, claim), save(two, claim))
        numbers = [item.number for item in saved if item is not None]
        assert len(numbers) == len(set(numbers)) > 0


async def test_a_transaction_moves_with_its_checkpoint(postgres_world: World) -> None:
    store = postgres_world.store
    claim = await running(store)
    opened = await store.jobs.begin()
    await opened.connection.execute("create table kept_with_checkpoint (number int)")
    assert await newest(store, claim) is None
    assert await opened.save(checkpoint(claim, "1")) == LastCheckpoint(1, claim.fence)
    try:
        assert await newest(store, claim) == "1"
        again = await store.jobs.begin()
        await again.connection.execute("insert into kept_with_checkpoint values (1)")
        await store.jobs.settle([done(claim)])
        assert await again.save(checkpoint(claim, "2")) is None
        assert await newest(store, claim) == "1"
        assert await rows_of(store, "kept_with_checkpoint") == []
    finally:
        await drop_table(store)


async def drop_table(store: Store) -> None:
    """Remove the table, committed with a checkpoint of a job of its own."""
    claim = await running(store)
    opened = await store.jobs.begin()
    await opened.connection.execute("drop table kept_with_checkpoint")
    assert await opened.save(checkpoint(claim)) is not None


async def rows_of(store: Store, table: str) -> list[Any]:
    """The rows of a table, as committed."""
    opened = await store.jobs.begin()
    try:
        found: list[Any] = await (await opened.connection.execute(f"select * from {table}")).fetchall()
        return found
    finally:
        await opened.abandon()
