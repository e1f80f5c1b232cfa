"""Backpressure through the public surface: single, many and within a transaction, on every store."""

import asyncio
import sqlite3
import time
from contextlib import closing
from typing import Any

import psycopg
import pytest

import fairlead
from fairlead.client import admission
from fairlead.core.protection.backpressure import overload
from fairlead.operate.audit import Operator
from fairlead.operate.backpressure import bounds, set_depth, set_overload, set_rate
from fairlead.records.store import Store
from fairlead.scheduler.sample import Sampler

ADA = Operator("ada", "a flood")
PATIENCE = 60.0
SLOW = "1/h"


def declare(url: str) -> tuple[fairlead.App, fairlead.Handler[..., Any]]:
    """An app with one handler."""
    app = fairlead.App(url)

    @app.handler("mail")
    async def mail() -> None: ...

    return app, mail


async def stored(store: Store) -> int:
    """How many jobs there are."""
    return sum((await store.reader.count_jobs()).values())


async def test_without_bounds_everything_is_accepted(store_url: str) -> None:
    app, mail = declare(store_url)
    async with app:
        for job in await mail.enqueue_many([{}] * 1500):
            assert (job.shed, job.deferred) == (False, None)
        assert await (await app.store()).backpressure.admissions() == {}


async def test_what_goes_beyond_a_tenants_depth_is_refused_whole(store_url: str) -> None:
    app, mail = declare(store_url)
    acme, globex = mail.options(tenant="acme"), mail.options(tenant="globex")
    async with app:
        store = await app.store()
        await set_depth(store, "tenant", "acme", 5, ADA)
        await acme.enqueue_many([{}] * 4)
        with pytest.raises(fairlead.TenantQueueFull) as refused:
            await acme.enqueue_many([{}] * 2)
        assert refused.value.retry_after > 0
        await acme.enqueue()
        with pytest.raises(fairlead.TenantQueueFull):
            await acme.enqueue()
        await globex.enqueue_many([{}] * 10)
        assert await stored(store) == 15
        await counted(store, {("acme", "TENANT_QUEUE_FULL"): 3})


async def test_a_sampled_backlog_is_known_to_other_programs(shared_url: str) -> None:
    app, mail = declare(shared_url)
    async with app:
        store = await app.store()
        await mail.options(tenant="acme").enqueue_many([{}] * 5)
        await set_depth(store, "tenant", "*", 5, ADA)
        assert await Sampler(store).run_once() >= 1.0
        other, more = declare(shared_url)
        async with other:
            with pytest.raises(fairlead.TenantQueueFull, match="about 5 waiting jobs and may have 5"):
                await more.options(tenant="acme").enqueue()
            await more.options(tenant="globex").enqueue_many([{}] * 5)


async def test_a_backlog_that_was_worked_off_makes_room(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "FRESH", 0.0)
    app, mail = declare(store_url)
    async with app:
        store = await app.store()
        await set_depth(store, "tenant", "default", 3, ADA)
        jobs = await mail.enqueue_many([{}] * 3)
        with pytest.raises(fairlead.TenantQueueFull):
            await mail.enqueue()
        async with app.worker():
            for job in jobs:
                await job.wait(timeout=PATIENCE)
            await eventually_accepted(mail)


async def test_a_removed_bound_acts_on_a_running_program(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "FRESH", 0.0)
    app, mail = declare(store_url)
    async with app:
        store = await app.store()
        await set_depth(store, "tenant", "default", 0, ADA)
        with pytest.raises(fairlead.TenantQueueFull):
            await mail.enqueue()
        await set_depth(store, "tenant", "default", None, ADA)
        await eventually_accepted(mail)


async def test_a_rate_is_shared_by_all_programs(shared_url: str) -> None:
    app, mail = declare(shared_url)
    other, more = declare(shared_url)
    async with app, other:
        await set_rate(await app.store(), "tier", "standard", SLOW, ADA, burst=5)
        await mail.enqueue_many([{}] * 3)
        with pytest.raises(fairlead.TenantRateExceeded, match="submit again in") as refused:
            await more.enqueue_many([{}] * 3)
        assert 0 < refused.value.retry_after <= 3600
        await more.enqueue_many([{}] * 2)
        with pytest.raises(fairlead.TenantRateExceeded):
            await mail.enqueue()
        with pytest.raises(fairlead.TenantRateExceeded, match="smaller batches"):
            await mail.enqueue_many([{}] * 6)
        await mail.options(tenant="globex").enqueue()
        assert await stored(await app.store()) == 6


