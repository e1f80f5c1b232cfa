"""Fair share with real workers: slots go where they are due, whatever jobs take and however many there are."""

import asyncio

import pytest

import fairlead
from fairlead.core.fairness.tenancy import Tenant
from fairlead.runtime.operator import Operator
from fairlead.scheduler.ledger import LedgerKeeper
from tests.support.contest import Contest
from tests.support.processes import until
from tests.support.settings import set_pool, set_tenant

ADA = Operator("ada", "a test")


@pytest.mark.postgres
@pytest.mark.timeout(300)
async def test_two_workers_share_their_slots_by_weight_between_short_and_long_jobs(postgres_url: str) -> None:
    contest = Contest(
        postgres_url,
        [
            (Tenant("quick", weight=1.0), 0.02),
            (Tenant("slow", weight=2.0), 2.0),
            (Tenant("steady", weight=3.0), 0.2),
        ],
        slots=16,
    )
    await contest.run(slot_seconds=200.0)
    for name, ratio in contest.ratios.items():
        assert 0.7 < ratio < 1.3, (name, contest.delivered)
    assert contest.jain > 0.97


async def test_a_flood_of_one_tenant_does_not_keep_another_waiting(store_url: str) -> None:
    app = fairlead.App(store_url)
    order: list[str] = []

    @app.handler("work")
    async def work(ctx: fairlead.Context) -> None:
        order.append(ctx.tenant)

    async with app:
        await work.options(tenant="flood").enqueue_many([{}] * 2000)
        await work.options(tenant="small").enqueue_many([{}] * 5)
        async with app.worker(concurrency=10):
            await until(lambda: order.count("small") == 5, "the small tenant's jobs")
    assert [index for index, tenant in enumerate(order) if tenant == "small"][-1] < 200


async def test_reserved_slots_serve_their_tenant_only(store_url: str) -> None:
    app = fairlead.App(store_url, poll="50ms")
    ran: list[str] = []

    @app.handler("work")
    async def work(ctx: fairlead.Context) -> None:
        ran.append(ctx.tenant)

    async with app:
        others = await work.options(tenant="other").enqueue_many([{}] * 20)
        own = await work.options(tenant="acme").enqueue_many([{}] * 20)
        async with app.worker(reserve=("acme",)):
            for job in own:
                await job.wait(timeout=20)
        assert set(ran) == {"acme"}
        assert await others[0].state() == fairlead.State.READY
        (line,) = await (await app.store()).shares.ledger(3600.0)
        assert (line.tenant, line.delivered) == ("acme", 0.0)
        assert line.reserved > 0


async def test_a_new_weight_reaches_a_worker_that_is_busy(store_url: str) -> None:
    app = fairlead.App(store_url)
    counts = {"a": 0, "b": 0}

    @app.handler("work")
    async def work(ctx: fairlead.Context) -> None:
        counts[ctx.tenant] += 1
        await asyncio.sleep(0.01)

    async with app:
        store = await app.store()
        for tenant in counts:
            await work.options(tenant=tenant).enqueue_many([{}] * 4000)
        async with app.worker(concurrency=10):
            await set_tenant(store, "a", ADA, weight=1000.0)
            before = dict(counts)
            await until(lambda: counts["a"] > before["a"] + 500, "the new weight to be known")
            then = dict(counts)
            await until(lambda: counts["a"] > then["a"] + 500, "more of the heavy tenant's jobs")
            assert counts["b"] - then["b"] < 100


async def test_a_pool_takes_no_more_slots_of_a_worker_than_it_may(store_url: str) -> None:
    app = fairlead.App(store_url, poll="50ms")
    now, most = 0, 0

    @app.handler("heavy", pool="long")
    async def heavy() -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1

    @app.handler("light")
    async def light() -> None: ...

    async with app:
        await set_pool(await app.store(), "long", {"concurrency": 3}, ADA)
        jobs = await heavy.enqueue_many([{}] * 30)
        async with app.worker(pools=("short", "long"), concurrency=20):
            await (await light.enqueue()).wait(timeout=20)
            for job in jobs:
                await job.wait(timeout=20)
    assert most == 3


async def test_what_waits_and_what_ran_comes_to_the_ledger(store_url: str) -> None:
    app = fairlead.App(store_url, poll="50ms")

    @app.handler("nap")
    async def nap() -> None:
        await asyncio.sleep(0.02)

    async with app:
        store = await app.store()
        keeper = LedgerKeeper(store, 86400.0)
        await nap.options(tenant="idle", run_in="1h").enqueue()
        async with app.worker(concurrency=2):
            for job in await nap.options(tenant="busy").enqueue_many([{}] * 10):
                await job.wait(timeout=20)
        await nap.options(tenant="waits").enqueue_many([{}] * 7)
        await keeper.run_once()
        await keeper.run_once()
        lines = {line.tenant: line for line in await store.shares.ledger(3600.0)}
        assert lines["busy"].delivered >= 0.2
        assert lines["busy"].entitled == pytest.approx(lines["busy"].delivered)
        assert "idle" not in lines
        assert {count.type for count in await store.shares.run_times(3600.0)} == {"nap"}


async def test_what_a_run_took_is_charged_while_the_worker_goes_on() -> None:
    """A job of a new type is charged ten seconds, and given back what it did not take."""
    app = fairlead.App("sqlite:///:memory:", poll="50ms")

    @app.handler("work")
    async def work() -> None: ...

    async with app, app.worker(concurrency=1):
        shares = (await app.store()).shares
        await (await work.options(tenant="acme").enqueue()).wait(timeout=20)
        charged = 1.0
        async with asyncio.timeout(20):
            while charged > 0.1:  # ten seconds would be 1.0, by a weight of ten
                await asyncio.sleep(0.05)
                balances = (await shares.exchange([], 0.0)).balances
                charged = next((balance.virtual for balance in balances if balance.account == "acme"), charged)


async def test_each_worker_has_an_order_of_its_own() -> None:
    """Two that know the same put the same tenants back by different parts of a job."""
    parts = []
    for _ in range(2):
        app = fairlead.App("sqlite:///:memory:")
        async with app, app.worker() as worker:
            parts.append(worker._claimer.queue._account("short", "acme").spread)
    assert 0 < parts[0] != parts[1] > 0
