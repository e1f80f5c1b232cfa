"""Quarantine and retry budgets through the public surface, on a clock that the test moves."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

import fairlead
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.states import State
from fairlead.errors import ConfigError, UnknownType
from fairlead.insight.protection import BudgetStatus, budgets, quarantined
from fairlead.operate.dead_letters import replay_many
from fairlead.runtime.operator import Operator
from fairlead.telemetry.events import Event, RetriesDelayed, RetriesRefused, TypeQuarantined
from tests.contract.world import World, open_world
from tests.support.settings import put, release, reset_budget, set_budget
from tests.worker.support import until

ADA = Operator("ada", "looked at it")
MINUTE = 60.0


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    async with open_world(store_url) as opened:
        yield opened


class Plant:
    """An app with a type that fails until it is mended. The clock stands still while a worker works."""

    def __init__(self, world: World, **options: Any) -> None:
        self.world = world
        self.app = fairlead.App(world.url, clock=world.clock, poll="50ms", breaker=fairlead.Breaker.off(), **options)
        self.mended = False
        self.error: Exception = ValueError("sparks")
        self.runs = 0
        self.events: list[Event] = []
        self.app.on_event(self.events.append, jobs=False)

        @self.app.handler("weld", retry=fairlead.Retry.fixed("1s", attempts=50, jitter="none"))
        async def weld() -> None:
            self.runs += 1
            if not self.mended:
                raise self.error

        @self.app.handler("paint")
        async def paint() -> None: ...

        self.weld, self.paint = weld, paint

    async def work(self, runs: int, wait: float) -> None:
        """Let a worker do so many runs, and time pass afterwards."""
        wanted = self.runs + runs
        async with self.app.worker():
            await until(lambda: self.runs == wanted, f"{runs} runs")
        self.world.advance(wait)

    async def look_around(self) -> None:
        """Let a worker look for work a few times."""
        async with self.app.worker():
            for _ in range(3):
                await (await self.paint.enqueue()).wait(timeout=60)


async def fail_for_an_hour(plant: Plant) -> list[fairlead.Job]:
    """Four jobs that have failed every nine minutes, until their type is quarantined."""
    store = await plant.app.store()
    jobs = await plant.weld.enqueue_many([{}] * 4)
    for _ in range(7):
        assert await quarantined(store) == []
        await plant.work(4, wait=9 * MINUTE)
    return jobs


async def test_jobs_of_a_type_that_fails_for_an_hour_have_two_attempts_then_they_are_dead(world: World) -> None:
    plant = Plant(world)
    async with plant.app:
        store = await plant.app.store()
        old = await fail_for_an_hour(plant)
        (item,) = await quarantined(store)
        assert (item.type, item.by, item.attempts) == ("weld", None, 2)
        new = await plant.weld.enqueue_many([{}] * 3)
        await plant.work(7, wait=2)
        assert {await job.state() for job in old} == {State.DEAD}, "they have had more than two"
        assert {await job.state() for job in new} == {State.RETRYING}
        await plant.work(3, wait=2)
        records = [await job.read() for job in new]
        assert {(record.state, record.attempt) for record in records} == {(State.DEAD, 2)}
        assert {record.error and record.error.message for record in records} == {
            "sparks (not tried again: its type is in quarantine)"
        }
        (group,) = await store.dead_letters.groups(JobFilter(), 10)
        assert group.count == 7, "the note is not part of what groups them"
        plant.mended = True
        await release(store, "weld", ADA)
        assert len((await replay_many(store, JobFilter(type="weld"), ADA)).done) == 7
        async with plant.app.worker():
            for job in [*old, *new]:
                await job.wait(timeout=60)


async def test_a_type_that_fails_for_an_hour_waits_until_it_is_released(world: World) -> None:
    plant = Plant(world, quarantine=fairlead.Quarantine(attempts=0))
    async with plant.app:
        store = await plant.app.store()
        jobs = await fail_for_an_hour(plant)
        (item,) = await quarantined(store)
        assert (item.type, item.by, item.why) == ("weld", None, "28 of 28 runs failed within 1h")
        (event,) = [event for event in plant.events if isinstance(event, TypeQuarantined)]
        assert "fairlead settings remove quarantine weld" in event.advice
        await plant.look_around()
        assert {await job.state() for job in jobs} == {State.READY}
        plant.mended = True
        await release(store, "weld", ADA)
        async with plant.app.worker():
            for job in jobs:
                await job.wait(timeout=60)
        assert [(await job.read()).attempt for job in jobs] == [8] * 4
        assert [entry.action for entry in await store.audit.read(10)] == ["release"]


async def test_a_type_that_mostly_succeeds_is_not_quarantined(world: World) -> None:
    plant = Plant(world)
    async with plant.app:
        store = await plant.app.store()
        for _ in range(8):
            plant.mended = False
            await plant.weld.enqueue_many([{}] * 4)
            await plant.work(4, wait=1)
            plant.mended = True
            await plant.weld.enqueue_many([{}] * 4)
            await plant.work(8, wait=9 * MINUTE)
        assert await quarantined(store) == []
        counts = (await store.run_counts.read()).sums["quarantine:weld"]
        assert counts.good > counts.bad >= 20


async def test_an_operator_puts_a_type_into_quarantine_and_lets_it_go(world: World) -> None:
    plant = Plant(world)
    plant.mended = True
    async with plant.app:
        store = await plant.app.store()
        job = await plant.weld.enqueue()
        with pytest.raises(UnknownType):
            await put(store, "weld", ADA)
        await plant.look_around()
        await put(store, "weld", ADA)
        second = await plant.weld.enqueue()
        await plant.look_around()
        assert (await job.state(), await second.state()) == (State.SUCCEEDED, State.READY)
        assert [(item.type, item.by, item.why) for item in await quarantined(store)] == [
            ("weld", "ada", "looked at it")
        ]
        await release(store, "weld", ADA)
        await plant.work(1, wait=0)
        assert await second.state() is State.SUCCEEDED
        with pytest.raises(ConfigError, match="no quarantine is set"):
            await release(store, "weld", ADA)


async def test_jobs_whose_retry_is_beyond_the_budget_are_dead_early(world: World) -> None:
    plant = Plant(world, retry_budget=fairlead.RetryBudget(ratio=2, floor=5, window="1m"))
    async with plant.app:
        jobs = await plant.weld.options(tenant="acme").enqueue_many([{}] * 10)
        for _ in range(3):
            await plant.work(10, wait=1)
        dead = [record for record in [await job.read() for job in jobs] if record.state is State.DEAD]
        assert len(dead) == 5, "ten first attempts allow twenty-five retries"
        assert {record.attempt for record in dead} == {3}
        assert all(record.error and "acme has used up its retry budget" in record.error.message for record in dead)
        (event,) = [event for event in plant.events if isinstance(event, RetriesRefused)]
        assert (event.tenant, event.refused, event.allowed) == ("acme", 5, 25)
        calm = await plant.weld.options(tenant="calm").enqueue()
        await plant.work(6, wait=0)
        assert await calm.state() is State.RETRYING, "one tenant's budget is not another's"


async def test_a_dependency_that_is_away_delays_what_is_beyond_the_budget(world: World) -> None:
    plant = Plant(world, retry_budget=fairlead.RetryBudget(ratio=0, floor=1, window="1m"))
    plant.error = ConnectionError("no route")
    async with plant.app:
        jobs = await plant.weld.enqueue_many([{}] * 5)
        await plant.work(5, wait=0)
        assert {await job.state() for job in jobs} == {State.RETRYING}
        assert max(await waits(plant, jobs)) >= 60


async def test_retries_beyond_the_budget_can_be_delayed_and_none_is_lost(world: World) -> None:
    plant = Plant(world, retry_budget=fairlead.RetryBudget(ratio=2, floor=5, window="1m", beyond="delay"))
    async with plant.app:
        jobs = await plant.weld.options(tenant="acme").enqueue_many([{}] * 10)
        for _ in range(2):
            await plant.work(10, wait=1)
        assert await waits(plant, jobs) == [0] * 10, "ten first attempts allow twenty-five retries"
        await plant.work(10, wait=0)
        assert await waits(plant, jobs) == [1] * 5 + [60, 62, 65, 67, 70], "at the pace of 25 a minute"
        (event,) = [event for event in plant.events if isinstance(event, RetriesDelayed)]
        assert (event.tenant, event.delayed, event.allowed) == ("acme", 5, 25)
        status = await budget_of(plant, "acme")
        assert (status.first_attempts, status.retries, status.used_up, status.own) == (10, 30, True, False)
        calm = await plant.weld.options(tenant="calm").enqueue()
        await plant.work(1, wait=0)
        assert await waits(plant, [calm]) == [1], "one tenant's budget is not another's"
        plant.mended = True
        for _ in range(2):
            world.advance(100)
            await plant.look_around()
        assert {(await job.read()).attempt for job in jobs} == {4}
        assert {await job.state() for job in jobs} == {State.SUCCEEDED}


async def test_an_operator_lifts_a_budget_and_restores_it(world: World) -> None:
    plant = Plant(world, retry_budget=fairlead.RetryBudget(ratio=0, floor=1, window="1m", beyond="delay"))
    async with plant.app:
        store = await plant.app.store()
        await set_budget(store, "default", fairlead.RetryBudget(ratio=None), ADA)
        jobs = await plant.weld.enqueue_many([{}] * 4)
        for _ in range(3):
            await plant.work(4, wait=1)
        assert await waits(plant, jobs) == [0] * 4
        assert (await budget_of(plant, "default")).own
        await reset_budget(store, "default", ADA)
        await plant.work(4, wait=0)
        assert min(await waits(plant, jobs)) >= 60
        assert [entry.action for entry in await store.audit.read(10)] == ["reset retry budget", "set retry budget"]


async def waits(plant: Plant, jobs: list[fairlead.Job]) -> list[int]:
    """For how many seconds each job will wait from now on, in order."""
    now = plant.world.clock()
    records = [await job.read() for job in jobs]
    return sorted(round(record.run_at.timestamp() - now) for record in records)


async def budget_of(plant: Plant, tenant: str) -> BudgetStatus:
    """One tenant's line."""
    return {item.tenant: item for item in await budgets(await plant.app.store())}[tenant]