@pytest.mark.parametrize("action", ["reject", "defer", "shed"])
async def test_an_overload_spares_the_higher_priorities(store_url: str, action: str) -> None:
    app, mail = declare(store_url)
    low = mail.options(priority="low")
    async with app:
        store = await app.store()
        await set_overload(store, overload(0, action, "default", "5m"), ADA)
        spared = await mail.enqueue()
        assert (spared.shed, spared.deferred) == (False, None)
        if action == "reject":
            with pytest.raises(fairlead.Overloaded) as refused:
                await low.enqueue()
            assert (refused.value.code, refused.value.retry_after) == ("OVERLOADED", 5.0)
        else:
            job = await low.enqueue()
            assert (job.shed, job.deferred) == ((True, None) if action == "shed" else (False, 300.0))
            if job.shed:
                with pytest.raises(fairlead.JobNotFound, match="shed"):
                    await job.read()
                with pytest.raises(fairlead.JobFailed, match="shed"):
                    await job.wait()
            else:
                record = await job.read()
                assert record.state == fairlead.State.SCHEDULED
                assert (record.run_at - record.created_at).total_seconds() == pytest.approx(300, abs=1)
        assert await stored(store) == (2 if action == "defer" else 1)
        code = {"reject": "OVERLOADED", "defer": "DEFERRED", "shed": "SHED"}[action]
        await counted(store, {("default", code): 1})
        assert (await bounds(store)).overload == overload(0, action, "default", "5m")


@pytest.mark.parametrize("rule", ["depth", "rate", "overload", "shed"])
async def test_a_callers_transaction_is_bounded_alike(shared_url: str, rule: str) -> None:
    async with fairlead.App(shared_url) as operator:
        store = await operator.store()
        await set_rule(store, rule)
    _, mail = declare(shared_url)
    await asyncio.to_thread(submit_within, shared_url, mail.options(priority="low"), rule)
    async with fairlead.App(shared_url) as reader:
        assert await stored(await reader.store()) == (0 if rule in ("overload", "shed") else 2)


async def set_rule(store: Store, rule: str) -> None:
    """Allow two jobs, or none of a low priority."""
    if rule == "depth":
        await set_depth(store, "tenant", "default", 2, ADA)
    elif rule == "rate":
        await set_rate(store, "tenant", "default", SLOW, ADA, burst=2)
    else:
        await set_overload(store, overload(0, "reject" if rule == "overload" else rule, "default", 60), ADA)


def submit_within(url: str, mail: fairlead.Handler[..., Any], rule: str) -> None:
    """Submit three jobs in one transaction, of which not all are wanted."""
    errors: dict[str, Any] = {
        "depth": fairlead.TenantQueueFull, "rate": fairlead.TenantRateExceeded, "overload": fairlead.Overloaded,
    }  # fmt: skip
    postgres = url.startswith("postgres")
    with closing(psycopg.connect(url) if postgres else sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        within = mail.options(connection=connection)
        if rule == "shed":
            assert [job.shed for job in within.delay_many([{}] * 3)] == [True] * 3
        else:
            if rule != "overload":
                within.delay_many([{}] * 2)
            with pytest.raises(errors[rule]):
                within.delay()
        connection.commit()


async def eventually_accepted(mail: fairlead.Handler[..., Any]) -> None:
    """Submit until it is accepted; figures are read in the background."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            await mail.enqueue()
            return
        except fairlead.Refused:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)


async def counted(store: Store, expected: dict[tuple[str, str], int]) -> None:
    """Wait until the store has been told; that happens in the background."""
    deadline = time.monotonic() + PATIENCE
    while (found := await store.backpressure.admissions()) != expected:
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.02)
