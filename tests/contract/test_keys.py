"""Idempotency keys: one job for each key, for as long as its scope says."""

import asyncio

import pytest

from fairlead.core.jobs.model import Ending, Enqueued, Scope
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import (
    LANE,
    claim,
    claim_one,
    done,
    ended,
    failed,
    keyed_job,
    new_job,
    new_lease,
    one_held,
    run_to_end,
)
from tests.contract.world import World

OTHER = LANE._replace(tenant="globex")


@pytest.mark.parametrize("scope", list(Scope))
async def test_a_second_job_with_the_key_is_answered_with_the_first(store: Store, scope: Scope) -> None:
    window = 60.0 if scope is Scope.WINDOW else None
    first, second = (keyed_job("k", scope=scope, window=window) for _ in range(2))
    assert await store.jobs.enqueue([first]) == [Enqueued(first.id, False)]
    assert await store.jobs.enqueue([second]) == [Enqueued(first.id, True)]
    assert await store.reader.read(second.id) is None
    assert len(await claim(store, new_lease())) == 1


async def test_an_active_key_is_held_while_the_job_runs(store: Store) -> None:
    first, second = keyed_job("k"), keyed_job("k")
    await store.jobs.enqueue([first])
    await claim_one(store, new_lease())
    assert await store.jobs.enqueue([second]) == [Enqueued(first.id, True)]


async def test_an_active_key_is_held_while_the_job_waits_for_a_retry(store: Store) -> None:
    first, second = keyed_job("k"), keyed_job("k")
    await store.jobs.enqueue([first])
    await store.jobs.settle([failed(await claim_one(store, new_lease()))])
    assert await store.jobs.enqueue([second]) == [Enqueued(first.id, True)]


@pytest.mark.parametrize("ending", [Ending.SUCCEEDED, Ending.FAILED, Ending.CANCELLED, Ending.EXPIRED])
async def test_an_active_key_is_free_when_the_job_has_ended(store: Store, ending: Ending) -> None:
    first, second = keyed_job("k"), keyed_job("k")
    await store.jobs.enqueue([first])
    claimed = await claim_one(store, new_lease())
    await store.jobs.settle([failed(claimed, permanent=True) if ending is Ending.FAILED else ended(claimed, ending)])
    assert await store.jobs.enqueue([second]) == [Enqueued(second.id, False)]
    assert [item.id for item in await claim(store, new_lease())] == [second.id]


async def test_an_active_key_is_free_when_the_job_was_cancelled_while_it_waited(store: Store) -> None:
    first, second = keyed_job("k"), keyed_job("k")
    await store.jobs.enqueue([first])
    await store.jobs.settle([ended(await one_held(store, first.id), Ending.CANCELLED)])
    assert await store.jobs.enqueue([second]) == [Enqueued(second.id, False)]


async def test_a_key_can_change_hands_many_times(store: Store) -> None:
    for _ in range(4):
        job, repeat = keyed_job("k"), keyed_job("k")
        assert await store.jobs.enqueue([job]) == [Enqueued(job.id, False)]
        assert await store.jobs.enqueue([repeat]) == [Enqueued(job.id, True)]
        await run_to_end(store, new_lease())


async def test_a_window_outlives_the_job(world: World) -> None:
    first, second = (keyed_job("k", scope=Scope.WINDOW, window=60) for _ in range(2))
    await world.store.jobs.enqueue([first])
    await run_to_end(world.store, new_lease())
    world.advance(59)
    assert await world.store.jobs.enqueue([second]) == [Enqueued(first.id, True)]


async def test_a_window_ends_by_the_clock_even_if_the_job_lives(world: World) -> None:
    first, second, third = (keyed_job("k", scope=Scope.WINDOW, window=60) for _ in range(3))
    await world.store.jobs.enqueue([first])
    world.advance(60)
    assert await world.store.jobs.enqueue([second]) == [Enqueued(second.id, False)]
    world.advance(59)
    assert await world.store.jobs.enqueue([third]) == [Enqueued(second.id, True)]


async def test_a_forever_key_outlives_the_job_and_time(world: World) -> None:
    first, second = (keyed_job("k", scope=Scope.FOREVER) for _ in range(2))
    await world.store.jobs.enqueue([first])
    await run_to_end(world.store, new_lease())
    world.advance(10 * 365 * 86400)
    assert await world.store.jobs.enqueue([second]) == [Enqueued(first.id, True)]


async def test_the_scope_of_the_holder_decides(world: World) -> None:
    first = keyed_job("k", scope=Scope.FOREVER)
    await world.store.jobs.enqueue([first])
    await run_to_end(world.store, new_lease())
    assert await world.store.jobs.enqueue([keyed_job("k")]) == [Enqueued(first.id, True)]


async def test_the_new_holder_brings_its_own_scope(world: World) -> None:
    await world.store.jobs.enqueue([keyed_job("k", scope=Scope.WINDOW, window=10)])
    world.advance(10)
    second = keyed_job("k", scope=Scope.FOREVER)
    await world.store.jobs.enqueue([second])
    world.advance(1000)
    assert await world.store.jobs.enqueue([keyed_job("k")]) == [Enqueued(second.id, True)]


