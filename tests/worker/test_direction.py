"""Workers that an operator tells to end."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fairlead import App, State
from fairlead.core.jobs.workers import reserved
from fairlead.errors import WorkerNotFound
from fairlead.operate.workers import Direction, direct
from fairlead.runtime.operator import Operator

WHO = Operator("tests")


class Scene:
    """An app whose one handler waits until it may end."""

    def __init__(self) -> None:
        self.app = App("sqlite:///:memory:")
        self.started = asyncio.Event()
        self.may_end = asyncio.Event()

        @self.app.handler("slow")
        async def slow() -> None:
            self.started.set()
            await self.may_end.wait()

        self.slow = slow


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    """The scene; its worker hears of a direction by a hint, long before its next report."""
    made = Scene()
    async with made.app:
        yield made


async def until_gone(scene: Scene) -> None:
    store = await scene.app.store()
    while await store.workers.all():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_a_worker_that_drains_finishes_what_runs(scene: Scene) -> None:
    async with scene.app.worker() as worker:
        running = await scene.slow.enqueue()
        await scene.started.wait()
        await direct(await scene.app.store(), worker.info.id, Direction.DRAIN, WHO)
        while not worker.is_dismissed:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        waiting = await scene.slow.enqueue()
        scene.may_end.set()
        await until_gone(scene)
        assert await running.state() is State.SUCCEEDED
        assert await waiting.state() is State.READY


async def test_a_worker_that_stops_gives_back_what_runs(scene: Scene) -> None:
    async with scene.app.worker() as worker:
        running = await scene.slow.enqueue()
        await scene.started.wait()
        await direct(await scene.app.store(), worker.info.id, Direction.STOP, WHO)
        await until_gone(scene)
        record = await running.read()
        assert (record.state, record.attempt) == (State.READY, 0)


async def test_only_a_live_worker_can_be_told(scene: Scene) -> None:
    for worker_id in ("nobody", "01920000-0000-7000-8000-000000000000"):
        with pytest.raises(WorkerNotFound, match="fairlead workers"):
            await direct(await scene.app.store(), worker_id, Direction.DRAIN, WHO)


async def test_a_worker_tells_whose_its_slots_are(scene: Scene) -> None:
    async with scene.app.worker(reserve=("globex",)):
        store = await scene.app.store()
        while not (found := [reserved(worker) for worker in await store.workers.all()])[0]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert found == [("globex",)]
        waiting = await scene.slow.options(tenant="acme").enqueue()
        assert "reserved for other tenants" in (await scene.app.explain(waiting.id)).summary
