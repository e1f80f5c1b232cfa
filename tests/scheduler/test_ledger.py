"""The keeper of the ledger: what was due, of what was delivered."""

import pytest

from fairlead.core.fairness.ledger import Delivery
from fairlead.core.fairness.tenancy import TENANT
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.protection.controls import Change
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator
from fairlead.scheduler.ledger import LedgerKeeper
from fairlead.wiring import make_store
from tests.contract.making import new_jobs
from tests.support.settings import pause


def lane(tenant: str) -> Lane:
    return Lane("short", tenant, "mail", Priority.DEFAULT, 1)


@pytest.fixture
async def store() -> Store:
    made = make_store("sqlite:///:memory:")
    await made.open()
    return made


async def ratios(store: Store) -> dict[str, float | None]:
    return {line.tenant: line.ratio for line in await store.shares.ledger(3600.0)}


async def test_who_waits_is_due_its_weight_of_what_was_delivered(store: Store) -> None:
    await store.controls.change([Change(TENANT, "big", {"tier": "standard", "weight": 30.0})])
    await store.jobs.enqueue([*new_jobs(100, lane("big")), *new_jobs(100, lane("small"))])
    keeper = LedgerKeeper(store, 86400.0)
    await keeper.run_once()
    await store.shares.record_usage([Delivery("short", "big", 20.0), Delivery("short", "small", 20.0)], [])
    await keeper.run_once()
    lines = {line.tenant: line for line in await store.shares.ledger(3600.0)}
    assert (lines["big"].entitled, lines["small"].entitled) == pytest.approx((30.0, 10.0))
    assert (lines["big"].waiting, lines["small"].delivered) == (100, 20.0)
    await store.close()


async def test_work_that_has_just_arrived_was_not_kept_waiting(store: Store) -> None:
    keeper = LedgerKeeper(store, 86400.0)
    await keeper.run_once()
    await store.shares.record_usage([Delivery("short", "early", 10.0)], [])
    await store.jobs.enqueue(new_jobs(10, lane("late")))
    await keeper.run_once()
    assert await ratios(store) == {"early": pytest.approx(1.0)}
    await store.shares.record_usage([Delivery("short", "early", 10.0)], [])
    await keeper.run_once()
    found = await ratios(store)
    assert found["late"] == 0.0
    await store.close()


async def test_who_is_paused_is_due_nothing_and_still_waits(store: Store) -> None:
    await pause(store, "tenant", "shut", Operator("ada", "they asked for it"))
    await store.jobs.enqueue([*new_jobs(100, lane("open")), *new_jobs(100, lane("shut"))])
    keeper = LedgerKeeper(store, 86400.0)
    await keeper.run_once()
    await store.shares.record_usage([Delivery("short", "open", 20.0)], [])
    await keeper.run_once()
    assert await ratios(store) == {"open": pytest.approx(1.0), "shut": None}
    assert {line.tenant: line.waiting for line in await store.shares.ledger(3600.0)} == {"open": 100, "shut": 100}
    await store.close()


async def test_two_leaders_settle_nothing_twice(store: Store) -> None:
    await store.shares.record_usage([Delivery("short", "a", 10.0)], [])
    for keeper in (LedgerKeeper(store, 86400.0), LedgerKeeper(store, 86400.0)):
        await keeper.run_once()
    (line,) = await store.shares.ledger(3600.0)
    assert line.entitled == pytest.approx(10.0)
    await store.close()
