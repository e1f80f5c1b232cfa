"""Recurring schedules: one job for each fire, whoever makes it, and nothing dropped in silence."""

import asyncio
import json
import time
from dataclasses import replace

import pytest

from fairlead.core.jobs.ids import make_ids
from fairlead.core.jobs.states import State
from fairlead.core.schedule import fires as recur
from fairlead.core.schedule.fires import ON_TIME, plan
from fairlead.core.schedule.schedules import CatchUp, FireOutcome, Overlap, ScheduleState, ScheduleWrite
from fairlead.records.schedules import KEPT_FIRES
from fairlead.recurring.firing import LONGEST_SLEEP
from fairlead.telemetry.events import ScheduleFired, ScheduleMissed, ScheduleSkipped, ServiceFailed
from tests.contract.making import LANE, claim_one, finish, new_lease
from tests.contract.schedules import NOTE, Scheduler, add, fires, jobs, read, spec
from tests.contract.world import World


def align(world: World, length: float = 10.0) -> float:
    """Move the clock to a whole multiple, and return it."""
    world.advance(length - world.clock() % length)
    return world.clock()


async def test_nothing_fires_before_its_time(world: World) -> None:
    align(world)
    await add(world, spec())
    world.advance(9.5)
    assert await Scheduler(world.store).run() == pytest.approx(0.5)
    assert await jobs(world.store) == []


async def test_a_fire_makes_one_job_and_advances_the_schedule(world: World) -> None:
    start = align(world)
    before = await add(world, spec(start_within=60.0, options='{"timeout":5.0}'))
    world.advance(10.25)
    scheduler = Scheduler(world.store)
    assert await scheduler.run() == pytest.approx(9.75)
    (job,) = await jobs(world.store)
    assert (job.state, job.type, job.tenant, job.payload) == (State.READY, "mail", "acme", "{}")
    assert job.run_at.timestamp() == start + 10
    assert job.not_after is not None
    assert job.not_after.timestamp() == start + 70
    assert json.loads(job.options or "") == {"timeout": 5.0, "schedule": "tick", "fire_at": start + 10}
    after = await read(world.store)
    assert (after.version, after.next_at, after.spec) == (before.version + 1, start + 20, before.spec)
    (fire,) = await fires(world.store)
    assert (fire.at, fire.outcome, fire.job_id, fire.job_state) == (start + 10, FireOutcome.FIRED, job.id, State.READY)
    assert fire.job_tenant == "acme"
    (event,) = scheduler.events
    assert isinstance(event, ScheduleFired)
    assert (event.job, event.fire_at, round(event.late, 6)) == (job.id, start + 10, 0.25)


async def test_a_fired_job_can_be_claimed_and_its_end_is_seen(world: World) -> None:
    align(world)
    await add(world, spec())
    world.advance(10)
    await Scheduler(world.store).run()
    await finish(world.store, await claim_one(world.store, new_lease()))
    (fire,) = await fires(world.store)
    assert fire.job_state is State.SUCCEEDED


async def test_a_second_scheduler_with_the_same_view_changes_nothing(world: World) -> None:
    align(world)
    await add(world, spec())
    world.advance(10)
    due = await world.store.schedules.due(10)
    plans = [[plan(item, lambda: make_ids(1, time.time())[0]) for item in due] for _ in range(2)]
    assert await world.store.schedules.fire(plans[0]) == {"tick"}
    assert await world.store.schedules.fire(plans[1]) == set()
    assert len(await jobs(world.store)) == 1


async def test_the_key_of_a_fire_is_unique_even_if_the_schedule_was_turned_back(world: World) -> None:
    align(world)
    await add(world, spec())
    await Scheduler(world.store).run_after(world, 10)
    seen = await read(world.store)
    back = replace(seen, version=seen.version + 1, handled_until=seen.handled_until - 60)
    again = replace(back, next_at=seen.handled_until)
    assert await world.store.schedules.write(ScheduleWrite(again, seen.version), NOTE)
    await Scheduler(world.store).run_out()
    moments = [job.run_at for job in await jobs(world.store)]
    assert len(moments) == len(set(moments))


async def test_many_schedulers_at_once_make_each_fire_once(shared_world: World) -> None:
    world, start = shared_world, align(shared_world)
    for number in range(5):
        await add(world, spec(f"tick-{number}", catch_up=CatchUp.ALL))
    stores = [world.store, *[await world.another_store() for _ in range(4)]]
    for _ in range(10):
        world.advance(20)
        await asyncio.gather(*(Scheduler(store).run() for store in stores))
    await Scheduler(world.store).run_out()
    for number in range(5):
        found = [fire.at for fire in await fires(world.store, f"tick-{number}")]
        assert found == [start + 10 * step for step in range(1, 21)]
    assert len(await jobs(world.store)) == 100


