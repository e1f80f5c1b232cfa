"""Tenants and pools as operators set them, and the shares they read."""

import pytest

import fairlead
from fairlead.core.fairness.ledger import Delivery, LedgerEntry
from fairlead.core.fairness.tenancy import Tenant, Tenants
from fairlead.core.protection.controls import Controls
from fairlead.errors import ConfigError
from fairlead.operate import pools, tenants
from fairlead.operate.audit import Operator
from fairlead.records.store import Store

ADA = Operator("ada", "a contract")


async def known(store: Store) -> Tenants:
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    return Tenants(controls)


async def test_a_tenant_is_set_up_changed_and_forgotten(store_url: str) -> None:
    async with fairlead.App(store_url) as app:
        store = await app.store()
        assert await tenants.add_tenant(store, "acme", ADA, tier="pro") == Tenant("acme", "pro")
        with pytest.raises(ConfigError, match="set up already"):
            await tenants.add_tenant(store, "acme", ADA)
        changed = await tenants.set_tenant(store, "acme", ADA, weight=250.0)
        assert (changed.tier, changed.weighting.weight, changed.weighting.minimum) == ("pro", 250.0, 0.01)
        assert (await known(store)).get("acme") == changed
        plain = await tenants.set_tenant(store, "acme", ADA, tier="enterprise", own=False)
        assert plain == Tenant("acme", "enterprise")
        (state,) = await tenants.list_tenants(store)
        assert (state.tenant.name, state.is_set_up, state.waiting) == ("acme", True, 0)
        await tenants.remove_tenant(store, "acme", ADA)
        assert await tenants.list_tenants(store) == []
        assert [entry.action for entry in await store.audit.read(10)] == [
            "tenants.remove", "tenants.set", "tenants.set", "tenants.add",
        ]  # fmt: skip


async def test_who_was_never_set_up_has_the_default_tier(store_url: str) -> None:
    async with fairlead.App(store_url) as app:
        store = await app.store()
        assert (await known(store)).get("new").tier == "standard"
        await tenants.set_default_tier(store, "free", ADA)
        assert await tenants.default_tier(store) == "free"
        assert (await known(store)).get("new") == Tenant("new", "free")
        await tenants.set_tenant(store, "new", ADA, weight=3.0)
        await tenants.set_default_tier(store, "pro", ADA)
        assert (await known(store)).get("new") == Tenant("new", "free", 3.0)


async def test_nonsense_is_refused(store_url: str) -> None:
    async with fairlead.App(store_url) as app:
        store = await app.store()
        for wrong in ({"tier": "gold"}, {"weight": 0.0}, {"weight": -1.0}, {"minimum": 0.99}, {"weight": 1e9}):
            with pytest.raises(ConfigError):
                await tenants.set_tenant(store, "acme", ADA, **wrong)
        with pytest.raises(ConfigError, match="name of a tenant"):
            await tenants.add_tenant(store, "no spaces", ADA)
        with pytest.raises(ConfigError, match="is not a tier"):
            await tenants.set_default_tier(store, "gold", ADA)
        with pytest.raises(ConfigError, match="window"):
            await tenants.read_shares(store, 0.0)
        assert await store.audit.read(10) == []


async def test_tenants_with_work_waiting_are_listed_with_their_depth(store_url: str) -> None:
    app = fairlead.App(store_url)

    @app.handler("work")
    async def work() -> None: ...

    async with app:
        await work.options(tenant="busy").enqueue_many([{}] * 3)
        store = await app.store()
        (state,) = await tenants.list_tenants(store)
        assert (state.tenant, state.is_set_up, state.waiting) == (Tenant("busy"), False, 3)
        shown, lines = await tenants.show_tenant(store, "busy", 900.0)
        assert (shown.waiting, lines) == (3, [])


async def test_shares_of_a_window_with_jains_index(store_url: str) -> None:
    async with fairlead.App(store_url) as app:
        store = await app.store()
        await store.shares.record_usage([Delivery("short", "a", 30.0), Delivery("short", "b", 10.0)], [])
        found, minute = await store.shares.unsettled_ledger(600)
        await store.shares.settle_ledger(
            [LedgerEntry(minute, item.pool, item.tenant, item.settled, item.delivered, 20.0, 5) for item in found]
        )
        shares = await tenants.read_shares(store, 3600.0)
        assert [(line.tenant, line.entitled, line.delivered, line.ratio) for line in shares.lines] == [
            ("a", 20.0, 30.0, 1.5), ("b", 20.0, 10.0, 0.5),
        ]  # fmt: skip
        assert shares.jain == pytest.approx(0.8)
        assert (await tenants.read_shares(store, 3600.0, pool="long")).lines == []
        assert len((await tenants.read_shares(store, 3600.0, tenants=["b"])).lines) == 1


async def test_a_pool_is_changed_made_and_reset(store_url: str) -> None:
    async with fairlead.App(store_url) as app:
        store = await app.store()
        assert [pool.name for pool in await pools.list_pools(store)] == ["short", "medium", "long"]
        changed = await pools.set_pool(store, "long", {"concurrency": 5}, ADA)
        assert (changed.concurrency, changed.estimate, changed.shared_only) == (5, 600.0, False)
        await pools.set_pool(store, "gpu", {"concurrency": 1, "estimate": 30.0}, ADA)
        await pools.set_pool(store, "gpu", {"wait": 2.0}, ADA)
        gpu = (await pools.list_pools(store))[-1]
        assert (gpu.name, gpu.concurrency, gpu.estimate, gpu.wait) == ("gpu", 1, 30.0, 2.0)
        await pools.reset_pool(store, "long", ADA)
        assert (await pools.list_pools(store))[2].concurrency == 2
        for wrong in ({"concurrency": 0}, {"estimate": 0.0}, {"longest": -1.0}):
            with pytest.raises(ConfigError):
                await pools.set_pool(store, "gpu", wrong, ADA)
        assert {entry.action for entry in await store.audit.read(10)} == {"pools.set", "pools.reset"}
