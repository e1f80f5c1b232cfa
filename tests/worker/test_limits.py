"""Limits with workers: never exceeded, quickly used again, and changed while jobs wait."""

import asyncio
from contextlib import AsyncExitStack

import pytest

import fairlead
from fairlead.handlers.options import Options
from fairlead.insight.protection import limits
from fairlead.runtime.operator import Operator
from tests.support.settings import remove_limit, set_limit

ADA = Operator("ada", "a slow partner")
PATIENCE = 60


class Room:
    """Where handlers of a test meet: who is in, how many there were at most, and a door that lets them out."""

    def __init__(self) -> None:
        self.inside: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.door = asyncio.Event()
        self.changed = asyncio.Condition()

    async def visit(self, key: str = "") -> None:
        """Come in, wait for the door, go."""
        async with self.changed:
            self.inside[key] = self.inside.get(key, 0) + 1
            self.most[key] = max(self.most.get(key, 0), self.inside[key])
            self.changed.notify_all()
        await self.door.wait()
        async with self.changed:
            self.inside[key] -= 1
            self.changed.notify_all()

    async def until_inside(self, count: int) -> None:
        """Wait until so many are in."""
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: sum(self.inside.values()) == count)


def app_with(url: str, room: Room, **options: object) -> tuple[fairlead.App, fairlead.Handler[..., None]]:
    """An app with a limited handler `visit` and a free one."""
    app = fairlead.App(url, poll="100ms")

    async def visit(account: str = "", customer: dict[str, str] | None = None) -> None:
        await room.visit(account)

    @app.handler("free")
    async def free() -> None: ...

    handler: fairlead.Handler[..., None] = app.handler("visit", **options)(visit)  # type: ignore[call-overload]
    return app, handler


async def run_free(app: fairlead.App, count: int = 3) -> None:
    """Let other jobs run: what could have started by now would have."""
    client = await app.client()
    for _ in range(count):
        (job,) = await client.enqueue(app.registry["free"], [{}], Options())
        await job.wait(timeout=PATIENCE)


@pytest.mark.parametrize("scope", ["type", "tenant", "pool", "tenant+pool", "dependency", "limit"])
async def test_a_limit_set_at_run_time_holds_and_the_rest_runs(store_url: str, scope: str) -> None:
    room = Room()
    app, visit = app_with(store_url, room, pool="medium", needs=["smtp"], limit=fairlead.Limit("door", concurrent=100))
    name = {
        "type": "visit", "tenant": "acme", "pool": "medium", "tenant+pool": "acme+medium", "dependency": "smtp",
        "limit": "door",
    }[scope]  # fmt: skip
    async with app, app.worker(pools=("short", "medium"), concurrency=20):
        store = await app.store()
        await set_limit(store, scope, name, ADA, concurrent=2)
        jobs = await visit.options(tenant="acme").enqueue_many([{}] * 7)
        await room.until_inside(2)
        await run_free(app)
        assert sum(room.inside.values()) == 2
        found = {(item.scope, item.name): item for item in await limits(store)}[scope, name]
        assert (found.running, found.concurrent, found.set_by) == (2, 2, "operator")
        await set_limit(store, scope, name, ADA, concurrent=4)
        await room.until_inside(4)
        await remove_limit(store, scope, name, ADA)
        await room.until_inside(7)
        room.door.set()
        for job in jobs:
            await job.wait(timeout=PATIENCE)
        assert [entry.action for entry in await store.audit.read(10)] == ["remove limit", "set limit", "set limit"]


@pytest.mark.parametrize("key", ["account", lambda args: args.account], ids=["field", "function"])
async def test_each_key_has_its_own_limit_over_two_workers(store_url: str, key: object) -> None:
    room = Room()
    app, visit = app_with(store_url, room, limit=fairlead.Limit("visits", concurrent=2, key=key))  # type: ignore[arg-type]
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app)
        for _ in range(2):
            await stack.enter_async_context(app.worker(concurrency=20))
        jobs = await visit.enqueue_many([{"account": account} for account in "abc" for _ in range(5)])
        await room.until_inside(6)
        await run_free(app)
        assert room.inside == {"a": 2, "b": 2, "c": 2}
        room.door.set()
        for job in jobs:
            await job.wait(timeout=PATIENCE)
    assert room.most == {"a": 2, "b": 2, "c": 2}


