"""The promoter: sleeps until the next job is due, keeps to its rates, and lets no herd stand in others' way."""

from collections.abc import Sequence

import pytest

from fairlead.core.jobs.model import Lane, Quota
from fairlead.core.schedule.promotion import DueLane
from fairlead.records.promotion import Promoted
from fairlead.scheduler import promote
from fairlead.scheduler.promote import LONGEST_SLEEP, PACE, Promoter
from fairlead.telemetry.events import Event, PromoterBehind, PromoterCaughtUp, Telemetry
from tests.contract.making import LANE, claim, enqueue_one, lanes_of, new_job, new_lease
from tests.contract.world import World

HERD = LANE._replace(tenant="herd")
SMALL = LANE._replace(tenant="small")


def promoter(world: World, telemetry: Telemetry, rate: float = 100, tenant_rate: float = 50) -> Promoter:
    """One whose buckets live by the time of the world."""
    return Promoter(world.store, rate, tenant_rate, telemetry, world.clock)


async def ready(world: World, lane: Lane) -> int:
    """How many jobs of a lane have become ready since the last look."""
    return len(await claim(world.store, new_lease(), 1000, lane))


async def test_it_sleeps_until_the_next_job_is_due(world: World, telemetry: Telemetry) -> None:
    service = promoter(world, telemetry)
    assert await service.run_once() == LONGEST_SLEEP
    await enqueue_one(world.store, delay=60.0)
    assert await service.run_once() == LONGEST_SLEEP
    await enqueue_one(world.store, delay=1.25)
    assert await service.run_once() == pytest.approx(1.25)


async def test_after_a_promotion_it_sleeps_until_the_next(world: World, telemetry: Telemetry) -> None:
    await world.store.jobs.enqueue([new_job(delay=1.0), new_job(delay=1.5)])
    world.advance(1)
    service = promoter(world, telemetry)
    assert [await service.run_once(), await service.run_once()] == pytest.approx([0.0, 0.5])
    assert await ready(world, LANE) == 1


async def test_a_tenant_gets_a_burst_and_then_its_rate(world: World, telemetry: Telemetry) -> None:
    await world.store.jobs.enqueue([new_job(HERD, delay=1.0) for _ in range(200)])
    world.advance(1)
    service = promoter(world, telemetry)
    assert await service.run_once() == PACE
    assert await ready(world, HERD) == 50
    for _ in range(4):
        world.advance(0.5)
        assert await service.run_once() == PACE
        assert await ready(world, HERD) == 25


async def test_after_an_outage_it_catches_up_at_the_same_rate(world: World, telemetry: Telemetry) -> None:
    await world.store.jobs.enqueue([new_job(HERD, delay=float(second)) for second in range(1, 301)])
    world.advance(3600)
    service, moved = promoter(world, telemetry), 0
    for _ in range(10):
        await service.run_once()
        moved += await ready(world, HERD)
        world.advance(0.25)
    assert 50 + 9 * 12 <= moved <= 50 + 9 * 0.25 * 50


async def test_the_shard_has_a_rate_of_its_own(world: World, telemetry: Telemetry) -> None:
    lanes = [LANE._replace(tenant=f"tenant-{number}") for number in range(10)]
    await world.store.jobs.enqueue([new_job(lane, delay=1.0) for lane in lanes for _ in range(30)])
    world.advance(1)
    await promoter(world, telemetry).run_once()
    assert [await ready(world, lane) for lane in lanes] == [10] * 10


@pytest.mark.parametrize("batch", [20, 1000])
async def test_a_herd_does_not_stand_in_the_way_of_others(
    world: World, telemetry: Telemetry, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where so much is due that the others' jobs are far behind in the order of time."""
    monkeypatch.setattr(promote, "BATCH", batch)
    await world.store.jobs.enqueue([new_job(HERD, delay=1.0) for _ in range(300)])
    world.advance(2)
    service = promoter(world, telemetry)
    await service.run_once()
    await enqueue_one(world.store, SMALL, delay=0.5)
    world.advance(0.5)
    await service.run_once()
    assert await ready(world, SMALL) == 1


async def test_lanes_that_take_long_to_look_up_are_looked_up_less_often(
    world: World, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promote, "BATCH", 10)
    await world.store.jobs.enqueue([new_job(HERD, delay=1.0) for _ in range(300)])
    world.advance(1)
    due_lanes, looks = world.store.promotion.due_lanes, 0

    async def slowly() -> list[DueLane]:
        nonlocal looks
        looks += 1
        world.advance(0.1)
        return await due_lanes()

    world.store.promotion.due_lanes = slowly  # type: ignore[method-assign]
    service = promoter(world, telemetry)
    for expected in (1, 1, 1, 2):
        await service.run_once()
        assert looks == expected
        world.advance(0.1 * promote.FRESH / 3 + 0.01)


async def test_what_becomes_due_while_it_promotes_is_promoted_at_once(world: World, telemetry: Telemetry) -> None:
    await world.store.jobs.enqueue([new_job(delay=1.0), new_job(delay=1.1)])
    world.advance(1)
    promote_now = world.store.promotion.promote

    async def slowly(limit: int, quotas: Sequence[Quota] | None = None) -> Promoted:
        world.advance(0.1)
        return await promote_now(limit, quotas)

    world.store.promotion.promote = slowly  # type: ignore[method-assign]
    service = promoter(world, telemetry)
    assert [await service.run_once() for _ in range(3)] == [0.0, 0.0, LONGEST_SLEEP]


async def test_while_there_is_more_and_the_rates_allow_it_it_does_not_pause(
    world: World, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promote, "BATCH", 10)
    await world.store.jobs.enqueue([new_job(HERD, delay=1.0) for _ in range(45)])
    world.advance(1)
    service = promoter(world, telemetry)
    assert [await service.run_once() for _ in range(5)] == [0.0] * 5
    assert await service.run_once() == LONGEST_SLEEP


async def test_the_pools_that_got_work_are_woken(world: World, telemetry: Telemetry) -> None:
    woken: list[str] = []

    async def wake(pools: object) -> None:
        assert isinstance(pools, frozenset)
        woken.extend(pools)

    world.store.jobs.wake = wake  # type: ignore[method-assign]
    await enqueue_one(world.store, delay=1.0)
    world.advance(1)
    await promoter(world, telemetry).run_once()
    assert woken == ["default"]
    assert lanes_of(await world.store.reader.active_lanes()) == {LANE}


async def test_the_age_of_the_oldest_due_job_is_known_and_told(
    world: World, telemetry: Telemetry, told: list[Event]
) -> None:
    service = promoter(world, telemetry, rate=5, tenant_rate=5)
    await service.run_once()
    assert service.oldest_due_unpromoted_age == 0.0
    await world.store.jobs.enqueue([new_job(delay=1.0) for _ in range(10)])
    world.advance(21)
    await service.run_once()
    assert service.oldest_due_unpromoted_age == 20.0
    world.advance(1)
    await service.run_once()
    assert told == [PromoterBehind(20.0)], "once, not in every round"
    await service.run_once()
    assert service.oldest_due_unpromoted_age == 0.0
    assert told == [PromoterBehind(20.0), PromoterCaughtUp()]
