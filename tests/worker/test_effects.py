"""`ctx.once`: a side effect that a job has once, over attempts, replays and ways of running it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

import fairlead
from fairlead.core.jobs.model import Quota
from fairlead.handlers import effects
from tests.contract.making import done, new_lease

TWICE = fairlead.Retry(attempts=2, first="10ms", factor=1.0)
ONCE = fairlead.Retry(attempts=1)


@pytest.fixture
async def app(store_url: str) -> AsyncIterator[fairlead.App]:
    """An app on each store."""
    made = fairlead.App(store_url, poll="50ms", drain="1s")
    async with made:
        yield made


async def test_an_effect_happens_once_over_attempts(app: fairlead.App) -> None:
    charged: list[str] = []

    @app.handler("pay", retry=TWICE)
    async def pay(ctx: fairlead.Context) -> Any:
        async def charge() -> dict[str, int]:
            charged.append(ctx.idempotency_key)
            return {"charge": len(charged)}

        receipt = await ctx.once("charge", charge)
        note = await ctx.once("note", lambda: (1, None))
        if ctx.first_attempt:
            raise ConnectionError("the mail server is away")
        return [receipt, note]

    async with app.worker():
        job = await pay.enqueue()
        assert await job.wait(20) == [{"charge": 1}, [1, None]]
        assert charged == [job.id]


async def test_an_effect_without_a_result_happens_once_too(app: fairlead.App) -> None:
    sent: list[int] = []

    @app.handler("mail", retry=TWICE)
    async def mail(ctx: fairlead.Context) -> None:
        assert await ctx.once("send", lambda: sent.append(1)) is None
        if ctx.first_attempt:
            raise ValueError("no")

    async with app.worker():
        await (await mail.enqueue()).wait(20)
    assert sent == [1]


async def test_an_effect_happens_once_in_a_thread(app: fairlead.App) -> None:
    threads: list[str] = []

    @app.handler("pay", retry=TWICE)
    def pay(ctx: fairlead.Context) -> Any:
        def charge() -> str:
            threads.append(threading.current_thread().name)
            return "receipt"

        receipt = ctx.blocking.once("charge", charge)
        assert ctx.blocking.once("charge", charge) == receipt
        if ctx.first_attempt:
            raise ValueError("no")
        return receipt

    async with app.worker():
        assert await (await pay.enqueue()).wait(20) == "receipt"
    assert len(threads) == 1
    assert threads[0].startswith("fairlead-handler")


async def test_an_effect_that_failed_happens_again(app: fairlead.App) -> None:
    tries: list[int] = []

    @app.handler("pay", retry=TWICE)
    async def pay(ctx: fairlead.Context) -> int:
        def charge() -> int:
            tries.append(ctx.attempt)
            if ctx.first_attempt:
                raise ValueError("declined")
            return 7

        return int(await ctx.once("charge", charge))

    async with app.worker():
        assert await (await pay.enqueue()).wait(20) == 7
    assert tries == [1, 2]


async def test_concurrent_calls_of_one_name_have_one_effect(app: fairlead.App) -> None:
    calls: list[int] = []

    @app.handler("pay")
    async def pay(ctx: fairlead.Context) -> Any:
        async def charge() -> int:
            calls.append(1)
            await asyncio.sleep(0)
            return len(calls)

        return await asyncio.gather(*(ctx.once("charge", charge) for _ in range(5)))

    async with app.worker():
        assert await (await pay.enqueue()).wait(20) == [1] * 5


async def test_a_replay_does_not_repeat_the_effect(app: fairlead.App) -> None:
    charged: list[int] = []
    healed = False

    @app.handler("pay", retry=ONCE)
    async def pay(ctx: fairlead.Context) -> Any:
        def charge() -> str:
            charged.append(1)
            return "receipt"

        receipt = await ctx.once("charge", charge)
        if not healed:
            raise ValueError("no")
        return receipt

    async with app.worker():
        job = await pay.enqueue()
        with pytest.raises(fairlead.JobFailed):
            await job.wait(20)
        healed = True
        await app.replay(job.id, reason="mended")
        assert await job.wait(20) == "receipt"
    assert charged == [1]


async def test_a_run_that_lost_its_job_is_told(app: fairlead.App) -> None:
    seen: list[str] = []

    @app.handler("pay", retry=ONCE)
    async def pay(ctx: fairlead.Context) -> None:
        async def charge() -> int:
            await (await app.store()).jobs.settle([done(ctx.claim, '"by another"')])
            return 1

        try:
            await ctx.once("charge", charge)
        except fairlead.LeaseLost as error:
            seen.append(str(error))
            raise

    async with app.worker():
        job = await pay.enqueue()
        assert await job.wait(20) == "by another"
        assert await (await app.store()).run_state.recall_effect(job.id, "charge") is None
    assert "not this run's any more" in seen[0]


@pytest.mark.parametrize(
    ("name", "result", "code"),
    [("a name with spaces", 1, "ConfigError"), ("x" * 201, 1, "ConfigError"), ("", 1, "ConfigError"),
     ("large", "x" * 70_000, "PayloadTooLarge"), ("odd", object(), "UnusableResult")],
)  # fmt: skip
async def test_names_and_results_have_bounds(app: fairlead.App, name: str, result: Any, code: str) -> None:
    @app.handler("pay", retry=ONCE)
    async def pay(ctx: fairlead.Context) -> None:
        await ctx.once(name, lambda: result)

    async with app.worker():
        job = await pay.enqueue()
        with pytest.raises(fairlead.JobFailed, match=code):
            await job.wait(20)


async def test_a_job_has_a_bounded_number_of_effects(app: fairlead.App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "MOST", 3)

    @app.handler("pay", retry=ONCE)
    async def pay(ctx: fairlead.Context) -> None:
        for number in range(4):
            await ctx.once(f"n{number}", lambda: 1)

    async with app.worker():
        with pytest.raises(fairlead.JobFailed, match="at most 3 side effects"):
            await (await pay.enqueue()).wait(20)


async def test_each_way_is_for_its_kind_of_handler(app: fairlead.App) -> None:
    @app.handler("async", retry=ONCE)
    async def wrong_in_coroutine(ctx: fairlead.Context) -> None:
        ctx.blocking.once("charge", lambda: 1)

    @app.handler("thread", retry=ONCE)
    def wrong_in_thread(ctx: fairlead.Context) -> None:
        ctx.blocking.once("charge", lambda: asyncio.sleep(0))

    async with app.worker():
        with pytest.raises(fairlead.JobFailed, match=r"in a coroutine await ctx\.once"):
            await (await wrong_in_coroutine.enqueue()).wait(20)
        with pytest.raises(fairlead.JobFailed, match="must be a plain function"):
            await (await wrong_in_thread.enqueue()).wait(20)


async def test_a_context_without_a_worker_says_so(app: fairlead.App) -> None:
    @app.handler("pay")
    async def pay(ctx: fairlead.Context) -> None: ...

    job = await pay.enqueue()
    (claim,) = await (await app.store()).jobs.claim([Quota(job._lane.id, 1)], new_lease())
    context = fairlead.Context(claim)
    assert not context.cancelled
    with pytest.raises(fairlead.ConfigError, match="belongs to no run"):
        await context.once("charge", lambda: 1)
