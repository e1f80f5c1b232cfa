"""Effects: remembered under the hold of a run, found by later ones, gone with the job's record."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.dead_letters import revive
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Claim
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import claim_one, done, enqueue_one, failed, new_lease
from tests.contract.world import World

NOTE = AuditNote("ann@desk", "replay", "dead letters")
WEEK = 7 * 86_400.0


async def running(store: Store) -> Claim:
    """A job that a worker runs."""
    await enqueue_one(store)
    return await claim_one(store, new_lease())


async def remember(store: Store, claim: Claim, name: str = "charge", result: str = "1") -> str | None:
    return await store.run_state.remember_effect(claim.id, claim.hold, name, result)


async def test_an_effect_is_remembered_by_its_name(store: Store) -> None:
    claim, other = await running(store), await running(store)
    assert await store.run_state.recall_effect(claim.id, "charge") is None
    assert await remember(store, claim, "charge", '{"id": "ä"}') == '{"id": "ä"}'
    assert await store.run_state.recall_effect(claim.id, "charge") == '{"id": "ä"}'
    assert await store.run_state.recall_effect(claim.id, "mail") is None
    assert await store.run_state.recall_effect(other.id, "charge") is None


async def test_what_was_remembered_first_stays(store: Store) -> None:
    claim = await running(store)
    assert await remember(store, claim, result="1") == "1"
    assert await remember(store, claim, result="2") == "1"
    assert await store.run_state.recall_effect(claim.id, "charge") == "1"


@pytest.mark.parametrize(
    "wrong",
    [
        {"fence": 2},
        {"owner": "00000000-0000-4000-8000-000000000001"},
        {"lease": "00000000-0000-4000-8000-000000000001"},
    ],
)
async def test_a_run_that_does_not_own_the_job_remembers_nothing(store: Store, wrong: dict[str, Any]) -> None:
    claim = await running(store)
    assert await store.run_state.remember_effect(claim.id, claim.hold._replace(**wrong), "charge", "1") is None
    assert await store.run_state.recall_effect(claim.id, "charge") is None


async def test_a_zombie_remembers_nothing(world: World) -> None:
    store, lease = world.store, await world.worker(10)
    await enqueue_one(store)
    zombie = await claim_one(store, lease)
    assert await remember(store, zombie, "first") == "1"
    await store.jobs.settle([failed(zombie)])
    assert await remember(store, zombie, "second") is None
    assert await remember(store, zombie, "first", "2") is None, "not even what is known"
    world.advance(60)
    await store.promotion.promote(10)
    current = await claim_one(store, new_lease())
    assert await remember(store, zombie, "second") is None
    assert await remember(store, current, "second") == "1"
    assert await store.run_state.recall_effect(current.id, "first") == "1"


async def test_a_run_that_was_asked_to_end_still_remembers(store: Store) -> None:
    claim = await running(store)
    hold = claim.hold._replace(cancelled=True)
    assert await store.run_state.remember_effect(claim.id, hold, "charge", "1") == "1"


async def test_a_replayed_job_finds_its_effects(store: Store) -> None:
    claim = await running(store)
    await remember(store, claim)
    await store.jobs.settle([failed(claim, permanent=True)])
    record = await store.reader.read(claim.id)
    assert record is not None
    await store.dead_letters.revive([revive(record)], NOTE)
    again = await claim_one(store, new_lease())
    assert await store.run_state.recall_effect(again.id, "charge") == "1"


async def test_effects_go_with_the_record_of_their_job(world: World) -> None:
    store = world.store
    claim, kept = await running(store), await running(store)
    await remember(store, claim)
    await remember(store, kept)
    await store.jobs.settle([done(claim)])
    assert await store.jobs.prune({}, WEEK, 100) == 0
    assert await store.run_state.recall_effect(claim.id, "charge") == "1"
    world.advance(timedelta(days=1).total_seconds())
    await store.jobs.settle([done(kept)])
    assert await store.jobs.prune({"mail": 3600.0}, WEEK, 100) == 1
    assert await store.run_state.recall_effect(claim.id, "charge") is None
    assert await store.run_state.recall_effect(kept.id, "charge") == "1"


async def test_effects_go_with_a_whole_day_of_history(world: World) -> None:
    """On PostgreSQL a partition is dropped, and nothing deletes its rows one by one."""
    store = world.store
    claim, live = await running(store), await running(store)
    await store.jobs.prune({}, WEEK, 100)
    await remember(store, claim)
    await remember(store, live)
    await store.jobs.settle([done(claim)])
    world.advance(timedelta(days=20).total_seconds())
    assert await store.jobs.prune({}, WEEK, 100) == 1
    assert await store.run_state.recall_effect(claim.id, "charge") is None
    assert await store.run_state.recall_effect(live.id, "charge") == "1"


async def test_effects_go_with_a_purge(world: World) -> None:
    store, claim = world.store, await running(world.store)
    await remember(store, claim)
    await store.jobs.settle([failed(claim, permanent=True)])
    world.advance(10)
    assert await store.dead_letters.purge(JobFilter(states=(State.DEAD,)), 1.0, 10, NOTE) == 1
    assert await store.run_state.recall_effect(claim.id, "charge") is None


async def test_an_effect_against_a_settlement_is_before_it_or_refused(shared_world: World) -> None:
    worker, other = shared_world.store, await shared_world.another_store()
    for _ in range(30):
        claim = await running(worker)
        kept, settled = await asyncio.gather(
            remember(other, claim), worker.jobs.settle([failed(claim, permanent=True)])
        )
        assert settled == {claim.id}
        assert await worker.run_state.recall_effect(claim.id, "charge") == kept
