"""Jobs that were claimed and did not start or end here: they are given back for others."""

import asyncio

import pytest

import fairlead
from fairlead.core.jobs.states import State
from fairlead.worker import slots
from tests.worker.support import until


async def test_what_does_not_start_soon_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "PATIENCE", 0.3)
    app = fairlead.App("sqlite:///:memory:", poll="50ms", drain="1s")
    go, ran = asyncio.Event(), list[int]()

    @app.handler("long")
    async def long(number: int) -> None:
        await go.wait()
        ran.append(number)

    async with app, app.worker(concurrency=4) as worker:
        ahead = [8]
        monkeypatch.setattr(worker.slots.pace, "allowance", lambda slots: ahead[0])
        jobs = await long.enqueue_many([{"number": number} for number in range(20)])
        await until(lambda: worker.slots.taken == 12)
        ahead[0] = 0
        await until(lambda: worker.slots.taken == 4)
        await worker._settler.flushed()
        assert (await (await app.store()).reader.count_jobs()) == {("short", "running"): 4, ("short", "ready"): 16}
        go.set()
        for job in jobs:
            await job.wait(10)
            assert (await job.read()).attempt == 1
        assert sorted(ran) == list(range(20))


async def test_what_starts_soon_enough_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "PATIENCE", 0.1)
    app = fairlead.App("sqlite:///:memory:", poll="50ms", drain="1s")
    released: list[object] = []

    @app.handler("brief")
    async def brief() -> None:
        await asyncio.sleep(0.02)

    async with app, app.worker(concurrency=4) as worker:
        release = worker.slots._release

        def noted(count: int) -> None:
            released.extend([None] * max(0, count))
            release(count)

        monkeypatch.setattr(worker.slots, "_release", noted)
        monkeypatch.setattr(worker.slots.pace, "allowance", lambda slots: 8)
        jobs = await brief.enqueue_many([{}] * 60)
        for job in jobs:
            await job.wait(10)
            assert (await job.read()).state is State.SUCCEEDED
        assert len(released) < 20


async def test_others_hear_at_once_of_what_a_worker_gives_back_when_it_stops() -> None:
    """Without a hint they would find it with their next look, which is a minute away."""
    app = fairlead.App("sqlite:///:memory:", poll="60s", drain="5s")
    ran: list[str] = []
    held = asyncio.Event()

    @app.handler("work")
    async def work() -> None:
        if not held.is_set():
            held.set()
            await asyncio.sleep(60)
        ran.append("again")

    async with app, app.worker(concurrency=1) as first:
        job = await work.enqueue()
        await held.wait()
        async with app.worker(concurrency=1) as second:
            store = await app.store()
            await until(lambda: second.registered.is_set(), "its registration")
            assert len(await store.workers.all()) == 2
            first.stop(0.0)
            await job.wait(30)
    assert ran == ["again"]
