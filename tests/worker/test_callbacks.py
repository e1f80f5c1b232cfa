"""Callbacks from end to end: a worker in this process, a receiver on loopback, on each kind of store."""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

import fairlead
from fairlead import App, Handler, InvalidSignature, Retry, State, verify_callback
from fairlead.client.by_name import submit_registered
from fairlead.core.jobs.job_records import JobFilter, JobRecord
from fairlead.core.web.callbacks import TYPE, Delivered, Endpoint
from fairlead.core.web.egress import EgressRules, networks
from fairlead.handlers.options import Options
from fairlead.operate import callbacks as control
from fairlead.operate.change_jobs import retry_job
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator
from fairlead.worker.callbacks import with_deliveries
from tests.support.receiver import Receiver, receiving
from tests.support.settings import remove_limit, set_limit
from tests.worker.support import until

ANN = Operator("ann", "a test")


class Yard:
    """An app with a worker, and a receiver with an endpoint for it."""

    def __init__(self, app: App, store: Store, receiver: Receiver) -> None:
        self.app = app
        self.store = store
        self.receiver = receiver
        self.secret = ""
        self.greet = app_handler(app)

    async def add(self, name: str = "orders", **fields: Any) -> str:
        """An endpoint at the receiver; returns its secret."""
        url = fields.pop("url", self.receiver.url)
        made = await control.add_endpoint(self.store, ANN, self.app.settings.egress, name, url, **fields)
        self.secret = made.secret
        return made.secret

    async def endpoint(self, name: str = "orders") -> Endpoint:
        """The endpoint as it is stored."""
        return await control.read_endpoint(self.store, None, name)

    async def log(self, name: str = "orders") -> list[Delivered]:
        """The tries to reach the endpoint, newest first."""
        return await self.store.callbacks.deliveries("", name, 100)

    async def deliveries(self) -> list[JobRecord]:
        """The delivery jobs, oldest first."""
        page = await self.store.reader.list_jobs(JobFilter(type=TYPE), 100)
        return list(reversed(page.jobs))

    async def settled(self, count: int = 1) -> list[JobRecord]:
        """The deliveries, once so many have ended or wait for a retry."""
        found: list[JobRecord] = []

        async def look() -> bool:
            nonlocal found
            found = await self.deliveries()
            return len(found) >= count and all(job.state not in (State.READY, State.RUNNING) for job in found)

        await eventually(look)
        return found


def app_handler(app: App) -> Handler[[str], Coroutine[Any, Any, str]]:
    @app.handler("greet", retry=Retry(attempts=1))
    async def greet(name: str) -> str:
        if name == "nobody":
            raise ValueError("there is nobody")
        return f"hello {name}"

    return greet


