"""Schedules that code declares: in step with the code that runs, without double fires, fights or lost history."""

import asyncio
from dataclasses import replace

import pytest

from fairlead.core.schedule.schedules import CatchUp, FireOutcome, ScheduleSpec, ScheduleState
from fairlead.errors import ScheduleRefused
from fairlead.handlers.spec import Registry
from fairlead.recurring import changes as schedules
from fairlead.recurring.declaring import Declarer
from fairlead.runtime.operator import Operator
from fairlead.telemetry.events import Event, SchedulesDeclared, ServiceFailed, Telemetry
from tests.contract.schedules import Scheduler, add, fires, jobs, read, spec
from tests.contract.world import World

LEAD = 10.0
ANN = Operator("ann")


class Deploy:
    """A process that runs some version of an app's code."""

    def __init__(self, world: World, *declared: ScheduleSpec, app: str = "shop") -> None:
        self.events: list[Event] = []
        telemetry = Telemetry()
        telemetry.listen(self.events.append, jobs=False)
        registry = Registry(app)
        for item in declared:
            registry.add_schedule(item)
        self.declarer = Declarer(world.store, registry, LEAD, telemetry)

    async def look(self) -> None:
        """What the process does every few seconds."""
        await self.declarer.run_once()

    async def end(self) -> None:
        """End in good order."""
        await self.declarer.resign()


async def names(world: World, state: ScheduleState = ScheduleState.ACTIVE) -> list[str]:
    return [item.name for item in await world.store.schedules.page(100) if item.state is state]


async def test_declaring_makes_schedules_once(world: World) -> None:
    deploy = Deploy(world, spec("a"), spec("b"))
    for _ in range(3):
        await deploy.look()
    assert await names(world) == ["a", "b"]
    assert [item.owner for item in await world.store.schedules.page(10)] == ["shop", "shop"]
    assert deploy.events == [SchedulesDeclared("shop", 2, 0)]
    assert (await world.store.audit.head()).last == 2


async def test_a_restart_with_the_same_code_writes_nothing(world: World) -> None:
    await Deploy(world, spec()).look()
    before = await read(world.store)
    world.advance(2 * LEAD)
    again = Deploy(world, spec())
    await again.look()
    assert (await read(world.store), again.events) == (before, [])


async def test_what_is_no_longer_declared_is_retired_and_comes_back_with_its_history(world: World) -> None:
    first = Deploy(world, spec(catch_up=CatchUp.ALL))
    await first.look()
    await Scheduler(world.store).run_after(world, 10)
    await first.end()
    second = Deploy(world)
    await second.look()
    assert await names(world, ScheduleState.RETIRED) == ["tick"]
    world.advance(100)
    await Scheduler(world.store).run_out()
    made = len(await jobs(world.store))
    await second.end()
    await Deploy(world, spec(catch_up=CatchUp.ALL)).look()
    assert await names(world) == ["tick"]
    await Scheduler(world.store).run_out()
    assert (len(await jobs(world.store)), len(await fires(world.store))) == (made, made), "retirement is not caught up"


async def test_a_change_keeps_history_and_makes_what_was_due_on_the_old_terms(world: World) -> None:
    world.advance(60 - world.clock() % 60)
    start = world.clock()
    old = Deploy(world, spec(expression="every 10s", catch_up=CatchUp.ALL))
    await old.look()
    await old.end()
    world.advance(25)
    await Deploy(world, spec(expression="every 30s", catch_up=CatchUp.ALL)).look()
    world.advance(35)
    await Scheduler(world.store).run_out()
    found = [fire.at - start for fire in await fires(world.store) if fire.outcome is FireOutcome.FIRED]
    assert found == [10, 20, 30, 60]
    assert len(await jobs(world.store)) == 4


