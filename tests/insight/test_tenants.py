"""Tenants and pools as operators set them, and the shares they read."""

import pytest

import fairlead
from fairlead.core.fairness.ledger import Delivery, LedgerEntry
from fairlead.core.fairness.tenancy import Tenant, Tenants
from fairlead.core.protection.controls import Controls
from fairlead.insight import tenants
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

ADA = Operator("ada", "a contract")


async def known(store: Store) -> Tenants:
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    return Tenants(controls)


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
