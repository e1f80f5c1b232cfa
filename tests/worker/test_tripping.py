"""A type that begins to fail: its worker waits for the breaker's decision, instead of running thousands more."""

from collections import Counter

import fairlead
from fairlead.handlers.spec import Registry
from fairlead.runtime.breakers import TrippingBreakers
from fairlead.runtime.run_counts import RunCounts
from fairlead.telemetry.events import BreakerOpened, Event
from tests.contract.world import open_world
from tests.worker.support import until

SLOTS = 20
LATER = fairlead.Retry.fixed("1h", attempts=5)


async def test_few_jobs_of_a_failing_type_run_before_its_breaker_opens(store_url: str) -> None:
    app = fairlead.App(store_url, poll="50ms")
    events: list[Event] = []
    app.on_event(events.append, jobs=False)
    runs: Counter[str] = Counter()

    @app.handler("poison", retry=LATER)
    async def poison() -> None:
        runs["poison"] += 1
        raise ValueError("always")

    @app.handler("healthy")
    async def healthy() -> None:
        runs["healthy"] += 1

    async with app:
        await poison.enqueue_many([{}] * 2_000)
        await healthy.enqueue_many([{}] * 500)
        async with app.worker(concurrency=SLOTS):
            await until(lambda: any(isinstance(event, BreakerOpened) for event in events), "the breaker to open")
            assert runs["poison"] <= 15 * SLOTS
            await until(lambda: runs["healthy"] == 500, "the healthy type to go on")


async def test_without_a_decision_a_type_is_held_for_a_moment_only(store_url: str) -> None:
    """On a clock that stands still, nothing has been counted for long enough to decide."""
    async with open_world(store_url) as world:
        app = fairlead.App(world.url, clock=world.clock, poll="50ms")
        runs: Counter[str] = Counter()

        @app.handler("poison", retry=LATER)
        async def poison() -> None:
            runs["poison"] += 1
            raise ValueError("always")

        async with app:
            await poison.enqueue_many([{}] * 30)
            async with app.worker(concurrency=2):
                await until(lambda: runs["poison"] == 30, "all of them to run")


def test_what_is_about_to_open_depends_on_what_succeeded_too() -> None:
    app = fairlead.App("sqlite://")

    @app.handler("work", needs=["mail"])
    async def work() -> None: ...

    tripping, tally = watched(app.registry)
    tally.good["work", "acme"] += 60
    tally.fold()
    tally.good["work", "other"] += 20
    for name in ("type:work", "dependency:mail"):
        tally.bad[name] = 20
        assert not tripping.consider(name), "20 of 100 failed"
        tally.bad[name] = 70
        assert not tripping.consider(name), "it looks at every twentieth failure"
        tally.bad[name] = 80
        assert tripping.consider(name), "80 of 160 failed"
        assert tripping.hold((name, "type:other"))
        assert not tripping.consider(name), "it is known already"
    assert not tripping.hold(("type:other",))
    tripping.remove(["type:work", "type:other"])
    assert list(tripping) == ["dependency:mail"]
    assert tripping.changes == 3


def watched(registry: Registry) -> tuple[TrippingBreakers, RunCounts]:
    """A worker that has done nothing yet."""
    tally = RunCounts()
    return TrippingBreakers(registry, tally), tally