async def test_two_versions_of_the_code_do_not_fight(world: World) -> None:
    old, new = Deploy(world, spec("a"), spec("b")), Deploy(world, spec("a", "every 20s"), spec("c"))
    await old.look()
    seen = await world.store.schedules.page(10)
    for _ in range(5):
        world.advance(LEAD / 3)
        await new.look()
        await old.look()
    assert await world.store.schedules.page(10) == seen, "the one that leads is in force, and writes once"
    await old.end()
    for _ in range(5):
        await new.look()
        await old.look()
    assert await names(world) == ["a", "c"]
    assert (await read(world.store, "a")).spec.expression == "every 20s"
    assert len(new.events) == 1


async def test_the_code_of_a_leader_that_died_is_replaced_when_its_lead_ends(world: World) -> None:
    await Deploy(world, spec("a")).look()
    new = Deploy(world, spec("b"))
    await new.look()
    assert await names(world) == ["a"]
    world.advance(LEAD + 1)
    await new.look()
    assert await names(world) == ["b"]


async def test_apps_that_share_a_database_leave_each_other_alone(world: World) -> None:
    await Deploy(world, spec("a"), app="shop").look()
    await Deploy(world, spec("b"), app="bank").look()
    await Deploy(world, app="empty").look()
    assert await names(world) == ["a", "b"]


async def test_a_name_that_belongs_to_a_running_app_or_to_nobodys_code_is_refused_aloud(world: World) -> None:
    await Deploy(world, spec("a"), app="shop").look()
    await add(world, spec("b"))
    bank = Deploy(world, spec("a", "every 20s"), spec("b", "every 20s"), app="bank")
    await bank.look()
    told = [event.reason for event in bank.events if isinstance(event, ServiceFailed)]
    assert len(told) == 2
    assert "shop" in "".join(told)
    assert {item.spec.expression for item in await world.store.schedules.page(10)} == {"every 10s"}


async def test_an_app_that_was_renamed_keeps_its_schedules(world: World) -> None:
    old = Deploy(world, spec(), app="shop.jobs")
    await old.look()
    await Scheduler(world.store).run_after(world, 10)
    await old.end()
    await Deploy(world, spec(), app="shop.tasks").look()
    assert (await read(world.store)).owner == "shop.tasks"
    assert len(await fires(world.store)) >= 1


async def test_a_pause_outlives_deploys(world: World) -> None:
    first = Deploy(world, spec())
    await first.look()
    await schedules.pause(world.store, "tick", ANN)
    await first.end()
    await Deploy(world, spec(expression="every 20s")).look()
    after = await read(world.store)
    assert (after.state, after.spec.expression) == (ScheduleState.PAUSED, "every 20s")


async def test_pausing_records_what_was_due_and_resuming_begins_anew(world: World) -> None:
    world.advance(10 - world.clock() % 10)
    await add(world, spec())
    world.advance(25)
    await schedules.pause(world.store, "tick", ANN)
    world.advance(1000)
    await schedules.resume(world.store, "tick", ANN)
    await Scheduler(world.store).run()
    (missed,) = await fires(world.store)
    assert (missed.outcome, missed.times, await jobs(world.store)) == (FireOutcome.MISSED, 2, [])
    await Scheduler(world.store).run_after(world, 10)
    assert len(await jobs(world.store)) == 1


async def test_a_change_by_two_at_once_loses_neither(world: World) -> None:
    await add(world, spec())
    await asyncio.gather(
        schedules.change(world.store, "tick", lambda seen: replace(seen, zone="Europe/Berlin"), ANN),
        schedules.change(world.store, "tick", lambda seen: replace(seen, expression="every 20s"), ANN),
        schedules.change(world.store, "tick", lambda seen: replace(seen, start_within=5.0), ANN),
    )
    after = (await read(world.store)).spec
    assert (after.zone, after.expression, after.start_within) == ("Europe/Berlin", "every 20s", 5.0)


async def test_a_retired_schedule_is_neither_paused_nor_resumed_but_can_be_removed(world: World) -> None:
    first = Deploy(world, spec())
    await first.look()
    await first.end()
    await Deploy(world).look()
    for act in (schedules.pause, schedules.resume):
        with pytest.raises(ScheduleRefused, match="retired"):
            await act(world.store, "tick", ANN)
    await schedules.remove(world.store, "tick", ANN)
    assert await world.store.schedules.page(10) == []