async def test_tenants_do_not_share_keys(store: Store) -> None:
    ours, theirs = keyed_job("k"), keyed_job("k", OTHER)
    answers = await store.jobs.enqueue([ours, theirs])
    assert answers == [Enqueued(ours.id, False), Enqueued(theirs.id, False)]


async def test_types_of_a_tenant_have_keys_of_their_own(store: Store) -> None:
    """A submission of another type is another job, also in one batch, and both are claimed."""
    first, second = keyed_job("k"), keyed_job("k", LANE._replace(type="report"))
    third = keyed_job("k", LANE._replace(type="text"))
    await store.jobs.enqueue([first])
    assert await store.jobs.enqueue([second, third]) == [Enqueued(second.id, False), Enqueued(third.id, False)]
    assert await store.jobs.enqueue([keyed_job("k", LANE._replace(type="report"))]) == [Enqueued(second.id, True)]


@pytest.mark.parametrize("in_one_batch", [True, False])
async def test_a_stronger_scope_of_a_later_submission_counts(world: World, in_one_batch: bool) -> None:
    first, later = keyed_job("k"), keyed_job("k", scope=Scope.FOREVER)
    for batch in [[first, later]] if in_one_batch else [[first], [later]]:
        await world.store.jobs.enqueue(batch)
    await run_to_end(world.store, await world.worker())
    world.advance(1000 * 86400)
    assert await world.store.jobs.enqueue([keyed_job("k")]) == [Enqueued(first.id, True)]


async def test_a_key_that_got_a_window_is_kept_for_both_the_job_and_the_window(world: World) -> None:
    first, later = keyed_job("k"), keyed_job("k", scope=Scope.WINDOW, window=20.0)
    await world.store.jobs.enqueue([first])
    await world.store.jobs.enqueue([later])
    world.advance(30)
    assert await world.store.jobs.enqueue([keyed_job("k")]) == [Enqueued(first.id, True)]
    await run_to_end(world.store, await world.worker())
    following = keyed_job("k")
    assert await world.store.jobs.enqueue([following]) == [Enqueued(following.id, False)]


async def test_a_weaker_scope_of_a_later_submission_changes_nothing(world: World) -> None:
    first = keyed_job("k", scope=Scope.WINDOW, window=20.0)
    await world.store.jobs.enqueue([first])
    world.advance(15)
    await world.store.jobs.enqueue([keyed_job("k", scope=Scope.WINDOW, window=20.0), keyed_job("k")])
    world.advance(10)
    following = keyed_job("k")
    assert await world.store.jobs.enqueue([following]) == [Enqueued(following.id, False)]


async def test_repeats_within_one_batch_stand_for_the_first(store: Store) -> None:
    plain, first, other, repeat = new_job(), keyed_job("k"), keyed_job("other"), keyed_job("k")
    assert await store.jobs.enqueue([plain, first, other, repeat]) == [
        Enqueued(plain.id, False),
        Enqueued(first.id, False),
        Enqueued(other.id, False),
        Enqueued(first.id, True),
    ]
    assert len(await claim(store, new_lease())) == 3


async def test_repeats_within_one_batch_of_a_key_that_is_held_stand_for_its_holder(store: Store) -> None:
    holder = keyed_job("k")
    await store.jobs.enqueue([holder])
    assert await store.jobs.enqueue([keyed_job("k"), keyed_job("k")]) == [Enqueued(holder.id, True)] * 2


async def test_a_batch_can_mix_free_held_and_new_keys(store: Store) -> None:
    held, ended_one = keyed_job("held"), keyed_job("free")
    await store.jobs.enqueue([ended_one])
    await run_to_end(store, new_lease())
    await store.jobs.enqueue([held])
    batch = [keyed_job("held"), keyed_job("free"), keyed_job("new")]
    answers = await store.jobs.enqueue(batch)
    assert answers == [Enqueued(held.id, True), Enqueued(batch[1].id, False), Enqueued(batch[2].id, False)]


@pytest.mark.parametrize("taken_over", [False, True])
async def test_of_two_that_submit_a_key_at_once_one_wins(shared_world: World, taken_over: bool) -> None:
    stores = shared_world.store, await shared_world.another_store()
    for number in range(10):
        key = f"k{number}"
        if taken_over:
            await stores[0].jobs.enqueue([keyed_job(key)])
            await run_to_end(stores[0], new_lease())
        jobs = keyed_job(key), keyed_job(key)
        answers = await asyncio.gather(*(store.jobs.enqueue([job]) for store, job in zip(stores, jobs, strict=True)))
        assert sorted(answer.duplicate for (answer,) in answers) == [False, True]
        assert len({answer.id for (answer,) in answers}) == 1
        assert len(await run_to_end(stores[0], new_lease())) == 1


async def test_a_finished_job_keeps_its_key_in_sight(store: Store) -> None:
    job = keyed_job("k")
    await store.jobs.enqueue([job])
    await store.jobs.settle([done(await claim_one(store, new_lease()))])
    record = await store.reader.read(job.id)
    assert record is not None
    assert (record.key, record.state) == ("k", State.SUCCEEDED)
