"""The service that tells what is wrong, on every store."""

import json

from fairlead.core.jobs.model import Lane, Priority
from fairlead.runtime.operator import Operator
from fairlead.scheduler.alert import HOLD, INTERVAL, Alerter
from fairlead.telemetry.events import AlertCleared, AlertRaised, Event, Telemetry
from tests.contract.making import enqueue_one
from tests.contract.world import World
from tests.support.settings import pause, resume, set_pool

ADA = Operator("ada", "a test")
GPU = Lane("gpu", "acme", "mail", Priority.DEFAULT, 1)


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def raised(told: list[Event]) -> set[tuple[str, str | None]]:
    return {(event.code, event.about) for event in told if isinstance(event, AlertRaised)}


async def sample(world: World, seconds: float, ready: int, oldest: float, dead: int = 0) -> None:
    """What the watcher would write over so many seconds."""
    value = {
        "pools": {"default": {"ready": ready, "oldest": oldest}},
        "ended": {"dead": dead, "succeeded": 99},
        "seconds": 30.0,
    }
    for _ in range(int(seconds / 30)):
        world.advance(30)
        await world.store.samples.add(json.dumps(value), 7200)


async def test_what_is_wrong_is_told_when_it_begins_and_when_it_ends(
    world: World, telemetry: Telemetry, told: list[Event]
) -> None:
    alerter = Alerter(world.store, telemetry)
    await pause(world.store, "type", "mail", ADA)
    assert await alerter.run_once() >= INTERVAL
    assert told == []
    await alerter.run_once()
    (event,) = told
    assert isinstance(event, AlertRaised)
    assert (event.code, event.about, event.severity) == ("PAUSED", "type:mail", "warning")
    assert event.sentence == "Type mail is paused: a test."
    await resume(world.store, "type", "mail", ADA)
    await alerter.run_once()
    await alerter.run_once()
    assert told[1:] == [AlertCleared("PAUSED", "type:mail")]


async def test_lost_workers_late_promotion_and_unserved_pools_are_told(
    world: World, telemetry: Telemetry, told: list[Event]
) -> None:
    clock = Clock()
    alerter = Alerter(world.store, telemetry, clock)
    await enqueue_one(world.store, GPU)
    await enqueue_one(world.store, delay=1.0)
    await world.worker(30)
    world.advance(60)
    for _ in range(2):
        await alerter.run_once()
        clock.now += HOLD
    await alerter.run_once()
    assert raised(told) == {("NO_WORKER", "gpu"), ("WORKER_LOST", None), ("NO_LEADER", None)}


async def test_workers_that_start_beside_it_have_a_moment_to_register(
    world: World, telemetry: Telemetry, told: list[Event]
) -> None:
    """A worker that starts on a backlog would otherwise begin with an alert that no worker runs."""
    clock = Clock()
    alerter = Alerter(world.store, telemetry, clock)
    await enqueue_one(world.store, GPU)
    for _ in range(4):
        await alerter.run_once()
        clock.now += HOLD / 5
    assert told == []
    clock.now += HOLD
    for _ in range(2):
        await alerter.run_once()
    assert raised(told) == {("NO_WORKER", "gpu")}


async def test_a_worker_that_was_lost_long_ago_is_not_told(
    world: World, telemetry: Telemetry, told: list[Event]
) -> None:
    await world.worker(30)
    world.advance(3600)
    alerter = Alerter(world.store, telemetry)
    for _ in range(2):
        await alerter.run_once()
    assert told == []


async def test_what_lasts_or_grows_is_told(world: World, telemetry: Telemetry, told: list[Event]) -> None:
    alerter = Alerter(world.store, telemetry)
    await set_pool(world.store, "default", {"wait": 1.0, "depth": 5}, ADA)
    await sample(world, 600, ready=9, oldest=3.0, dead=0)
    await sample(world, 60, ready=9, oldest=3.0, dead=20)
    await world.worker(30)
    for _ in range(2):
        await alerter.run_once()
    assert raised(told) == {("SLOW_POOL", "default"), ("DEEP_POOL", "default"), ("DEAD_LETTERS_GROW", None)}
