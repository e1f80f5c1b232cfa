"""Breakers judge by tenants: what fails for one tenant is stopped for that tenant alone."""

import asyncio
from collections import Counter

import pytest

import fairlead
from fairlead.core.jobs.states import State
from fairlead.core.protection.breaker import BREAKER, opened, opened_by_hand
from fairlead.core.protection.controls import ABSENT, Change
from fairlead.core.protection.run_counts import MOST_TENANTS, TENANT, Counted, Sums, of_group, tenant_of
from fairlead.insight.breakers import breaker, breakers
from fairlead.records.store import Store
from fairlead.runtime.breakers import Breakers
from fairlead.runtime.controls import ControlView
from fairlead.runtime.operator import Operator
from fairlead.telemetry.events import BreakerOpened, Event, Telemetry
from tests.support.settings import close_breaker, open_breaker
from tests.worker.support import until

ADA = Operator("ada", "maintenance")
POLICY = fairlead.Breaker(minimum=9, cooldown="1h")
LATER = fairlead.Retry.fixed("1h", attempts=5)


class Post:
    """An app with one type, whose jobs fail if they are told to."""

    def __init__(self, url: str, policy: fairlead.Breaker = POLICY, needs: tuple[str, ...] = ()) -> None:
        self.app = fairlead.App(url, poll="50ms", breaker=policy)
        self.events: list[Event] = []
        self.app.on_event(self.events.append, jobs=False)
        self.runs: Counter[str] = Counter()

        @self.app.handler("send", needs=needs, retry=LATER)
        async def send(tenant: str, bad: bool) -> None:
            self.runs[tenant] += 1
            if bad:
                raise ConnectionError("away") if needs else ValueError("always")

        self.send = send

    async def submit(self, tenant: str, count: int, bad: bool = False) -> list[fairlead.Job]:
        given = [{"tenant": tenant, "bad": bad}] * count
        return list(await self.send.options(tenant=tenant).enqueue_many(given))

    @property
    def opened(self) -> list[str]:
        return [event.breaker for event in self.events if isinstance(event, BreakerOpened)]


@pytest.mark.parametrize(("needs", "name"), [((), "type:send"), (("mail",), "dependency:mail")])
async def test_failing_jobs_of_one_tenant_stop_nobody_else(store_url: str, needs: tuple[str, ...], name: str) -> None:
    post = Post(store_url, needs=needs)
    async with post.app:
        store = await post.app.store()
        async with post.app.worker():
            for _ in range(5):
                await post.submit("evil", 10, bad=True)
            await until(lambda: bool(post.opened), "the breaker of the failing tenant to open")
            for job in await post.submit("calm", 100):
                await job.wait(timeout=60)
            await post.submit("evil", 10, bad=True)
            before = post.runs["evil"]
            for job in await post.submit("calm", 10):
                await job.wait(timeout=60)
        assert post.opened == [f"{name}~evil"]
        assert post.runs["evil"] == before, "nothing of the failing tenant starts"
        listed = {item.name: item.phase for item in await breakers(store)}
        assert listed[f"{name}~evil"] == "open"
        assert listed.get(name, "closed") == "closed"


async def test_failing_jobs_of_several_tenants_stop_the_type_for_all(store_url: str) -> None:
    post = Post(store_url)
    async with post.app:
        store = await post.app.store()
        for tenant in ("one", "two", "three", "four", "five"):
            await post.submit(tenant, 20, bad=True)
        async with post.app.worker():
            await until(lambda: "type:send" in post.opened, "the breaker of the type to open")
            (waiting,) = await post.submit("calm", 1)
            await asyncio.sleep(0.3)
            assert await waiting.state() is State.READY
        assert [item.name for item in await breakers(store) if item.phase != "closed"] == ["type:send"]


async def test_a_type_that_is_deployed_with_breakers_off_starts_again(store_url: str) -> None:
    post = Post(store_url, fairlead.Breaker.off())
    async with post.app:
        store = await post.app.store()
        now = (await store.controls.read()).now
        for name in ("type:send", "type:send~acme", "type:other"):
            await trip(store, name, opened(POLICY, "a test", now).value())
        await trip(store, "type:send~held", opened_by_hand(POLICY, "ada", "a test", now).value())
        held = await post.submit("held", 1)
        async with post.app.worker():
            for job in await post.submit("acme", 5):
                await job.wait(timeout=60)
            assert await held[0].state() is State.READY
        assert {control.name for control in (await store.controls.read()).controls} == {"type:other", "type:send~held"}


async def test_few_tenants_are_counted_one_by_one_however_many_fail(store_url: str) -> None:
    post = Post(store_url, fairlead.Breaker(minimum=1_000))
    count = 2 * MOST_TENANTS
    async with post.app:
        for at in range(count):
            await post.submit(f"tenant-{at}", 1, bad=True)
        async with post.app.worker():
            await until(lambda: sum(post.runs.values()) == count, "all of them to fail")
        counted = await (await post.app.store()).run_counts.read()
        assert counted.of("type:send").bad == count
        assert len(counted.tenants("type:send")) == MOST_TENANTS
        assert sum(sums.bad for sums in counted.groups("type:send")) == count
        assert len(of_breakers(counted)) == MOST_TENANTS + 2 * (1 + 16)


async def test_few_tenants_have_breakers_of_their_own(store_url: str) -> None:
    post = Post(store_url)
    async with post.app:
        store = await post.app.store()
        view = ControlView(store)
        await view.refresh()
        failing = {f"type:send~tenant-{at}": Sums(0, 50, 9.0) for at in range(MOST_TENANTS + 5)}
        group = {of_group("type:send", "calm"): Sums(1_000, 0, 9.0)}
        counted = Counted({**failing, **group, "type:send": Sums(1_000, 5_000, 9.0)}, (await store.controls.read()).now)
        found = Breakers(store, view, Telemetry())
        for _ in range(2):
            await found.consider("type:send", POLICY, counted)
        assert len((await store.controls.read()).controls) == MOST_TENANTS


async def test_an_operator_stops_a_type_for_one_tenant(store_url: str) -> None:
    post = Post(store_url)
    async with post.app, post.app.worker():
        store = await post.app.store()
        status = await open_breaker(store, "type:send~acme", ADA)
        assert (status.name, status.phase, status.types) == ("type:send~acme", "open", ("send",))
        (held,) = await post.submit("acme", 1)
        for job in await post.submit("calm", 5):
            await job.wait(timeout=60)
        assert await held.state() is State.READY
        await close_breaker(store, "type:send~acme", ADA)
        await held.wait(timeout=60)
        assert (await breaker(store, "type:send~acme")).phase == "closed"
        assert [item.name for item in await breakers(store)] == []


async def trip(store: Store, name: str, value: object) -> None:
    """Open a breaker."""
    await store.controls.change([Change(BREAKER, name, value, ABSENT)])  # type: ignore[arg-type]


def of_breakers(counted: Counted) -> list[str]:
    """The subjects that are counted for breakers and quarantines."""
    return [name for name in counted.sums if not name.startswith(f"{TENANT}:") or tenant_of(name)]
