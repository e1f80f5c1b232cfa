"""Figures that add up: a write that is sent again counts once, whichever of two copies comes first."""

import asyncio
from uuid import uuid4

from fairlead.core.fairness.ledger import Delivery
from fairlead.core.fairness.run_times import RunCount
from fairlead.core.fairness.share import Charge
from fairlead.core.flush import Flush
from fairlead.core.insight.wait_times import WaitCount
from fairlead.core.protection.run_counts import Count
from fairlead.records.store import Store
from tests.contract.world import World

HOUR = 3600.0


async def test_usage_that_is_sent_again_counts_once(store: Store) -> None:
    first = Flush(str(uuid4()), 1)
    for flush in (first, first, first.next(), first.next(), Flush(str(uuid4()), 1), first):
        await store.shares.record_usage(
            [Delivery("short", "acme", 1.0)], [RunCount("mail", 5, 1, 1.0)], [WaitCount("short", 3, 1)], flush
        )
    (line,) = await store.shares.ledger(HOUR)
    assert line.delivered == 3.0
    assert [count.runs for count in await store.shares.run_times(HOUR)] == [3]
    assert [count.starts for count in await store.shares.wait_counts(HOUR)] == [3]


async def test_charges_that_are_sent_again_count_once_and_are_answered(store: Store) -> None:
    flush = Flush(str(uuid4()), 7)
    for _ in range(3):
        found = await store.shares.exchange([Charge("short", "acme", 0.0, 2.5, 0.0)], 0.0, flush)
        assert [balance.virtual for balance in found.balances] == [2.5]


async def test_two_copies_at_once_count_once(store: Store) -> None:
    flush, counts = Flush(str(uuid4()), 1), [Count("type:mail", 3, 1, 60.0)]
    answers = await asyncio.gather(*(store.run_counts.count(counts, flush) for _ in range(4)))
    assert {(answer.sums["type:mail"].good, answer.sums["type:mail"].bad) for answer in answers} == {(3, 1)}


async def test_sources_that_are_silent_for_long_are_forgotten(world: World) -> None:
    flush = Flush(str(uuid4()), 1)
    await world.store.shares.record_usage([Delivery("short", "acme", 1.0)], [], [], flush)
    await world.store.shares.prune(10 * 86_400.0)
    await world.store.shares.record_usage([Delivery("short", "acme", 1.0)], [], [], flush)
    world.advance(2 * 86_400)
    await world.store.shares.prune(10 * 86_400.0)
    await world.store.shares.record_usage([Delivery("short", "acme", 1.0)], [], [], flush)
    assert sum(line.delivered for line in await world.store.shares.ledger(5 * 86_400.0)) == 2.0
