"""Accounts of fair share, the ledger, and how long types run."""

import asyncio

from fairlead.core.fairness.ledger import Delivery, LedgerEntry, LedgerRow, Unsettled
from fairlead.core.fairness.run_times import RunCount
from fairlead.core.fairness.share import Balance, Charge
from fairlead.core.jobs.model import Lane, Priority
from tests.contract.making import LANE, claim, new_job
from tests.contract.world import World

HOUR, DAY = 3600.0, 86400.0


def minute_of(world: World) -> int:
    return int(world.clock() // 60) * 60


def charge(account: str, virtual: float, begin: float = 0.0, floor: float = 0.0) -> Charge:
    return Charge("short", account, begin, virtual, floor)


async def test_charges_of_several_workers_add_up(world: World) -> None:
    await world.store.shares.exchange([charge("acme", 2.5), charge("@", 0.0, floor=1.0)], 0.0)
    found = await world.store.shares.exchange([charge("acme", 0.25)], 0.0)
    assert sorted(found.balances) == [Balance("short", "@", 0.0, 1.0), Balance("short", "acme", 2.75, 0.0)]
    assert found.now == world.clock()


async def test_a_share_that_began_is_raised_and_then_charged(world: World) -> None:
    await world.store.shares.exchange([charge("acme", 1.0)], 0.0)
    await world.store.shares.exchange([charge("acme", 1.0, begin=10.0)], 0.0)
    found = await world.store.shares.exchange([charge("acme", 1.0, begin=5.0)], 0.0)
    assert found.balances == [Balance("short", "acme", 12.0, 0.0)]


async def test_a_floor_never_falls(world: World) -> None:
    await world.store.shares.exchange([charge("@", 0.0, floor=7.0)], 0.0)
    found = await world.store.shares.exchange([charge("@", 0.0, floor=3.0)], 0.0)
    assert found.balances == [Balance("short", "@", 0.0, 7.0)]


async def test_only_what_was_charged_since_is_read(world: World) -> None:
    await world.store.shares.exchange([charge("old", 1.0)], 0.0)
    world.advance(10)
    (new,) = (await world.store.shares.exchange([charge("new", 1.0)], world.clock() - 1)).balances
    assert new.account == "new"


async def test_many_chargers_of_the_same_accounts_lose_nothing(world: World) -> None:
    accounts = [f"t{index}" for index in range(20)]
    orders = [accounts if turn % 2 else accounts[::-1] for turn in range(8)]
    await asyncio.gather(*(world.store.shares.exchange([charge(name, 1.0) for name in order], 0.0) for order in orders))
    found = await world.store.shares.exchange([], 0.0)
    assert {balance.virtual for balance in found.balances} == {8.0}
    assert len(found.balances) == 20


async def test_the_ledger_adds_up_what_was_delivered_in_a_minute(world: World) -> None:
    await world.store.shares.record_usage([Delivery("short", "acme", 1.5), Delivery("long", "acme", 2.0, 3.0)], [])
    await world.store.shares.record_usage([Delivery("short", "acme", 0.5)], [])
    assert await world.store.shares.ledger(HOUR) == [
        LedgerRow("long", "acme", 0.0, 2.0, 3.0, 0),
        LedgerRow("short", "acme", 0.0, 2.0, 0.0, 0),
    ]


async def test_what_was_delivered_is_settled_once(world: World) -> None:
    minute = minute_of(world)
    await world.store.shares.record_usage([Delivery("short", "acme", 4.0)], [])
    assert await world.store.shares.unsettled_ledger(600) == ([Unsettled(minute, "short", "acme", 4.0, 0.0)], minute)
    entry = LedgerEntry(minute, "short", "acme", seen=0.0, settled=4.0, entitled=3.0, waiting=7)
    await world.store.shares.settle_ledger([entry])
    await world.store.shares.settle_ledger([entry])  # another leader, who saw the same
    assert await world.store.shares.ledger(HOUR) == [LedgerRow("short", "acme", 3.0, 4.0, 0.0, 7)]
    assert await world.store.shares.unsettled_ledger(600) == ([], minute)
    await world.store.shares.record_usage([Delivery("short", "acme", 1.0)], [])
    assert (await world.store.shares.unsettled_ledger(600))[0] == [Unsettled(minute, "short", "acme", 5.0, 4.0)]


async def test_who_got_nothing_has_its_line_too(world: World) -> None:
    entry = LedgerEntry(minute_of(world), "short", "starved", seen=0.0, settled=0.0, entitled=2.0, waiting=9)
    await world.store.shares.settle_ledger([entry])
    (line,) = await world.store.shares.ledger(HOUR)
    assert (line.entitled, line.delivered, line.waiting, line.ratio) == (2.0, 0.0, 9, 0.0)


async def test_a_tenants_ledger_is_read_minute_by_minute(world: World) -> None:
    await world.store.shares.record_usage([Delivery("short", "acme", 1.0), Delivery("short", "other", 9.0)], [])
    first = minute_of(world)
    world.advance(60)
    await world.store.shares.record_usage([Delivery("short", "acme", 2.0)], [])
    lines = await world.store.shares.tenant_ledger("acme", HOUR)
    assert [(line.minute, line.delivered) for line in lines] == [(first + 60, 2.0), (first, 1.0)]


async def test_a_window_leaves_out_what_is_older(world: World) -> None:
    await world.store.shares.record_usage([Delivery("short", "acme", 1.0)], [RunCount("mail", 5, 1, 1.0)])
    world.advance(3 * HOUR)
    assert await world.store.shares.ledger(HOUR) == []
    assert await world.store.shares.run_times(HOUR) == []
    assert len(await world.store.shares.ledger(4 * HOUR)) == 1


async def test_runs_add_up_by_type_and_bucket(world: World) -> None:
    runs = [RunCount("mail", 8, 2, 2.5), RunCount("mail", 9, 1, 1.2), RunCount("report", 60, 1, 300.0)]
    await world.store.shares.record_usage([], runs)
    await world.store.shares.record_usage([], runs[:1])
    assert await world.store.shares.run_times(HOUR) == [RunCount("mail", 8, 4, 5.0), *runs[1:]]


async def test_depths_count_ready_jobs_up_to_a_bound(world: World) -> None:
    other = LANE._replace(tenant="other", priority=Priority.LOW)
    await world.store.jobs.enqueue([new_job() for _ in range(7)] + [new_job(lane=other) for _ in range(2)])
    await claim(world.store, await world.worker(), 1)

    async def depths(most: int) -> dict[Lane, int]:
        return {found.lane: found.depth for found in await world.store.shares.lane_depths(most)}

    assert await depths(100) == {LANE: 6, other: 2}
    assert await depths(3) == {LANE: 3, other: 2}


async def test_what_is_old_is_pruned(world: World) -> None:
    async def leave_traces() -> None:
        await world.store.shares.record_usage([Delivery("short", "acme", 1.0)], [RunCount("mail", 8, 1, 1.0)])
        await world.store.shares.exchange([charge(f"at{world.clock()}", 1.0)], 0.0)

    await leave_traces()
    world.advance(2 * DAY)
    await leave_traces()
    await world.store.shares.prune(DAY)
    assert [line.delivered for line in await world.store.shares.ledger(10 * DAY)] == [1.0]
    assert [run.runs for run in await world.store.shares.run_times(10 * DAY)] == [1]
    assert len((await world.store.shares.exchange([], 0.0)).balances) == 1
