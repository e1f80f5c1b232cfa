"""The order in which a worker claims and starts."""

import asyncio
from collections.abc import Collection, Iterable

import pytest

import fairlead
from fairlead.core.fairness.queue import FairQueue, Grant
from fairlead.core.jobs.model import ActiveLane
from tests.worker.support import until


async def test_a_job_starts_before_its_worker_looks_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it waits for whatever that look begins with, which is of use to nobody where nothing else waits."""
    app = fairlead.App("sqlite:///:memory:", poll="60s")
    happened: list[str] = []

    @app.handler("work")
    async def work() -> None:
        happened.append("started")

    async with app, app.worker(concurrency=4):
        store = await app.store()
        active_lanes = store.reader.active_lanes

        async def noted(besides: Collection[int] = ()) -> list[ActiveLane]:
            happened.append("looked")
            return await active_lanes(besides)

        def charged(self: FairQueue, grants: Iterable[Grant]) -> None:
            happened.append("charged")
            charge(self, grants)

        charge = FairQueue.charge
        monkeypatch.setattr(FairQueue, "charge", charged)
        monkeypatch.setattr(store.reader, "active_lanes", noted)
        for _ in range(20):  # a look may be under way just then, and find it
            happened.clear()
            await (await work.enqueue()).wait(10)
            await until(lambda: "looked" in happened[happened.index("started") :], "the look after it")
            if "charged" in happened:
                break
        assert happened[happened.index("started") :][:3] == ["started", "charged", "looked"]


async def test_a_job_that_fills_its_worker_is_charged_when_it_starts() -> None:
    """And not when it ends, which may be hours later."""
    app = fairlead.App("sqlite:///:memory:", poll="60s")
    go_on = asyncio.Event()

    @app.handler("work")
    async def work(wait: bool) -> None:
        if wait:
            await go_on.wait()

    async with app, app.worker(concurrency=1) as worker:
        await (await work.enqueue(wait=False)).wait(10)
        await until(lambda: not worker.slots.taken, "the end of the first")
        job = await work.enqueue(wait=True)
        await until(lambda: bool(worker.slots.running), "the start of the second")
        await until(lambda: not worker._claimer.has_unaccounted, "its charge")
        go_on.set()
        await job.wait(10)
