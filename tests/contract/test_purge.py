"""Dead letters that are removed for good: all that fit and are old, or those that are named."""

import json
from dataclasses import replace

from fairlead.core.jobs.dead_letters import hold_of, revive
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import claim_one, new_job, new_lease, run_to_end, state_of
from tests.contract.test_dead_letters import DEAD, NOTE, REPORT, kill, kill_claimed
from tests.contract.world import World


async def test_purge_takes_what_fits_and_is_old(world: World) -> None:
    store = world.store
    old = await kill(store, new_job())
    kept = await kill(store, new_job(REPORT))
    await run_to_end(store, new_lease())
    world.advance(100)
    young = await kill(store, new_job())
    wanted = replace(DEAD, type="mail")
    assert await store.dead_letters.purge(wanted, 50, 10, NOTE) == 1
    assert await store.reader.read(old.id) is None
    assert await store.reader.attempts(old.id) == []
    assert [await state_of(store, job.id) for job in (kept, young)] == [State.DEAD, State.DEAD]
    assert await store.dead_letters.purge(wanted, 50, 10, NOTE) == 0
    (entry,) = await store.audit.read(10)
    assert json.loads(entry.details)["count"] == 1


async def test_purge_stops_at_its_limit(world: World) -> None:
    for _ in range(3):
        await kill(world.store, new_job())
    world.advance(1)
    assert [await world.store.dead_letters.purge(DEAD, 0, 2, NOTE) for _ in range(3)] == [2, 1, 0]


async def test_jobs_that_are_named_are_removed_with_what_is_kept_of_them(store: Store) -> None:
    gone, kept = await kill(store, new_job()), await kill(store, new_job())
    assert await store.dead_letters.remove([hold_of(gone), hold_of(gone)], NOTE) == {gone.id}
    assert await store.reader.read(gone.id) is None
    assert await store.reader.attempts(gone.id) == []
    assert await state_of(store, kept.id) is State.DEAD
    assert len(await store.reader.attempts(kept.id)) == 1
    (entry,) = await store.audit.read(10, job_id=gone.id)
    assert json.loads(entry.details) == {"reason": "mended", "count": 1, "jobs": [gone.id]}
    assert await store.dead_letters.remove([], NOTE) == set()


async def test_a_job_that_came_back_is_not_removed(store: Store) -> None:
    dead = await kill(store, new_job())
    await store.dead_letters.revive([revive(dead)], NOTE)
    assert await store.dead_letters.remove([hold_of(dead)], NOTE) == set()
    again = await kill_claimed(store, await claim_one(store, new_lease()))
    assert await store.dead_letters.remove([hold_of(dead)], NOTE) == set(), "that was another death"
    assert await store.dead_letters.remove([hold_of(again)], NOTE) == {dead.id}
    assert len(await store.audit.read(10)) == 2
