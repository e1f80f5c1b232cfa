"""Leadership: one at a time, trusted for less than it is granted, taken over when it ends."""

import asyncio

import pytest

from fairlead.errors import StoreUnavailable
from fairlead.records.workers import SERVICES_ROLE
from fairlead.scheduler.leader import RETRY, Leader
from fairlead.telemetry.events import Event, LeadLost, LeadTaken, Telemetry
from tests.contract.world import World

LEASE = 10.0


def leader(world: World, telemetry: Telemetry) -> Leader:
    """One whose own time is that of the database."""
    return Leader(world.store, LEASE, telemetry, world.clock)


async def test_the_first_leads_and_the_second_follows(world: World, telemetry: Telemetry, told: list[Event]) -> None:
    first, second = leader(world, telemetry), leader(world, telemetry)
    assert await first.leads()
    assert not await second.leads()
    assert told == [LeadTaken(first.identity, 1)]
    found = await world.store.leadership.current(SERVICES_ROLE)
    assert found == (first.identity, 1, LEASE)


async def test_a_leader_that_renews_leads_on(world: World, telemetry: Telemetry, told: list[Event]) -> None:
    first, second = leader(world, telemetry), leader(world, telemetry)
    for _ in range(20):
        assert await first.leads()
        assert not await second.leads()
        world.advance(LEASE / 2)
    assert told == [LeadTaken(first.identity, 1)]


async def test_a_follower_takes_over_at_the_moment_the_lead_ends(world: World, telemetry: Telemetry) -> None:
    first, second = leader(world, telemetry), leader(world, telemetry)
    assert await first.leads()
    waited = 0.0
    while not await second.leads():
        pause = second.pause()
        assert 0 < pause <= LEASE
        world.advance(pause)
        waited += pause
    assert waited == pytest.approx(LEASE)
    assert second.term == 2


async def test_a_leader_that_was_stopped_past_its_trust_does_not_act(
    world: World, telemetry: Telemetry, told: list[Event]
) -> None:
    first, second = leader(world, telemetry), leader(world, telemetry)
    assert await first.leads()
    world.advance(LEASE)  # it was stopped all the while
    assert await second.leads()
    assert not await first.leads()
    assert told == [LeadTaken(first.identity, 1), LeadTaken(second.identity, 2), LeadLost(first.identity, 1)]


async def test_trust_ends_before_the_lead_does(world: World, telemetry: Telemetry, told: list[Event]) -> None:
    """While the store is away nobody can say that it still leads."""
    first = leader(world, telemetry)
    assert await first.leads()
    lead, away = world.store.leadership.lead, True

    async def lead_or_fail(role: str, identity: str, lease: float) -> int:
        if away:
            raise StoreUnavailable("away")
        return await lead(role, identity, lease)

    world.store.leadership.lead = lead_or_fail  # type: ignore[method-assign]
    world.advance(LEASE * 0.79)
    with pytest.raises(StoreUnavailable):
        await first.leads()
    assert await first.leads(), "the trust has not run out"
    world.advance(LEASE * 0.02)
    with pytest.raises(StoreUnavailable):
        await first.leads()
    assert told[-1] == LeadLost(first.identity, 1)
    away = False
    world.advance(RETRY)
    assert await first.leads()
    assert first.term == 1, "nobody else led meanwhile"


async def test_a_leader_that_resigns_is_followed_after_a_hint(world: World, telemetry: Telemetry) -> None:
    first, second = leader(world, telemetry), leader(world, telemetry)
    assert await first.leads()
    assert not await second.leads()
    await first.resign()
    assert not await second.leads(), "it does not ask before the lead would end"
    second.hint()
    assert await second.leads()


async def test_of_many_at_once_one_leads(shared_world: World, telemetry: Telemetry) -> None:
    stores = [shared_world.store, await shared_world.another_store()]
    leaders = [Leader(store, LEASE, telemetry, shared_world.clock) for store in stores * 3]
    assert sum(await asyncio.gather(*(item.leads() for item in leaders))) == 1


async def test_many_services_of_one_process_ask_once(world: World, telemetry: Telemetry) -> None:
    only, asked = leader(world, telemetry), 0
    lead = world.store.leadership.lead

    async def counted(role: str, identity: str, lease: float) -> int:
        nonlocal asked
        asked += 1
        return await lead(role, identity, lease)

    world.store.leadership.lead = counted  # type: ignore[method-assign]
    assert await asyncio.gather(*(only.leads() for _ in range(5))) == [True] * 5
    assert asked == 1


async def test_the_leaders_own_clock_does_not_matter(world: World, telemetry: Telemetry) -> None:
    """Each counts durations from an origin of its own; only the database's clock is shared."""
    first = Leader(world.store, LEASE, telemetry, lambda: world.clock() + 3600)
    second = Leader(world.store, LEASE, telemetry, lambda: world.clock() - 7200)
    assert await first.leads()
    assert not await second.leads()
    world.advance(LEASE / 2)
    assert await first.leads()
    world.advance(LEASE - 0.5)
    assert not await second.leads()
    world.advance(0.5)
    assert await second.leads()
    assert not await first.leads()
