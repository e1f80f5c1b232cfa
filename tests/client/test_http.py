"""The client over HTTP gives what the in-process client gives: records, errors, one job for one call."""

import inspect
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest
from pydantic_core import from_json

from fairlead import (
    AccessDenied,
    App,
    BlockingHTTPClient,
    ConfigError,
    HTTPClient,
    IllegalMove,
    InvalidArguments,
    Job,
    JobFailed,
    JobNotDone,
    JobNotFound,
    Priority,
    RequestRefused,
    ResultDropped,
    Retry,
    State,
    StoreUnavailable,
    UnknownCallback,
    UnknownType,
)
from fairlead.api.problems import Problem
from fairlead.client import http
from fairlead.core.jobs.progress import RunReport
from fairlead.core.protection.backpressure import overload
from fairlead.core.web.api_keys import ApiKey
from fairlead.runtime.operator import Operator
from tests.api.conftest import LANE, MEMORY, Api, mail_app, open_api
from tests.contract.making import claim_one, new_lease, worker_info
from tests.support.serving import served
from tests.support.settings import set_overload


class Flaky(httpx2.AsyncBaseTransport):
    """A network that loses answers: the request arrives, and nobody hears of it."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, losses: int) -> None:
        self.inner = inner
        self.losses = losses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass the request on, and lose the first answers."""
        response = await self.inner.handle_async_request(request)
        if self.losses:
            self.losses -= 1
            await response.aread()
            raise httpx2.ReadError("the connection broke")
        return response


def client_of(api: Api, key: str | None = None, losses: int = 0, **settings: Any) -> HTTPClient:
    transport = Flaky(httpx2.ASGITransport(app=api.asgi), losses)
    return HTTPClient("http://api", key or api.admin, transport=transport, **settings)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """The API on a store in memory."""
    async with open_api(MEMORY) as made:
        yield made


@pytest.fixture
async def client(api: Api) -> AsyncIterator[HTTPClient]:
    """A client of it."""
    async with client_of(api) as made:
        yield made


@pytest.mark.parametrize("action", ["shed", "defer"])
async def test_an_overload_is_told_as_in_process(api: Api, client: HTTPClient, action: str) -> None:
    await set_overload(api.store, overload(0, action, "default", "5m"), Operator("tests"))
    job = await client.enqueue("mail", {"to": "ann"}, priority="low")
    assert (job.shed, job.deferred) == ((True, None) if action == "shed" else (False, 300.0))
    if job.shed:
        with pytest.raises(JobFailed, match="shed"):
            await job.wait()


async def test_retry_policies_travel(api: Api, client: HTTPClient) -> None:
    policy = Retry.exponential("2s", factor=3, attempts=4, jitter="none")
    job = await client.enqueue("mail", {"to": "ann"}, retry=policy, exact=True)
    record = await api.app.read(job.id)
    assert Retry(**from_json(record.options or "")["retry"]) == policy
    with pytest.raises(ConfigError, match="function"):
        await client.enqueue("mail", {"to": "ann"}, retry=Retry(backoff=lambda attempt: 1))


async def test_a_start_is_estimated_as_in_process(api: Api, client: HTTPClient) -> None:
    job = await client.enqueue("mail", {"to": "ann"}, run_in="5m")
    assert await job.estimated_start() is None
    await api.store.workers.register(replace(worker_info(new_lease().owner), pools=("short",)), 60.0)
    start = await job.estimated_start()
    assert start == (await job.read()).run_at == (await api.app.explain(job.id)).estimated_start


async def test_a_job_is_read_as_in_process(api: Api, client: HTTPClient) -> None:
    job = await client.enqueue("mail", {"to": "ann"}, tenant="acme", priority=Priority.HIGH, run_in="5m", timeout="1s")
    assert (job.type, job.tenant, job.duplicate) == ("mail", "acme", False)
    found = await job.read()
    record = await api.app.read(job.id)
    assert (found.state, found.priority) == (State.SCHEDULED, Priority.HIGH)
    assert found.run_at - found.created_at == timedelta(minutes=5)
    for name in ("id", "type", "tenant", "pool", "payload", "version", "fence", "created_at", "run_at", "key"):
        assert getattr(found, name) == getattr(record, name), name


