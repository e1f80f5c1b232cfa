"""A type that begins to fail: its worker waits for the breaker's decision, instead of running thousands more."""

from collections import Counter

import fairlead
from fairlead.core.protection.run_counts import of_group, of_tenant
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
    tripping, counts = watched()
    for _ in range(20):
        counts.new["work", "acme"] += 4
        fail(counts, "acme")
    assert not tripping.consider(NAME, "acme"), "20 of 100 failed"
    for _ in range(59):
        fail(counts, "acme")
    assert not tripping.consider(NAME, "acme"), "it looks at every twentieth failure"
    fail(counts, "acme")
    assert tripping.consider(NAME, "acme"), "80 of 160 failed"
    assert not tripping.consider(NAME, "acme"), "it is known already"
    assert tripping.hold((NAME, "type:other"), "acme")
    assert not tripping.hold((NAME, "type:other"), "calm"), "one tenant's failures do not hold back another's jobs"
    assert not tripping.hold(("type:other",), "acme")
    tripping.remove([of_tenant(NAME, "acme"), "type:other"])
    assert (list(tripping), tripping.changes) == ([], 2)


def test_what_fails_for_several_tenants_is_held_for_all() -> None:
    tripping, counts = watched()
    for at in range(40):
        fail(counts, f"tenant-{at}")
        tripping.consider(NAME, f"tenant-{at}")
    assert list(tripping) == [NAME]
    assert tripping.hold((NAME,), "calm")


NAME = "type:work"


def subjects(name: str, tenant: str) -> tuple[str, ...]:
    """What a run is counted under."""
    return (name, of_group(name, tenant), of_tenant(name, tenant))


def fail(counts: RunCounts, tenant: str) -> None:
    """Count a failed run."""
    counts.bad.update(subjects(NAME, tenant))


def watched() -> tuple[TrippingBreakers, RunCounts]:
    """A worker that has done nothing yet."""
    app = fairlead.App("sqlite://")

    @app.handler("work")
    async def work() -> None: ...

    counts = RunCounts(lambda type_, tenant: subjects(f"type:{type_}", tenant))
    return TrippingBreakers(app.registry, counts), counts


async def test_dependency_failures_while_a_breaker_is_about_to_open_give_the_attempts_back(store_url: str) -> None:
    app = fairlead.App(store_url, poll="50ms")
    events: list[Event] = []
    app.on_event(events.append, jobs=False)

    @app.handler("call", needs=["mail"], policies={"dependency": LATER})
    async def call() -> None:
        raise ConnectionError("away")

    async with app:
        jobs = await call.enqueue_many([{}] * 200)
        async with app.worker(concurrency=50):
            await until(lambda: any(isinstance(event, BreakerOpened) for event in events), "the breaker to open")
        records = [await job.read() for job in jobs]
        failed = [record for record in records if record.error is not None]
        assert len(failed) >= app.registry.breaker_of("dependency:mail").minimum
        burnt = sum(record.attempt for record in records)
        assert burnt < app.registry.breaker_of("dependency:mail").minimum, "only until the worker saw it coming"
