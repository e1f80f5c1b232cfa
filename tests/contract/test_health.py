"""Counted runs: buckets by the store's clock, sums within their span, and what is forgotten."""

import asyncio

from fairlead.core.protection.run_counts import Count, Sums
from tests.contract.world import World

TYPE = "type:send"
SPAN = 60.0


async def test_counts_add_up_over_all_who_count(world: World) -> None:
    await world.store.run_counts.count([Count(TYPE, 3, 1, SPAN)])
    counted = await world.store.run_counts.count([Count(TYPE, 2, 4, SPAN), Count("type:other", 1, 0, SPAN)])
    assert counted.sums == {TYPE: Sums(5, 5), "type:other": Sums(1, 0)}
    assert counted.now == world.clock()
    assert (await world.store.run_counts.read()).sums == counted.sums


async def test_one_subject_may_come_twice_in_a_batch(world: World) -> None:
    counted = await world.store.run_counts.count([Count(TYPE, 3, 1, SPAN), Count(TYPE, 2, 4, SPAN)])
    assert counted.sums == {TYPE: Sums(5, 5)}


async def test_what_is_older_than_its_span_does_not_count(world: World) -> None:
    await world.store.run_counts.count([Count(TYPE, 10, 0, SPAN)])
    world.advance(30)
    await world.store.run_counts.count([Count(TYPE, 0, 5, SPAN)])
    world.advance(29)
    (sums,) = (await world.store.run_counts.read()).sums.values()
    assert (sums.good, sums.bad, sums.counted_for) in [(10, 5, 59.0), (0, 5, 29.0)]  # the oldest bucket, or not
    world.advance(10)
    assert (await world.store.run_counts.read()).sums == {TYPE: Sums(0, 5, 39.0)}
    world.advance(60)
    assert (await world.store.run_counts.read()).sums == {}


async def test_what_lies_ahead_counts_from_now_on(world: World) -> None:
    await world.store.run_counts.count(
        [Count("tenant:acme", 0, 5, SPAN, ahead=600.0), Count("tenant:acme", 0, 1, SPAN)]
    )
    world.advance(500)
    assert (await world.store.run_counts.read()).sums["tenant:acme"].bad == 5


async def test_a_forgotten_subject_begins_anew(world: World) -> None:
    await world.store.run_counts.count([Count(TYPE, 1, 1, SPAN), Count("type:other", 1, 1, SPAN)])
    await world.store.run_counts.forget([TYPE])
    assert set((await world.store.run_counts.read()).sums) == {"type:other"}


async def test_pruning_removes_what_counts_no_more_and_nothing_else(world: World) -> None:
    await world.store.run_counts.count([Count(TYPE, 1, 1, SPAN), Count("quarantine:send", 1, 1, 3600.0)])
    world.advance(120)
    await world.store.jobs.prune({}, 86400.0, 100)
    assert set((await world.store.run_counts.read()).sums) == {"quarantine:send"}


async def test_many_who_count_at_once_lose_nothing(world: World) -> None:
    names = [f"type:{at}" for at in range(5)]
    batches = [[Count(name, 1, 1, SPAN) for name in (names if at % 2 else names[::-1])] for at in range(20)]
    await asyncio.gather(*[world.store.run_counts.count(batch) for batch in batches])
    assert (await world.store.run_counts.read()).sums == {name: Sums(20, 20) for name in names}