async def test_progress_is_read_as_in_process(api: Api, client: HTTPClient) -> None:
    job = await client.enqueue("mail", {"to": "ann"}, tenant="acme")
    claimed = await claim_one(api.store, new_lease(), LANE)
    await api.store.run_state.report_progress(
        [RunReport(job.id, claimed.fence, *claimed.lease, 1.0, 8.0, "first of eight")]
    )
    found = (await job.read()).progress
    assert found == (await api.app.read(job.id)).progress
    assert found
    assert found.fraction == 0.125


async def test_many_at_once_in_pieces(api: Api, client: HTTPClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BATCH", 3)
    jobs = await client.enqueue_many("mail", [{"to": str(number)} for number in range(7)], tenant="acme")
    assert len({job.id for job in jobs}) == 7
    page = await client.jobs(tenant="acme", states=(State.READY,), limit=5)
    rest = await client.jobs(tenant="acme", limit=5, cursor=page.cursor)
    assert [job.id for job in page.jobs + rest.jobs] == [job.id for job in reversed(jobs)]
    with pytest.raises(InvalidArguments):
        await client.enqueue_many("mail", [{"to": "ann"}, {"to": 5}])


async def test_pieces_are_bounded_by_their_bytes() -> None:
    body = {"payload": {"to": "a" * 60_000}}
    parts = list(http._parts([body] * 20))
    assert [len(part) for part in parts] == [8, 8, 4]


async def test_the_whole_life_of_a_job(api: Api, client: HTTPClient) -> None:
    async with api.app.worker():
        job = await client.enqueue("mail", {"to": "ann"})
        assert await job.wait(timeout=60) == "sent to ann"
        assert [name async for name, _ in client.events(job.id)] == ["state", "result"]
        large = await client.enqueue("mail", {"to": "a" * 65_500, "copies": 1})
        with pytest.raises(ResultDropped, match="succeeded, but its result was dropped"):
            await large.wait(timeout=60)
        assert await large.state() is State.SUCCEEDED
        failing = await client.enqueue("mail", {"to": "nobody"}, attempts=1)
        with pytest.raises(JobFailed, match="no such address"):
            await failing.wait(timeout=60)
        (attempt,) = await failing.attempts()
        assert attempt.error is not None
        assert attempt.error.type == "ValueError"
        (group,) = await client.dead_groups(type="mail")
        assert (group.count, group.sample) == (1, failing.id)
        assert isinstance(group.last_at, datetime)
        await client.replay(failing.id, reason="mended", payload={"to": "bob"})
        assert await failing.wait(timeout=60) == "sent to bob"


async def test_a_dead_job_is_purged(api: Api, client: HTTPClient) -> None:
    job_id = await api.dead()
    await client.purge(job_id, reason="it holds a name")
    with pytest.raises(JobNotFound):
        await client.read(job_id)
    with pytest.raises(JobNotFound):
        await client.purge(job_id, reason="it holds a name")
    with pytest.raises(IllegalMove):
        await client.purge((await client.enqueue("mail", {"to": "ann"})).id, reason="it waits")


async def test_waiting_cancelling_hastening(client: HTTPClient) -> None:
    job = await client.enqueue("mail", {"to": "ann"}, run_in=500)
    with pytest.raises(JobNotDone):
        await job.wait(timeout=0.01)
    assert "scheduled" in (await client.explain(job.id))["summary"]
    assert (await client.run_now(job.id, reason="in a hurry")).state is State.READY
    assert await client.cancel(job.id, reason="not needed") is State.CANCELLED
    assert [moment.state for moment in await job.timeline()][-1] is State.CANCELLED
    with pytest.raises(IllegalMove):
        await client.cancel(job.id)


async def test_errors_are_those_of_the_in_process_client(api: Api, client: HTTPClient) -> None:
    with pytest.raises(UnknownType):
        await client.enqueue("nope")
    with pytest.raises(UnknownCallback):
        await client.enqueue("mail", {"to": "ann"}, callback="orders")
    with pytest.raises(JobNotFound):
        await client.read("nope")
    with pytest.raises(JobNotFound):
        async for _ in client.events("nope"):
            pass
    with pytest.raises(ConfigError, match="time zone"):
        await client.enqueue("mail", {"to": "ann"}, run_at=datetime(2030, 1, 1))
    with pytest.raises(RequestRefused) as refused:
        await client.enqueue("mail", {"to": "ann"}, colour="red")
    assert (refused.value.code, refused.value.status) == ("INVALID_REQUEST", 422)
    async with client_of(api, "flk_nonsense") as stranger:
        with pytest.raises(AccessDenied) as denied:
            await stranger.jobs()
    assert denied.value.code == "KEY_NEEDED"


async def test_an_answer_that_was_lost_does_not_make_a_second_job(api: Api) -> None:
    async with client_of(api, losses=2) as client:
        job = await client.enqueue("mail", {"to": "ann"})
        assert [found.id for found in (await client.jobs()).jobs] == [job.id]


async def test_a_key_that_sent_too_much_comes_again(api: Api) -> None:
    spend, refusals = api.asgi.state.service.allowance.spend, iter([True, True])

    def spend_after_refusals(key: ApiKey, headers: list[tuple[bytes, bytes]]) -> None:
        if next(refusals, False):
            raise Problem(429, "KEY_RATE_LIMIT_EXCEEDED", "too much")
        spend(key, headers)

    api.asgi.state.service.allowance.spend = spend_after_refusals
    async with client_of(api) as client:
        job = await client.enqueue("mail", {"to": "ann"}, idempotency_key="order-17")
        assert [found.id for found in (await client.jobs(key_contains="der-1")).jobs] == [job.id]
        assert (await client.jobs(key_contains="der-2")).jobs == ()


async def test_a_server_that_is_away_is_given_up_after_a_while(api: Api) -> None:
    async with client_of(api, losses=1_000, patience=0.1) as client:
        with pytest.raises(StoreUnavailable, match="connection broke"):
            await client.enqueue("mail", {"to": "ann"})
        with pytest.raises(StoreUnavailable):
            await client.cancel(await api.submit())


def test_synchronous_code_has_the_same(sqlite_url: str) -> None:
    with served(mail_app(sqlite_url), worker=True) as server, BlockingHTTPClient(server.address, server.key) as client:
        job = client.enqueue("mail", {"to": "ann"})
        assert isinstance(job, Job)
        assert client.wait(job.id, 60).result == '"sent to ann"'
        assert client.sync(job.wait(60)) == "sent to ann"
        assert client.read(job.id).state is State.SUCCEEDED
        assert len(client.enqueue_many("mail", [{"to": "a"}, {"to": "b"}], run_in=500)) == 2
        assert len(client.jobs(states=(State.SCHEDULED,)).jobs) == 2
        with pytest.raises(UnknownType):
            client.enqueue("nope")


def test_the_names_are_the_same() -> None:
    def methods(kind: type) -> set[str]:
        return {name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("_")}

    assert methods(BlockingHTTPClient) - {"sync"} == methods(HTTPClient) - {"itself", "events"}
    shared = {"read", "attempts", "timeline", "jobs", "cancel", "dead_groups", "replay", "purge"}
    assert shared <= methods(HTTPClient) & methods(App)
    for name in shared - {"replay", "cancel", "purge"}:  # a key is the actor
        ours, theirs = (list(inspect.signature(getattr(kind, name)).parameters) for kind in (HTTPClient, App))
        assert ours == theirs[: len(ours)], name


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ConfigError, match=r"fairlead\[client\]"):
        HTTPClient("http://api", "key")