async def test_the_clock_of_a_scheduler_does_not_matter(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    start, real = align(world), time.time
    await add(world, spec())
    world.advance(25)
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    await Scheduler(world.store).run_out()
    assert [fire.at for fire in await fires(world.store)] == [start + 10, start + 20]
    assert (await read(world.store)).next_at == start + 30


@pytest.mark.parametrize(
    ("policy", "made", "missed"),
    [(CatchUp.NONE, [], 6), (CatchUp.LAST, [6], 5), (CatchUp.ALL, [1, 2, 3, 4, 5, 6], 0)],
)
async def test_fires_of_an_outage_are_caught_up_or_recorded_as_missed(
    world: World, policy: CatchUp, made: list[int], missed: int
) -> None:
    start = align(world, 600)
    await add(world, spec(expression="every 10m", catch_up=policy))
    world.advance(3600 + 300)
    scheduler = Scheduler(world.store)
    await scheduler.run_out()
    found = await fires(world.store)
    assert [item.at for item in found if item.outcome is FireOutcome.FIRED] == [start + 600 * step for step in made]
    assert sum(item.times for item in found if item.outcome is FireOutcome.MISSED) == missed
    assert sum(item.count for item in scheduler.events if isinstance(item, ScheduleMissed)) == missed


async def test_what_is_a_little_late_is_on_time_under_every_policy(world: World) -> None:
    align(world, 600)
    await add(world, spec(expression="every 10m", catch_up=CatchUp.NONE))
    world.advance(600 + ON_TIME - 1)
    await Scheduler(world.store).run()
    assert len(await jobs(world.store)) == 1


async def test_skip_makes_no_second_job_while_one_is_live(world: World) -> None:
    align(world)
    await add(world, spec(overlap=Overlap.SKIP))
    scheduler = Scheduler(world.store)
    await scheduler.run_after(world, 10)
    claimed = await claim_one(world.store, new_lease())
    await scheduler.run_after(world, 10)
    assert len(await jobs(world.store)) == 1
    assert [type(event) for event in scheduler.events] == [ScheduleFired, ScheduleSkipped]
    await finish(world.store, claimed)
    await scheduler.run_after(world, 10)
    outcomes = [fire.outcome for fire in await fires(world.store)]
    assert outcomes == [FireOutcome.FIRED, FireOutcome.SKIPPED, FireOutcome.FIRED]


async def test_queue_one_lets_one_fire_wait_until_the_job_before_it_has_ended(world: World) -> None:
    align(world)
    await add(world, spec(overlap=Overlap.QUEUE_ONE))
    scheduler = Scheduler(world.store)
    await scheduler.run_after(world, 10)
    running = await claim_one(world.store, new_lease())
    for _ in range(3):
        await scheduler.run_after(world, 10)
    assert [fire.outcome for fire in await fires(world.store)] == [FireOutcome.FIRED]
    assert len(await jobs(world.store)) == 1, "nothing that a free slot could start beside the running one"
    await finish(world.store, running)
    await scheduler.run_after(world, 1)
    made = [(fire.outcome, fire.times) for fire in await fires(world.store)]
    assert made == [(FireOutcome.FIRED, 1), (FireOutcome.FIRED, 1), (FireOutcome.SKIPPED, 2)]
    assert len(await jobs(world.store)) == 2


async def test_history_is_bounded_and_a_live_job_stays_in_sight(world: World) -> None:
    align(world)
    await add(world, spec(overlap=Overlap.SKIP, catch_up=CatchUp.ALL))
    await Scheduler(world.store).run_after(world, 10)
    await claim_one(world.store, new_lease())
    world.advance(10 * (KEPT_FIRES + 50))
    await Scheduler(world.store).run_out()
    found = await fires(world.store)
    assert [fire.outcome for fire in found if fire.outcome is FireOutcome.FIRED] == [FireOutcome.FIRED]
    assert len(found) == KEPT_FIRES + 1


async def test_a_paused_schedule_does_not_fire(world: World) -> None:
    align(world)
    schedule = await add(world, spec())
    paused = recur.stopped(schedule, ScheduleState.PAUSED, await world.store.now())
    assert await world.store.schedules.write(paused, NOTE)
    world.advance(100)
    assert await Scheduler(world.store).run() == LONGEST_SLEEP
    assert await jobs(world.store) == []


async def test_a_write_counts_only_on_the_version_that_was_seen(world: World) -> None:
    align(world)
    schedule = await add(world, spec())
    await Scheduler(world.store).run_after(world, 10)
    late = recur.changed(schedule, spec(expression="every 20s"), await world.store.now())
    assert not await world.store.schedules.write(late, NOTE)
    assert (await read(world.store)).spec == schedule.spec
    assert not await world.store.schedules.remove("tick", schedule.version, NOTE)
    assert (await world.store.audit.head()).last == 1


async def test_a_name_is_given_once(world: World) -> None:
    await add(world, spec())
    again = recur.created(spec(expression="every 20s"), None, await world.store.now())
    assert not await world.store.schedules.write(again, NOTE)


async def test_the_lane_of_a_fired_job_has_the_limits_of_the_schedule(world: World) -> None:
    lane = LANE._replace(limits="stripe=acct-7 @bank")
    await add(world, spec(lane=lane))
    await Scheduler(world.store).run_after(world, 20)
    assert [active.lane for active in await world.store.reader.active_lanes()] == [lane]


async def test_all_parts_of_a_schedule_are_kept(world: World) -> None:
    wanted = spec(
        expression="*/5 0 9 * * 1-5", zone="Europe/Berlin", overlap=Overlap.QUEUE_ONE, catch_up=CatchUp.ALL,
        window=7200.5, start_within=1.5, options='{"timeout":1.0}', lane=LANE._replace(limits="stripe=acct-7 @bank"),
    )  # fmt: skip
    schedule = await add(world, wanted, owner="shop")
    assert await read(world.store) == schedule
    assert await world.store.schedules.page(10) == [schedule]
    assert await world.store.schedules.page(10, owner="other") == []


async def test_schedules_are_listed_by_name_a_page_at_a_time(world: World) -> None:
    for name in ("c", "a", "b"):
        await add(world, spec(name))
    assert [item.name for item in await world.store.schedules.page(2)] == ["a", "b"]
    assert [item.name for item in await world.store.schedules.page(2, after="b")] == ["c"]


async def test_schedules_are_listed_by_the_tenant_of_their_jobs(world: World) -> None:
    for name, tenant in (("a", "acme"), ("b", "rival"), ("c", "acme"), ("d", "acme")):
        await add(world, spec(name, lane=LANE._replace(tenant=tenant)), owner="shop" if name == "d" else None)
    assert [item.name for item in await world.store.schedules.page(9, tenant="acme")] == ["a", "c", "d"]
    assert [item.name for item in await world.store.schedules.page(1, after="a", tenant="acme")] == ["c"]
    assert [item.name for item in await world.store.schedules.page(9, owner="shop", tenant="acme")] == ["d"]
    assert await world.store.schedules.page(9, tenant="nobody") == []


async def test_removing_a_schedule_removes_its_fires_and_leaves_its_jobs(world: World) -> None:
    align(world)
    await add(world, spec())
    await Scheduler(world.store).run_after(world, 10)
    assert await world.store.schedules.remove("tick", (await read(world.store)).version, NOTE)
    assert await world.store.schedules.read(["tick"]) == []
    assert await fires(world.store) == []
    assert len(await jobs(world.store)) == 1


async def test_a_schedule_that_cannot_be_read_waits_and_holds_nobody_up(world: World) -> None:
    align(world)
    schedule = await add(world, spec("odd"))
    broken = replace(schedule, spec=replace(schedule.spec, zone="Mars/Olympus"), version=schedule.version + 1)
    assert await world.store.schedules.write(ScheduleWrite(broken, schedule.version), NOTE)
    await add(world, spec())
    world.advance(10)
    scheduler = Scheduler(world.store)
    await scheduler.run_out()
    assert [job.type for job in await jobs(world.store)] == ["mail"]
    assert [type(event) for event in scheduler.events if isinstance(event, ServiceFailed)] == [ServiceFailed]
    after = await read(world.store, "odd")
    assert (after.handled_until, after.state) == (schedule.handled_until, ScheduleState.ACTIVE)


async def test_a_schedule_is_seen_with_the_jobs_that_have_not_ended(world: World) -> None:
    start = align(world)
    assert await world.store.schedules.see("tick") is None
    await add(world, spec(catch_up=CatchUp.ALL))
    world.advance(10)
    seen = await world.store.schedules.see("tick")
    assert seen is not None
    assert (seen.now, seen.live, seen.is_due) == (start + 10, 0, True)
    await Scheduler(world.store).run_after(world, 20)
    await claim_one(world.store, new_lease())
    seen = await world.store.schedules.see("tick")
    assert seen is not None
    assert (seen.live, seen.is_due) == (3, False)
