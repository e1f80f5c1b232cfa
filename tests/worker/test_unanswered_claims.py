"""Claims whose answer is lost: the store counts them as this worker's, and the worker knows nothing of them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import fairlead
from fairlead.core.jobs.model import Claim, Lease
from fairlead.errors import StoreUnavailable
from fairlead.records.limits import LimitedClaims
from fairlead.records.store import Store
from fairlead.runtime.boot_clock import boot_time
from fairlead.telemetry.events import Telemetry
from fairlead.worker import unanswered_claims


def lose_first_answer(monkeypatch: pytest.MonkeyPatch, store: Store, record: str) -> list[Claim]:
    """Break off the first call of a verb that claims something, after it was stored; returns what it claimed."""
    honest = getattr(store, record).claim
    lost: list[Claim] = []

    async def broken(*arguments: Any) -> Sequence[Claim] | LimitedClaims:
        answer: Sequence[Claim] | LimitedClaims = await honest(*arguments)
        claims = answer.claims if isinstance(answer, LimitedClaims) else answer
        if claims and not lost:
            lost.extend(claims)
            raise StoreUnavailable("the connection broke before the answer came")
        return answer

    monkeypatch.setattr(getattr(store, record), "claim", broken)
    return lost


async def test_jobs_of_a_claim_whose_answer_was_lost_run_all_the_same(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = fairlead.App(store_url)

    @app.handler("work")
    async def work(ctx: fairlead.Context) -> tuple[int, int]:
        return ctx.attempt, ctx.fence

    async with app:
        lost = lose_first_answer(monkeypatch, await app.store(), "jobs")
        jobs = [await work.enqueue() for _ in range(3)]
        async with app.worker():
            results = {job.id: await job.wait(timeout=60) for job in jobs}
    assert lost
    assert all(results[claim.id] == [1, 2] for claim in lost), "they went back, and no attempt was burnt"


async def test_jobs_of_other_claims_go_on_when_an_answer_was_lost(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each claim has a token of its own, so that no other job of the worker is given back."""
    app = fairlead.App(store_url, poll="50ms")
    begun, go_on = asyncio.Event(), asyncio.Event()

    @app.handler("hold")
    async def hold(ctx: fairlead.Context) -> int:
        begun.set()
        await go_on.wait()
        return ctx.fence

    @app.handler("work")
    async def work(ctx: fairlead.Context) -> int:
        return ctx.fence

    async with app, app.worker():
        held = await hold.enqueue()
        await begun.wait()
        lost = lose_first_answer(monkeypatch, await app.store(), "jobs")
        job = await work.enqueue()
        assert await job.wait(timeout=60) == 2
        assert lost
        assert await held.state() is fairlead.State.RUNNING
        go_on.set()
        assert await held.wait(timeout=60) == 1


async def test_jobs_of_a_limited_claim_whose_answer_was_lost_leave_their_limit(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = fairlead.App(store_url)

    @app.handler("work", limit=fairlead.Limit("one", concurrent=1))
    async def work() -> None: ...

    @app.handler("free")
    async def free() -> None: ...

    async with app:
        lost = lose_first_answer(monkeypatch, await app.store(), "limits")
        jobs = [await work.enqueue() for _ in range(3)] + [await free.enqueue()]
        async with app.worker():
            for job in jobs:
                await job.wait(timeout=60)
    assert lost


async def test_a_lease_is_forgotten_after_a_while(store_url: str) -> None:
    async with fairlead.App(store_url) as app:
        watch = unanswered_claims.UnansweredClaims(await app.store(), Telemetry())
        for number in range(unanswered_claims.MOST + 1):
            with pytest.raises(StoreUnavailable), watch.doubting(Lease("somebody", str(number))):
                raise StoreUnavailable("away")
        assert len(watch._doubtful) == unanswered_claims.MOST
        watch._forget(boot_time())
        assert len(watch._doubtful) == unanswered_claims.MOST
        watch._forget(boot_time() + unanswered_claims.DOUBT + 1)
        assert not watch._doubtful
