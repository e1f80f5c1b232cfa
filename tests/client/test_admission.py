"""Backpressure through the public surface: single, many and within a transaction, on every store."""

import asyncio
import sqlite3
import time
from contextlib import closing, suppress
from typing import Any

import psycopg
import pytest

import fairlead
from fairlead.client import admission
from fairlead.core.protection.backpressure import overload
from fairlead.core.web.egress import EgressRules
from fairlead.insight.protection import bounds
from fairlead.operate import callbacks
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator
from tests.support.settings import set_depth, set_overload, set_rate

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


async def test_a_depth_holds_for_programs_that_know_nothing_of_each_other(shared_url: str) -> None:
    """Without a service that samples: each program submits one job and ends."""
    app, mail = declare(shared_url)
    async with app:
        store = await app.store()
        await set_depth(store, "tenant", "*", 10, ADA)
        accepted = 0
        for _ in range(16):
            other, more = declare(shared_url)
            async with other:
                with suppress(fairlead.TenantQueueFull):
                    await more.options(tenant="acme").enqueue()
                    accepted += 1
        assert (accepted, await stored(store)) == (10, 10)
        await mail.options(tenant="globex").enqueue_many([{}] * 5)


async def test_a_depth_holds_for_programs_that_submit_at_once(shared_url: str) -> None:
    async with fairlead.App(shared_url) as operator:
        store = await operator.store()
        await set_depth(store, "tenant", "*", 10, ADA)
        programs = [declare(shared_url) for _ in range(4)]

        async def submit(mail: fairlead.Handler[..., Any]) -> int:
            answers = await asyncio.gather(*(mail.enqueue() for _ in range(8)), return_exceptions=True)
            assert all(isinstance(answer, fairlead.Job | fairlead.TenantQueueFull) for answer in answers)
            return sum(isinstance(answer, fairlead.Job) for answer in answers)

        assert sum(await asyncio.gather(*(submit(mail) for _, mail in programs))) == 10
        assert await stored(store) == 10
        for app, _ in programs:
            await app.close()


async def test_a_large_submission_beyond_a_depth_is_refused_whole(store_url: str) -> None:
    app, mail = declare(store_url)
    async with app:
        store = await app.store()
        await set_depth(store, "tenant", "default", 2_500, ADA)
        await mail.enqueue_many([{}] * 1_000)
        with pytest.raises(fairlead.TenantQueueFull):
            await mail.enqueue_many([{}] * 2_000)
        assert await stored(store) == 1_000


async def test_far_from_a_bound_the_store_counts_seldom(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app, mail = declare(store_url)
    async with app:
        store = await app.store()
        enqueue, counted_for = store.jobs.enqueue, list[int]()

        async def noted(jobs: Any, again: bool, wake: Any, bounds: Any) -> Any:
            counted_for.append(len(bounds))
            return await enqueue(jobs, again, wake, bounds)

        monkeypatch.setattr(store.jobs, "enqueue", noted)
        for _ in range(50):
            await mail.enqueue()
        assert sum(counted_for) == 0
        await mail.enqueue_many([{}] * 5_000)
        await mail.enqueue_many([{}] * 5_000)
        assert (len(counted_for), sum(counted_for)) == (60, 1)


async def test_a_job_that_is_there_already_needs_no_room(store_url: str) -> None:
    app, mail = declare(store_url)
    async with app:
        await set_depth(await app.store(), "tenant", "default", 1, ADA)
        first = await mail.options(idempotency_key="k").enqueue()
        again = await mail.options(idempotency_key="k").enqueue()
        assert (again.id, again.duplicate) == (first.id, True)


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


async def test_jobs_that_an_operator_makes_are_counted(store_url: str) -> None:
    app, _ = declare(store_url)
    async with app:
        store = await app.store()
        await app.schedules.add("nightly", "@daily", "mail", {})
        await callbacks.add_endpoint(store, ADA, EgressRules(), "hook", "https://example.org/hook")
        await set_depth(store, "tenant", "*", 2, ADA)
        await app.schedules.run_now("nightly")
        await callbacks.send_ping(store, ADA, None, "hook", "default")
        with pytest.raises(fairlead.TenantQueueFull):
            await app.schedules.run_now("nightly")
        with pytest.raises(fairlead.TenantQueueFull):
            await callbacks.send_ping(store, ADA, None, "hook", "default")
        assert await stored(store) == 2


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
