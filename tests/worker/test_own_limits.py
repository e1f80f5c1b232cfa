"""Limits that a single job names, beside those of its type."""

import asyncio
from typing import Any

import pytest

import fairlead
from fairlead.handlers.options import Options
from fairlead.operate.change_jobs import change_job
from fairlead.runtime.operator import Operator
from tests.support.settings import set_limit


class Crowd:
    """How many runs there were at once, at most."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0

    async def visit(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.02)
        self.now -= 1


@pytest.mark.parametrize("limit", ["import", ["other", "import"], None])
async def test_jobs_of_a_type_without_limits_hold_those_that_they_name(store_url: str, limit: Any) -> None:
    async with fairlead.App(store_url) as app:
        crowd = Crowd()
        app.handler("visit")(crowd.visit)
        app.handler("owner", limit=fairlead.Limit("import", concurrent=1))(crowd.visit)
        visit = app.registry["visit"]
        client = await app.client()
        jobs = await client.enqueue(visit, [{}] * 6, Options(limit=limit))
        async with app.worker():
            for job in jobs:
                await job.wait(20)
        assert (crowd.most == 1) == (limit is not None)


async def test_the_bound_may_be_an_operators_and_holds_for_jobs_by_name(store_url: str) -> None:
    async with fairlead.App(store_url) as app:
        crowd = Crowd()
        app.handler("visit")(crowd.visit)
        store = await app.store()
        await store.types.register([app.registry["visit"].job_type()])
        await set_limit(store, "limit", "import", Operator("ann"), concurrent=2)
        jobs = [await app.enqueue("visit", limit="import=acme") for _ in range(6)]
        assert (await jobs[0].read()).limits == "import=acme"
        async with app.worker():
            for job in jobs:
                await job.wait(20)
        assert crowd.most == 2


async def test_a_changed_payload_keeps_the_jobs_own_limits(store_url: str) -> None:
    async with fairlead.App(store_url) as app:

        @app.handler("sync", limit=fairlead.Limit("account", concurrent=1, key="account"))
        async def sync(account: str) -> None: ...

        store = await app.store()
        await store.types.register([app.registry["sync"].job_type()])
        job = await sync.options(limit="import", run_in="1h").enqueue(account="acme")
        assert (await job.read()).limits == "account=acme import"
        await change_job(store, job.id, Operator("ann"), payload={"account": "globex"}, limit=10_000)
        assert (await job.read()).limits == "account=globex import"


@pytest.mark.parametrize("limit", ["", "a b", 5, [fairlead.Limit("x", concurrent=1)], [f"l{n}" for n in range(9)]])
async def test_what_names_no_limit_is_refused(limit: Any) -> None:
    async with fairlead.App("sqlite:///:memory:") as app:
        visit = app.handler("visit")(lambda: None)
        with pytest.raises(fairlead.ConfigError):
            await visit.options(limit=limit).enqueue()
