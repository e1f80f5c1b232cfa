"""Breakers with workers: what opens them, what they let through, and what operators do."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

import fairlead
from fairlead.core.jobs.states import State
from fairlead.core.protection.breaker import BREAKER, opened
from fairlead.core.protection.controls import ABSENT, Change
from fairlead.core.protection.run_counts import Sums, of_group, of_tenant
from fairlead.errors import ConfigError
from fairlead.insight.breakers import breaker, breakers
from fairlead.records.store import Store
from fairlead.runtime.breakers import Breakers
from fairlead.runtime.controls import ControlView
from fairlead.runtime.operator import Operator
from fairlead.telemetry.events import BreakerClosed, BreakerOpened, BreakerRamping, Event, Telemetry
from tests.contract.world import World, open_world
from tests.support.settings import close_breaker, open_breaker
from tests.worker.support import until

ADA = Operator("ada", "maintenance")
STRIPE = "dependency:stripe"
POLICY = fairlead.Breaker(minimum=10, cooldown="100ms", probes=3, patience="30s", ramp="500ms")
ONCE = fairlead.Retry(attempts=1)


class Shop:
    """An app with a type that needs a dependency and waits at a gate, one that fails, and one that does neither."""

    def __init__(self, url: str, **options: Any) -> None:
        self.app = fairlead.App(url, poll="50ms", **{"breaker": POLICY, **options})
        self.gate = asyncio.Event()
        self.started = 0
        self.failed = 0
        self.events: list[Event] = []
        self.app.on_event(self.events.append, jobs=False)

        @self.app.handler("charge", needs=["stripe"])
        async def charge() -> None:
            self.started += 1
            await self.gate.wait()

        @self.app.handler("break", needs=["stripe"], retry=ONCE)
        async def break_(error: str) -> None:
            self.failed += 1
            raise {"value": ValueError, "permission": PermissionError, "connection": ConnectionError}[error](error)

        @self.app.handler("free")
        async def free() -> None: ...

        self.charge, self.break_, self.free = charge, break_, free

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    async def pass_time(self) -> None:
        """Let a worker look for work a few times."""
        for _ in range(5):
            await (await self.free.enqueue()).wait(timeout=60)


@pytest.fixture
async def shop(store_url: str) -> AsyncIterator[Shop]:
    made = Shop(store_url)
    async with made.app:
        yield made
        made.gate.set()


async def trip(store: Store, policy: fairlead.Breaker = POLICY) -> None:
    """Open the breaker of stripe, long enough ago that it is to be probed."""
    now = (await store.controls.read()).now
    await store.controls.change([Change(BREAKER, STRIPE, opened(policy, "a test", now - 100).value(), ABSENT)])


async def test_an_operator_opens_and_closes_a_breaker(shop: Shop) -> None:
    async with shop.app.worker():
        store = await shop.app.store()
        status = await open_breaker(store, "stripe", ADA)
        assert (status.phase, status.by, status.why, status.types) == (
            "open",
            "ada",
            "maintenance",
            ("break", "charge"),
        )
        job = await shop.charge.enqueue()
        await shop.pass_time()
        assert (await job.state(), shop.started) == (State.READY, 0)
        shop.gate.set()
        assert (await close_breaker(store, STRIPE, ADA)).phase == "closed"
        await job.wait(timeout=60)
        assert [entry.action for entry in await store.audit.read(10)] == ["close breaker", "open breaker"]
        assert (await job.read()).attempt == 1


async def test_probes_are_bounded_and_good_ones_let_all_through(shop: Shop) -> None:
    store = await shop.app.store()
    await trip(store)
    jobs = await shop.charge.enqueue_many([{}] * 30)
    async with shop.app.worker():
        await until(lambda: shop.started == POLICY.probes, "the probes")
        await shop.pass_time()
        assert shop.started == POLICY.probes
        assert (await breaker(store, "stripe")).phase == "half_open"
        shop.gate.set()
        for job in jobs:
            await job.wait(timeout=60)
        await until(lambda: bool(shop.of(BreakerClosed)), "the breaker to close")
    assert len(shop.of(BreakerRamping)) == len(shop.of(BreakerClosed)) == 1
    assert (await store.controls.read()).controls == []


async def test_two_workers_share_the_probes(shared_url: str) -> None:
    one, other = Shop(shared_url), Shop(shared_url)
    async with one.app, other.app:
        await trip(await one.app.store())
        jobs = await one.charge.enqueue_many([{}] * 30)
        async with one.app.worker(), other.app.worker():
            await until(lambda: one.started + other.started == POLICY.probes, "the probes")
            await one.pass_time()
            assert one.started + other.started == POLICY.probes
            one.gate.set()
            other.gate.set()
            for job in jobs:
                await job.wait(timeout=60)


async def test_probes_of_a_worker_that_died_are_replaced(shop: Shop) -> None:
    store = await shop.app.store()
    await trip(store, fairlead.Breaker(probes=3, patience="300ms", ramp="100ms"))
    view = ControlView(store)
    await view.refresh()
    taken = await Breakers(store, view, Telemetry()).ask((STRIPE,), 3)
    assert taken is not None
    assert taken.runs == 3
    shop.gate.set()
    async with shop.app.worker():
        await (await shop.charge.enqueue()).wait(timeout=60)


async def test_permits_without_a_job_go_back(shop: Shop) -> None:
    store = await shop.app.store()
    await trip(store)
    shop.gate.set()
    async with shop.app.worker():
        for _ in range(POLICY.probes + 1):
            await (await shop.charge.enqueue()).wait(timeout=60)


@pytest.mark.parametrize(("error", "subject"), [("connection", STRIPE), ("value", "type:break"), ("permission", None)])
async def test_who_is_to_blame_is_counted(shop: Shop, error: str, subject: str | None) -> None:
    store = await shop.app.store()
    async with shop.app.worker():
        for job in await shop.break_.enqueue_many([{"error": error}] * 5):
            with pytest.raises(fairlead.JobFailed):
                await job.wait(timeout=60)
    counts = (await store.run_counts.read()).sums
    blamed = {name: sums.bad for name, sums in counts.items() if not name.startswith("quarantine")}
    names = [subject, of_group(subject, "default"), of_tenant(subject, "default")] if subject else []
    assert blamed == dict.fromkeys(names, 5)


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    async with open_world(store_url) as opened_world:
        yield opened_world


async def test_a_type_that_fails_is_closed_when_all_workers_had_time_to_count(world: World) -> None:
    shop = Shop(world.url, clock=world.clock, breaker=fairlead.Breaker(minimum=10, cooldown="1h"))
    async with shop.app:
        for rounds in (1, 2):
            async with shop.app.worker():
                await shop.break_.enqueue_many([{"error": "value"}] * 10)
                await until(lambda runs=10 * rounds: shop.failed == runs, "the failures")  # type: ignore[misc]
            assert len(shop.of(BreakerOpened)) == rounds - 1
            world.advance(2)
        waiting = await shop.break_.enqueue(error="value")
        async with shop.app.worker():
            await shop.pass_time()
            assert await waiting.state() is State.READY
        (status,) = [item for item in await breakers(await shop.app.store()) if item.name == "type:break~default"]
        assert (status.phase, status.why) == ("open", "20 of 20 runs failed within 1m")


async def test_where_nothing_fails_nothing_is_written(shop: Shop) -> None:
    store = await shop.app.store()
    async with shop.app.worker():
        for job in await shop.free.enqueue_many([{}] * 50):
            await job.wait(timeout=60)
    assert (await store.run_counts.read()).sums == {}
    assert (await store.controls.read()).controls == []


async def test_the_first_failure_makes_all_workers_add_their_successes(shared_url: str) -> None:
    good, bad = fairlead.App(shared_url), fairlead.App(shared_url, breaker=fairlead.Breaker(minimum=1000))

    @good.handler("work")
    async def succeed() -> None: ...

    @bad.handler("work", retry=ONCE)
    async def fail() -> None:
        raise ValueError("only on this worker")

    async with good, bad, good.worker(pools=("short",)), bad.worker(pools=("medium",)):
        store = await good.store()
        for job in await succeed.enqueue_many([{}] * 60):
            await job.wait(timeout=60)
        assert (await store.run_counts.read()).sums == {}
        job = await fail.options(pool="medium").enqueue()
        with pytest.raises(fairlead.JobFailed):
            await job.wait(timeout=60)
        async with asyncio.timeout(60):
            while (await store.run_counts.read()).sums.get("type:work", Sums())[:2] != (60, 1):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_a_breaker_that_nothing_goes_through_cannot_be_opened(shop: Shop) -> None:
    with pytest.raises(ConfigError, match="dependency:paypal"):
        await open_breaker(await shop.app.store(), "paypal", ADA)


@pytest.mark.parametrize("needs", ["stripe", [""], ["a b"]])
def test_dependencies_are_a_list_of_names(needs: object) -> None:
    app = fairlead.App("sqlite:///:memory:")
    with pytest.raises(ConfigError):

        @app.handler("charge", needs=needs)  # type: ignore[call-overload]
        async def charge() -> None: ...