async def eventually(look: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    """Wait for something that can only be asked for."""
    deadline = time.monotonic() + 60
    while not await look():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def open_yard(url: str, worker: bool = True, **settings: Any) -> AsyncIterator[Yard]:
    async with receiving() as receiver:
        allowed: dict[str, Any] = {"callback_networks": ("127.0.0.0/8",), "callback_ports": (receiver.port,)}
        given = {"callback_http": True, "poll": 0.1, **allowed, **settings}
        async with App(url, **given) as app:
            yard = Yard(app, await app.store(), receiver)
            async with app.worker() if worker else contextlib.nullcontext():
                yield yard


@pytest.fixture
async def yard(shared_url: str) -> AsyncIterator[Yard]:
    async with open_yard(shared_url) as made:
        yield made


@pytest.fixture
async def small_yard() -> AsyncIterator[Yard]:
    async with open_yard("sqlite:///:memory:") as made:
        yield made


async def test_a_success_is_told_and_the_receiver_can_prove_it(yard: Yard) -> None:
    secret = await yard.add()
    job = await yard.greet.options(callback="orders", idempotency_key="order-7").enqueue("ann")
    await until(lambda: len(yard.receiver.requests) == 1, "the callback")
    (request,) = yard.receiver.requests
    assert request.line == "POST /hook HTTP/1.1"
    assert request.headers["host"] == f"127.0.0.1:{yard.receiver.port}"
    assert request.headers["content-type"] == "application/json"
    event = verify_callback(request.headers, request.body, secret)
    assert event["type"] == "job.succeeded"
    assert event["data"]["id"] == job.id
    assert (event["data"]["result"], event["data"]["idempotency_key"]) == ("hello ann", "order-7")
    with pytest.raises(InvalidSignature, match="no signature"):
        verify_callback(request.headers, request.body + b" ", secret)
    (delivery,) = await yard.settled()
    assert (delivery.state, delivery.result, delivery.parent) == (State.SUCCEEDED, "204", job.id)
    assert request.headers["webhook-id"] == f"msg_{delivery.id}"
    (tried,) = await yard.log()
    assert (tried.delivery, tried.job_id, tried.status, tried.attempt) == (delivery.id, job.id, 204, 1)
    assert (tried.error, tried.event) == (None, "job.succeeded")


async def test_death_is_told_with_its_error_and_other_jobs_are_not(yard: Yard) -> None:
    await yard.add(events=["job.dead", "job.cancelled"])
    await yard.greet.enqueue("nobody")
    dead = await yard.greet.options(callback="orders").enqueue("nobody")
    well = await yard.greet.options(callback="orders").enqueue("ann")
    later = await yard.greet.options(callback="orders", run_in="1h").enqueue("ann")
    await yard.app.cancel(later.id)
    assert await well.wait(60) == "hello ann"
    await until(lambda: len(yard.receiver.requests) == 2, "the callbacks")
    events = [json.loads(request.body) for request in yard.receiver.requests]
    told = {event["data"]["id"]: event for event in events}
    assert told[dead.id]["data"]["error"] == {"type": "ValueError", "message": "there is nobody"}
    assert told[later.id]["type"] == "job.cancelled"
    assert len(await yard.deliveries()) == 2


async def test_an_unknown_endpoint_is_refused_at_submission(small_yard: Yard) -> None:
    with pytest.raises(fairlead.UnknownCallback, match="no callback endpoint 'orders'"):
        await small_yard.greet.options(callback="orders").enqueue("ann")
    await small_yard.add(tenant="rival")
    with pytest.raises(fairlead.UnknownCallback):
        await small_yard.greet.options(callback="orders").enqueue("ann")
    with pytest.raises(fairlead.ConfigError, match="cannot be the name"):
        await small_yard.greet.options(callback="or ders").enqueue("ann")


async def test_during_the_overlap_both_secrets_sign_and_after_it_only_the_new_one(small_yard: Yard) -> None:
    old = await small_yard.add()
    new = (await control.rotate_secret(small_yard.store, ANN, None, "orders")).secret
    await small_yard.greet.options(callback="orders").enqueue("ann")
    await until(lambda: len(small_yard.receiver.requests) == 1)
    (request,) = small_yard.receiver.requests
    assert len(request.headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        assert verify_callback(request.headers, request.body, secret)["type"] == "job.succeeded"
    newest = (await control.rotate_secret(small_yard.store, ANN, None, "orders", overlap=0.0)).secret
    await small_yard.greet.options(callback="orders").enqueue("ann")
    await until(lambda: len(small_yard.receiver.requests) == 2)
    request = small_yard.receiver.requests[1]
    assert verify_callback(request.headers, request.body, [old, newest])["type"] == "job.succeeded"
    with pytest.raises(InvalidSignature):
        verify_callback(request.headers, request.body, [old, new])


async def test_gone_disables_the_endpoint(yard: Yard) -> None:
    await yard.add()
    yard.receiver.answer("410 Gone")
    await yard.greet.options(callback="orders").enqueue("ann")
    (delivery,) = await yard.settled()
    assert delivery.state is State.DEAD
    endpoint = await yard.endpoint()
    assert (endpoint.enabled, endpoint.why_disabled) == (False, "it answered 410 Gone")
    job = await yard.greet.options(callback="orders").enqueue("ann")
    await job.wait(60)
    assert len(await yard.deliveries()) == 1
    (entry, *_) = await yard.store.audit.read(1)
    assert (entry.actor, entry.action) == ("callback delivery", "disable callback")


@pytest.mark.parametrize("status", ["400 Bad Request", "302 Found\r\nLocation: http://127.0.0.1/", "404 Not Found"])
async def test_a_refusal_is_final_and_no_redirection_followed(small_yard: Yard, status: str) -> None:
    await small_yard.add()
    small_yard.receiver.answer(status)
    await small_yard.greet.options(callback="orders").enqueue("ann")
    (delivery,) = await small_yard.settled()
    assert delivery.state is State.DEAD
    assert delivery.error is not None
    assert f"answered {status[:3]}" in delivery.error.message
    assert small_yard.receiver.connections == 1
    (tried,) = await small_yard.log()
    assert (tried.status, tried.error) == (int(status[:3]), f"the receiver answered {status[:3]}")


@pytest.mark.parametrize(
    "status", ["500 Oops", "503 Busy\r\nRetry-After: 600", "429 Slow\r\nRetry-After: 600", "409 X"]
)
async def test_a_receiver_that_is_busy_is_asked_again(yard: Yard, status: str) -> None:
    await yard.add()
    yard.receiver.answer(status)
    await yard.greet.options(callback="orders").enqueue("ann")
    (delivery,) = await yard.settled()
    assert delivery.state is State.RETRYING
    wait = (delivery.run_at - delivery.created_at).total_seconds()
    assert (wait > 600) == ("Retry-After" in status)
    assert delivery.error is not None
    assert delivery.error.failure == "dependency"


async def test_a_receiver_that_is_away_is_asked_again_and_gets_the_same_message(small_yard: Yard) -> None:
    await small_yard.add()
    small_yard.receiver.answers = [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]
    await small_yard.greet.options(callback="orders").enqueue("ann")
    (delivery,) = await small_yard.settled()
    with contextlib.suppress(fairlead.IllegalMove):  # its own time has come already
        await retry_job(small_yard.store, delivery.id, ANN)
    await until(lambda: len(small_yard.receiver.requests) == 2)
    first, second = small_yard.receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    (delivery,) = await small_yard.settled()
    assert delivery.state is State.SUCCEEDED
    newest, oldest = await small_yard.log()
    assert (newest.attempt, newest.status, oldest.attempt, oldest.status) == (2, 200, 1, None)
    assert oldest.error is not None
    assert "RemoteProtocolError" in oldest.error


async def test_an_address_that_the_worker_does_not_allow_is_never_reached() -> None:
    async with open_yard("sqlite:///:memory:", callback_networks=("10.0.0.0/8",)) as yard:
        allowing = EgressRules(networks(["127.0.0.0/8"]), frozenset({yard.receiver.port}), http=True)
        await control.add_endpoint(yard.store, ANN, allowing, "orders", yard.receiver.url)
        await yard.greet.options(callback="orders").enqueue("ann")
        (delivery,) = await yard.settled()
        assert delivery.state is State.DEAD
        (tried,) = await yard.log()
        assert tried.error is not None
        assert "an address that is loopback" in tried.error
        assert yard.receiver.connections == 0


@pytest.mark.postgres
async def test_an_end_in_the_handlers_own_transaction_is_told(postgres_url: str) -> None:
    async with open_yard(postgres_url) as yard:

        @yard.app.handler("book")
        async def book(ctx: fairlead.Context) -> str:
            async with ctx.transaction() as connection:
                await connection.execute("select 1")
            return "booked"

        await yard.add()
        async with yard.app.worker():
            job = await book.options(callback="orders").enqueue()
            await until(lambda: len(yard.receiver.requests) == 1, "the callback")
        told = json.loads(yard.receiver.requests[0].body)["data"]
        assert (told["id"], told["result"]) == (job.id, "booked")


async def test_an_operator_can_limit_each_endpoint() -> None:
    async with open_yard("sqlite:///:memory:", worker=False) as yard:
        await yard.add("orders")
        await yard.add("bills")
        await set_limit(yard.store, "limit", f"{TYPE}=:orders", ANN, concurrent=0)
        async with yard.app.worker():
            await yard.greet.options(callback="orders").enqueue("ann")
            other = await yard.greet.options(callback="bills").enqueue("ann")
            await until(lambda: len(yard.receiver.requests) == 1, "the callback")
            assert json.loads(yard.receiver.requests[0].body)["data"]["id"] == other.id
            await set_limit(yard.store, "limit", TYPE, ANN, concurrent=1)
            await remove_limit(yard.store, "limit", f"{TYPE}=:orders", ANN)
            await until(lambda: len(yard.receiver.requests) == 2, "the callback that had to wait")


async def test_a_recurring_schedule_can_ask_for_callbacks(small_yard: Yard) -> None:
    await small_yard.add()
    await small_yard.app.schedules.add("daily", "@daily", "greet", {"name": "ann"}, callback="orders")
    await small_yard.app.schedules.run_now("daily")
    await until(lambda: len(small_yard.receiver.requests) == 1, "the callback")


async def test_a_ping_arrives_and_a_delivery_can_be_repeated(small_yard: Yard) -> None:
    secret = await small_yard.add()
    sent = await control.send_ping(small_yard.store, ANN, None, "orders", "default")
    await until(lambda: len(small_yard.receiver.requests) == 1)
    again = await control.redeliver(small_yard.store, ANN, None, "orders", sent.job_id)
    await until(lambda: len(small_yard.receiver.requests) == 2)
    first, second = small_yard.receiver.requests
    assert verify_callback(second.headers, second.body, secret) == json.loads(first.body)
    assert json.loads(first.body)["type"] == "ping"
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == sent.message == again.message
    for wrong in ("nonsense", sent.job_id.replace("7", "8"), (await small_yard.greet.enqueue("ann")).id):
        with pytest.raises(fairlead.CallbackNotFound):
            await control.redeliver(small_yard.store, ANN, None, "orders", wrong)


async def test_what_is_on_its_way_to_a_disabled_endpoint_is_dropped(small_yard: Yard) -> None:
    await small_yard.add()
    small_yard.receiver.answer("503 Busy\r\nRetry-After: 3600")
    await small_yard.greet.options(callback="orders").enqueue("ann")
    (delivery,) = await small_yard.settled()
    egress = small_yard.app.settings.egress
    await control.change_endpoint(small_yard.store, ANN, egress, None, "orders", enabled=False)
    await retry_job(small_yard.store, delivery.id, ANN)

    async def cancelled() -> bool:
        return (await small_yard.deliveries())[0].state is State.CANCELLED

    await eventually(cancelled)
    assert small_yard.receiver.connections == 1


async def test_nobody_declares_submits_or_edits_deliveries(small_yard: Yard) -> None:
    with pytest.raises(fairlead.ConfigError, match="Fairlead's own"):
        small_yard.app.handler(TYPE)(lambda: None)
    client = await small_yard.app.client()
    with pytest.raises(fairlead.UnknownType):
        await submit_registered(client, TYPE, {}, Options(), small_yard.app.settings)
    await small_yard.add()
    small_yard.receiver.answer("404 Not Found")
    await control.send_ping(small_yard.store, ANN, None, "orders", "default")
    (delivery,) = await small_yard.settled()
    with pytest.raises(fairlead.UnknownType):
        await small_yard.app.replay(delivery.id, reason="forged", payload={"body": "forged"})
    small_yard.receiver.answer("200 OK")
    await small_yard.app.replay(delivery.id, reason="mended")
    await until(lambda: len(small_yard.receiver.requests) == 2)


async def test_without_what_it_needs_a_worker_delivers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with App("sqlite:///:memory:") as app:
        store = await app.store()
        assert TYPE in with_deliveries(app.registry, store, app.settings)
        assert TYPE not in app.registry
        monkeypatch.setitem(sys.modules, "httpcore2", None)
        assert with_deliveries(app.registry, store, app.settings) is app.registry