@pytest.mark.parametrize("key", ["account", lambda args: args.account], ids=["field", "function"])
async def test_the_key_of_a_recurring_job_counts(store_url: str, key: object) -> None:
    """Jobs of schedules, as they were made and as they were changed, are under the limits of those submitted."""
    room = Room()
    app, visit = app_with(store_url, room, limit=fairlead.Limit("visits", concurrent=2, key=key))  # type: ignore[arg-type]
    async with app, app.worker(concurrency=20):
        schedules = app.schedules
        for name, account in (("one", "a"), ("two", "a"), ("three", "b")):
            await schedules.add(name, "every 1h", visit, payload={"account": account})
        await schedules.change("three", payload={"account": "c"})
        jobs = [await schedules.run_now(name) for name in ("one", "two", "three")]
        jobs += await visit.enqueue_many([{"account": "a"}] * 3)
        await room.until_inside(3)
        await run_free(app)
        assert room.inside == {"a": 2, "c": 1}
        room.door.set()
        for job in jobs:
            await job.wait(timeout=PATIENCE)
    assert room.most == {"a": 2, "c": 1}


async def test_several_limits_hold_together(store_url: str) -> None:
    room = Room()
    both = [fairlead.Limit("all", concurrent=3), fairlead.Limit("one", concurrent=2, key="account")]
    app, visit = app_with(store_url, room, limit=both)
    async with app, app.worker(concurrency=20):
        jobs = await visit.enqueue_many([{"account": account} for account in "aaaabbbb"])
        await room.until_inside(3)
        await run_free(app)
        assert max(room.most.values()) <= 2
        assert sum(room.inside.values()) == 3
        room.door.set()
        for job in jobs:
            await job.wait(timeout=PATIENCE)
    assert max(room.most.values()) <= 2


async def test_jobs_beyond_a_rate_start_later(store_url: str) -> None:
    room = Room()
    room.door.set()
    app, visit = app_with(store_url, room, limit=fairlead.Limit("visits", rate="20/s", burst=2))
    async with app, app.worker(concurrency=20):
        jobs = await visit.enqueue_many([{}] * 8)
        for job in jobs:
            await job.wait(timeout=PATIENCE)
        starts = sorted(
            [record.started_at.timestamp() for record in [await job.read() for job in jobs] if record.started_at]
        )
    assert len(starts) == 8
    for first in range(8):
        for last in range(first, 8):
            assert last - first + 1 <= 2 + 20 * (starts[last] - starts[first]) + 1e-3


async def test_a_limit_of_zero_stops_all_until_it_is_lifted(store_url: str) -> None:
    room = Room()
    room.door.set()
    app, visit = app_with(store_url, room)
    async with app, app.worker():
        store = await app.store()
        await set_limit(store, "type", "visit", ADA, concurrent=0)
        job = await visit.enqueue()
        await run_free(app)
        assert await job.state() == fairlead.State.READY
        await set_limit(store, "type", "visit", ADA, unlimited=True)
        await job.wait(timeout=PATIENCE)


async def test_a_limit_declared_while_the_worker_runs_holds_too(store_url: str) -> None:
    room = Room()
    app, _ = app_with(store_url, room)
    async with app, app.worker(concurrency=20):
        await run_free(app)

        @app.handler("late", limit=fairlead.Limit("late", concurrent=1))
        async def late() -> None:
            await room.visit()

        jobs = await late.enqueue_many([{}] * 3)
        await room.until_inside(1)
        await run_free(app)
        room.door.set()
        for job in jobs:
            await job.wait(timeout=PATIENCE)
    assert room.most == {"": 1}
