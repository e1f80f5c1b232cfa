"""Pauses with a worker: nothing of what is paused starts, and all of it does afterwards."""

import pytest

import fairlead
from fairlead.insight.protection import paused
from fairlead.runtime.operator import Operator
from tests.support.settings import pause, resume

ADA = Operator("ada", "a flood")


@pytest.mark.parametrize("scope", ["type", "tenant", "pool"])
async def test_what_is_paused_waits_and_the_rest_runs(store_url: str, scope: str) -> None:
    app = fairlead.App(store_url, poll="50ms")

    @app.handler("held", pool="medium")
    async def held() -> str:
        return "held"

    @app.handler("free")
    async def free() -> str:
        return "free"

    name = {"type": "held", "tenant": "acme", "pool": "medium"}[scope]
    async with app:
        store = await app.store()
        await pause(store, scope, name, ADA)
        stopped = await held.options(tenant="acme").enqueue()
        async with app.worker(pools=("short", "medium")):
            for _ in range(3):
                assert await (await free.enqueue()).wait(timeout=20) == "free"
            assert await stopped.state() == fairlead.State.READY
            (found,) = await paused(store)
            assert (found.scope, found.name, found.reason) == (scope, name, "a flood")
            await resume(store, scope, name, ADA)
            assert await stopped.wait(timeout=20) == "held"
        assert await paused(store) == []
        assert [entry.action for entry in await store.audit.read(10)] == ["resume", "pause"]


async def test_a_pause_acts_on_a_worker_that_has_just_run_such_jobs(store_url: str) -> None:
    app = fairlead.App(store_url)

    @app.handler("work")
    async def work() -> None: ...

    @app.handler("free")
    async def free() -> None: ...

    async with app, app.worker():
        store = await app.store()
        await (await work.enqueue()).wait(timeout=20)
        await pause(store, "type", "work", ADA)
        stopped = await work.enqueue()
        await (await free.enqueue()).wait(timeout=20)
        assert await stopped.state() == fairlead.State.READY
        await resume(store, "type", "work", ADA)
        await stopped.wait(timeout=20)
