"""Lost workers count against the types that they ran, once each."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

import fairlead
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.model import Lane
from fairlead.core.jobs.states import State
from fairlead.core.protection.breaker import Breaker
from fairlead.core.protection.run_counts import Counted, Sums, of_group, of_tenant
from fairlead.errors import StoreUnavailable
from fairlead.scheduler import recover
from fairlead.scheduler.recover import Recoverer
from fairlead.telemetry.events import BreakerOpened, Event, Telemetry
from tests.contract.making import LANE, claim, new_jobs
from tests.contract.world import World, open_world

TYPE = f"type:{LANE.type}"


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    async with open_world(store_url) as opened:
        settings = {"breaker": Breaker(minimum=3).stored(), "quarantine": fairlead.Quarantine(window="10m").stored()}
        await opened.store.types.register([JobType(LANE.type, 1, LANE.pool, {}, settings)])
        yield opened


async def lose_workers(world: World, workers: int, jobs: int, lane: Lane = LANE) -> list[Event]:
    """Let workers claim jobs and vanish, and recover the jobs."""
    events: list[Event] = []
    telemetry = Telemetry()
    telemetry.listen(events.append)
    await world.store.jobs.enqueue(new_jobs(workers * jobs, lane))
    for _ in range(workers):
        assert len(await claim(world.store, await world.worker(10), jobs, lane)) == jobs
    world.advance(11)
    await Recoverer(world.store, 1.0, telemetry).run_once()
    return events


async def test_a_lost_worker_counts_once_however_many_jobs_it_had(world: World) -> None:
    events = await lose_workers(world, workers=2, jobs=50)
    counts = (await world.store.run_counts.read()).sums
    quarantine = f"quarantine:{LANE.type}"
    parts = [
        TYPE,
        of_tenant(TYPE, LANE.tenant),
        quarantine,
        of_group(TYPE, LANE.tenant),
        of_group(quarantine, LANE.tenant),
    ]
    assert counts == dict.fromkeys(parts, Sums(0, 2))
    assert not any(isinstance(event, BreakerOpened) for event in events)


async def test_a_lost_worker_counts_once_though_its_jobs_come_in_batches(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recover, "BATCH", 20)
    await world.store.jobs.enqueue(new_jobs(50))
    assert len(await claim(world.store, await world.worker(10), 50)) == 50
    world.advance(11)
    recoverer = Recoverer(world.store, 1.0, Telemetry())
    assert [await recoverer.run_once() for _ in range(4)] == [0.0, 0.0, 1.0, 1.0]
    assert (await world.store.run_counts.read()).sums[TYPE] == Sums(0, 1)


@pytest.mark.parametrize("arrived", [True, False])
async def test_a_crash_whose_count_was_cut_off_counts_once(
    world: World, monkeypatch: pytest.MonkeyPatch, arrived: bool
) -> None:
    """Whoever recovered a job is the only one who can count its crash, and does so with the next look."""
    count_runs = world.store.run_counts.count

    async def cut(*given: Any) -> Counted:
        monkeypatch.undo()
        if arrived:
            await count_runs(*given)
        raise StoreUnavailable("the connection is gone")

    await world.store.jobs.enqueue(new_jobs(2))
    recoverer = Recoverer(world.store, 1.0, Telemetry())
    assert len(await claim(world.store, await world.worker(10), 1)) == 1
    world.advance(11)
    monkeypatch.setattr(world.store.run_counts, "count", cut)
    with pytest.raises(StoreUnavailable):
        await recoverer.run_once()
    assert len(await claim(world.store, await world.worker(10), 1)) == 1
    world.advance(11)
    await recoverer.run_once()
    assert (await world.store.run_counts.read()).sums[TYPE].bad == 2
    await recoverer.run_once()
    assert (await world.store.run_counts.read()).sums[TYPE].bad == 2


async def test_jobs_of_one_tenant_that_take_workers_down_are_stopped_for_that_tenant(world: World) -> None:
    events = await lose_workers(world, workers=3, jobs=1)
    (event,) = [event for event in events if isinstance(event, BreakerOpened)]
    assert (event.breaker, event.why) == (of_tenant(TYPE, LANE.tenant), "3 of 3 runs failed within 1m")
    (control,) = (await world.store.controls.read()).controls
    assert (control.kind, control.name) == ("breaker", of_tenant(TYPE, LANE.tenant))


async def test_a_type_that_takes_workers_down_with_the_jobs_of_several_tenants_is_stopped_for_all(world: World) -> None:
    events = []
    for tenant in ("one", "two", "three"):
        events += await lose_workers(world, workers=1, jobs=1, lane=LANE._replace(tenant=tenant))
    (event,) = [event for event in events if isinstance(event, BreakerOpened)]
    assert (event.breaker, event.why) == (TYPE, "3 of 3 runs failed within 1m")


@pytest.mark.parametrize("policy", [{"attempts": 1}, {"written by": "a newer version"}])
async def test_a_type_says_how_many_lost_workers_its_jobs_survive(world: World, policy: dict[str, Any]) -> None:
    settings = {"policies": {"crash": policy}}
    await world.store.types.register([JobType(LANE.type, 2, LANE.pool, {}, settings)])
    (job,) = new_jobs(1)
    await world.store.jobs.enqueue([job])
    assert await claim(world.store, await world.worker(10))
    world.advance(11)
    await Recoverer(world.store, 1.0, Telemetry()).run_once()
    record = await world.store.reader.read(job.id)
    assert record is not None
    assert record.state is (State.DEAD if "attempts" in policy else State.READY)
