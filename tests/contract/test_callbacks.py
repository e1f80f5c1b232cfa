"""Callback endpoints and their log as stores keep them, and the deliveries that follow from jobs that end."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.model import Claim, Ending, NewJob
from fairlead.core.jobs.states import State
from fairlead.core.web.callbacks import (
    EVERYONE,
    KEPT_DELIVERIES,
    OF_JOBS,
    OPTION,
    CallbackEvent,
    Delivered,
    Endpoint,
    Secret,
    delivery_lane,
)
from fairlead.records.store import Store
from tests.contract.making import (
    claim,
    claim_one,
    done,
    ended,
    enqueue_one,
    failed,
    new_id,
    new_jobs,
    new_lease,
    one_held,
    state_of,
)
from tests.contract.world import World

NOTE = AuditNote("ann@desk", "callbacks", "endpoint")
OPTIONS = json.dumps({OPTION: "orders"})


def endpoint(owner: str = "acme", name: str = "orders", **fields: Any) -> Endpoint:
    given: dict[str, Any] = {"url": "https://example.org/hook", "events": OF_JOBS, "pool": "short"}
    return Endpoint(owner, name, secrets=(Secret("whsec_new"), Secret("whsec_old", 12.5)), **{**given, **fields})


def tried(number: int) -> Delivered:
    return Delivered(new_id(), new_id(), f"msg_{number}", "job.succeeded", 1, 500, 0.25, "answered 500")


async def deliveries(store: Store) -> list[Claim]:
    """What is to be delivered to the tenant's own endpoint and to the one for all."""
    lanes = [delivery_lane(endpoint(owner), "acme") for owner in ("acme", EVERYONE)]
    found = [await claim(store, new_lease(), lane=lane) for lane in lanes]
    return sorted(found[0] + found[1], key=lambda item: item.id)


def body_of(delivery: Claim) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(json.loads(delivery.payload)["body"])
    return event


async def test_an_endpoint_is_kept_as_it_was_made(store: Store) -> None:
    made = endpoint(why_disabled="gone", enabled=False, events=(CallbackEvent.DEAD,))
    assert await store.callbacks.add(made, NOTE)
    (found,) = await store.callbacks.read([("acme", "orders"), ("rival", "orders"), ("acme", "bills")])
    assert found.created_at is not None
    assert replace(found, created_at=None) == made
    assert len(await store.audit.read(10)) == 1


async def test_a_name_is_taken_once_by_each_owner(store: Store) -> None:
    assert await store.callbacks.add(endpoint(), NOTE)
    assert not await store.callbacks.add(endpoint(url="https://example.org/other"), NOTE)
    assert await store.callbacks.add(endpoint("rival"), NOTE)
    assert await store.callbacks.add(endpoint(EVERYONE), NOTE)
    (found,) = await store.callbacks.read([("acme", "orders")])
    assert found.url == "https://example.org/hook"
    assert len(await store.audit.read(10)) == 3


async def test_endpoints_are_listed_by_owner_and_name(store: Store) -> None:
    for owner, name in (("rival", "b"), ("acme", "b"), (EVERYONE, "z"), ("acme", "a")):
        await store.callbacks.add(endpoint(owner, name), NOTE)
    everything = [(item.owner, item.name) for item in await store.callbacks.page(10)]
    assert everything == [(EVERYONE, "z"), ("acme", "a"), ("acme", "b"), ("rival", "b")]
    assert [item.name for item in await store.callbacks.page(10, owner="acme")] == ["a", "b"]
    after = await store.callbacks.page(2, after=("acme", "a"))
    assert [(item.owner, item.name) for item in after] == [("acme", "b"), ("rival", "b")]


async def test_of_two_who_change_an_endpoint_the_second_is_told(store: Store) -> None:
    await store.callbacks.add(endpoint(), NOTE)
    changed = endpoint(url="https://example.org/new", version=2)
    assert await store.callbacks.change(changed, endpoint(), NOTE)
    assert not await store.callbacks.change(endpoint(url="https://example.org/late", version=2), endpoint(), NOTE)
    (found,) = await store.callbacks.read([("acme", "orders")])
    assert (found.url, found.version) == ("https://example.org/new", 2)


async def test_an_endpoint_goes_with_its_log(store: Store) -> None:
    for owner in ("acme", "rival"):
        await store.callbacks.add(endpoint(owner), NOTE)
        assert await store.callbacks.log_delivery(endpoint(owner), tried(1))
    assert await store.callbacks.remove("acme", "orders", NOTE)
    assert not await store.callbacks.remove("acme", "orders", NOTE)
    assert await store.callbacks.deliveries("acme", "orders", 10) == []
    assert len(await store.callbacks.deliveries("rival", "orders", 10)) == 1


async def test_a_late_try_is_not_in_the_log_of_an_endpoint_that_was_made_later(store: Store) -> None:
    first = endpoint()
    await store.callbacks.add(first, NOTE)
    await store.callbacks.remove("acme", "orders", NOTE)
    assert not await store.callbacks.log_delivery(first, tried(1)), "nothing is left behind either"
    await store.callbacks.add(endpoint(url="https://example.org/other"), NOTE)
    assert not await store.callbacks.log_delivery(first, tried(1))
    assert await store.callbacks.deliveries("acme", "orders", 10) == []


async def test_who_saw_an_endpoint_cannot_change_one_that_was_made_later(store: Store) -> None:
    """A deliverer that was told 410 late, or an operator: both would bring back the old address and its secret."""
    first = endpoint()
    await store.callbacks.add(first, NOTE)
    await store.callbacks.remove("acme", "orders", NOTE)
    await store.callbacks.add(replace(endpoint(), secrets=(Secret("whsec_other"),)), NOTE)
    assert not await store.callbacks.change(replace(first, enabled=False, version=2), first, NOTE)
    (found,) = await store.callbacks.read([("acme", "orders")])
    assert (found.enabled, found.version) == (True, 1)


async def test_the_log_keeps_the_last_tries_of_each_endpoint(store: Store) -> None:
    await store.callbacks.add(endpoint(), NOTE)
    await store.callbacks.add(endpoint("rival"), NOTE)
    await store.callbacks.log_delivery(endpoint("rival"), tried(0))
    for number in range(KEPT_DELIVERIES + 5):
        await store.callbacks.log_delivery(endpoint(), tried(number))
    first = await store.callbacks.deliveries("acme", "orders", 150)
    rest = await store.callbacks.deliveries("acme", "orders", 150, cursor=first[-1].id)
    assert [item.message for item in (*first, *rest)] == [f"msg_{n}" for n in range(KEPT_DELIVERIES + 4, 4, -1)]
    assert first[0]._replace(id=0, at=None) == tried(KEPT_DELIVERIES + 4)._replace(
        delivery=first[0].delivery, job_id=first[0].job_id
    )
    assert len(await store.callbacks.deliveries("rival", "orders", 10)) == 1


async def test_old_tries_are_removed(world: World) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    await world.store.callbacks.log_delivery(endpoint(), tried(1))
    world.advance(100)
    await world.store.callbacks.log_delivery(endpoint(), tried(2))
    assert await world.store.callbacks.prune_deliveries(60.0, 10) == 1
    assert [item.message for item in await world.store.callbacks.deliveries("acme", "orders", 10)] == ["msg_2"]


async def test_success_is_told_with_the_result(world: World) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    job = await enqueue_one(world.store, options=OPTIONS)
    claimed = await claim_one(world.store, new_lease())
    assert await world.store.jobs.settle([done(claimed, '{"total":[1,2]}')]) == {job.id}
    assert await state_of(world.store, job.id) is State.SUCCEEDED
    (delivery,) = await deliveries(world.store)
    payload = json.loads(delivery.payload)
    assert (payload["endpoint"], payload["owner"], payload["about"]) == ("orders", "acme", job.id)
    assert payload["message"] == f"msg_{delivery.id}"
    event = body_of(delivery)
    assert event["type"] == "job.succeeded"
    told = event["data"]
    assert (told["id"], told["type"], told["state"], told["tenant"]) == (job.id, "mail", "succeeded", "acme")
    assert (told["result"], told["result_omitted"], told["error"]) == ({"total": [1, 2]}, False, None)
    record = await world.store.reader.read(delivery.id)
    assert record is not None
    assert record.parent == job.id


@pytest.mark.parametrize(
    ("ending", "state"),
    [(Ending.FAILED, State.DEAD), (Ending.CANCELLED, State.CANCELLED), (Ending.EXPIRED, State.EXPIRED)],
)
async def test_every_end_of_a_run_is_told(world: World, ending: Ending, state: State) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    job = await enqueue_one(world.store, options=OPTIONS)
    claimed = await claim_one(world.store, new_lease())
    settlement = failed(claimed, permanent=True) if ending is Ending.FAILED else ended(claimed, ending)
    assert await world.store.jobs.settle([settlement]) == {job.id}
    assert await state_of(world.store, job.id) is state
    (delivery,) = await deliveries(world.store)
    event = body_of(delivery)
    assert (event["type"], event["data"]["state"]) == (f"job.{state.value}", state.value)
    if state is State.DEAD:
        assert event["data"]["error"] == {"type": "ValueError", "message": "no such address"}


async def test_a_retry_is_not_an_end(world: World) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    await enqueue_one(world.store, options=OPTIONS)
    await world.store.jobs.settle([failed(await claim_one(world.store, new_lease()))])
    assert await deliveries(world.store) == []


async def test_a_job_that_waits_and_is_cancelled_by_an_operator_is_told(world: World) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    job = await enqueue_one(world.store, options=OPTIONS)
    held = await one_held(world.store, job.id)
    await world.store.changes.cancel([ended(held, Ending.CANCELLED)], [], NOTE)
    assert [body_of(item)["type"] for item in await deliveries(world.store)] == ["job.cancelled"]


async def test_a_job_whose_worker_was_lost_too_often_is_told(world: World) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    job = await enqueue_one(world.store, options=OPTIONS)
    for _ in range(3):
        await claim_one(world.store, await world.worker(5.0))
        world.advance(6)
        lost = await world.store.reader.lost(10)
        await world.store.jobs.settle([ended(item, Ending.LOST) for item in lost], expired_only=True)
    assert await state_of(world.store, job.id) is State.DEAD
    assert [body_of(item)["type"] for item in await deliveries(world.store)] == ["job.dead"]


async def test_a_job_that_expires_while_it_waits_is_told(world: World) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    await enqueue_one(world.store, options=OPTIONS, not_after=world.clock() + 10)
    world.advance(20)
    late = await world.store.promotion.late(10)
    await world.store.jobs.settle([ended(item.job, Ending.EXPIRED) for item in late])
    assert [body_of(item)["type"] for item in await deliveries(world.store)] == ["job.expired"]


@pytest.mark.parametrize(
    "there",
    [None, endpoint("rival"), endpoint(name="bills"), endpoint(enabled=False), endpoint(events=(CallbackEvent.DEAD,))],
)
async def test_nothing_follows_without_an_endpoint_that_wants_it(world: World, there: Endpoint | None) -> None:
    if there is not None:
        await world.store.callbacks.add(there, NOTE)
    job = await enqueue_one(world.store, options=OPTIONS)
    assert await world.store.jobs.settle([done(await claim_one(world.store, new_lease()))]) == {job.id}
    assert await world.store.reader.count_jobs() == {}


async def test_a_tenants_own_endpoint_goes_before_one_for_all(world: World) -> None:
    await world.store.callbacks.add(endpoint(EVERYONE), NOTE)
    await enqueue_one(world.store, options=OPTIONS)
    await world.store.jobs.settle([done(await claim_one(world.store, new_lease()))])
    await world.store.callbacks.add(endpoint(), NOTE)
    await enqueue_one(world.store, options=OPTIONS)
    await world.store.jobs.settle([done(await claim_one(world.store, new_lease()))])
    owners = [json.loads(item.payload)["owner"] for item in await deliveries(world.store)]
    assert owners == [EVERYONE, "acme"]


async def test_jobs_without_a_callback_are_settled_beside(world: World) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    jobs: list[NewJob] = [*new_jobs(5), *new_jobs(5, options=OPTIONS), *new_jobs(5, options='{"timeout":3.0}')]
    await world.store.jobs.enqueue(jobs)
    claims = await claim(world.store, new_lease())
    assert await world.store.jobs.settle([done(item) for item in claims]) == {job.id for job in jobs}
    told = {json.loads(item.payload)["about"] for item in await deliveries(world.store)}
    assert told == {job.id for job in jobs[5:10]}


async def test_of_many_who_settle_a_job_one_does_and_it_is_told_once(shared_world: World) -> None:
    await shared_world.store.callbacks.add(endpoint(), NOTE)
    jobs = new_jobs(20, options=OPTIONS)
    await shared_world.store.jobs.enqueue(jobs)
    claims = await claim(shared_world.store, new_lease())
    stores = [shared_world.store, await shared_world.another_store()]
    settled = await asyncio.gather(*(store.jobs.settle([done(item) for item in claims]) for store in stores * 2))
    assert sorted(job_id for found in settled for job_id in found) == sorted(job.id for job in jobs)
    assert len(await deliveries(shared_world.store)) == 20


async def test_a_large_result_is_left_out_and_a_deep_one_is_not_read(world: World) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    for result in (json.dumps("x" * 40_000), "[" * 15_000 + "]" * 15_000):
        await enqueue_one(world.store, options=OPTIONS)
        await world.store.jobs.settle([done(await claim_one(world.store, new_lease()), result)])
    large, deep = await deliveries(world.store)
    assert body_of(large)["data"]["result_omitted"] is True
    assert body_of(large)["data"]["result"] is None
    assert '"result":[[[[' in json.loads(deep.payload)["body"]


async def test_a_lane_that_was_to_be_removed_is_kept_for_a_new_delivery(world: World) -> None:
    await world.store.callbacks.add(endpoint(), NOTE)
    for _ in range(2):
        job = await enqueue_one(world.store, options=OPTIONS)
        assert await world.store.jobs.settle([done(await claim_one(world.store, new_lease()))]) == {job.id}
        (delivery,) = await deliveries(world.store)
        await world.store.jobs.settle([done(delivery)])
        await world.store.limits.prune(50.0, 10)  # notes that the lane is idle
        world.advance(30)
    world.advance(10)
    await world.store.limits.prune(50.0, 10)
    record = await world.store.reader.read(delivery.id)
    assert record is not None


async def test_a_delivery_goes_to_the_pool_of_its_endpoint(world: World) -> None:
    await world.store.callbacks.add(endpoint(pool="calls"), NOTE)
    await enqueue_one(world.store, options=OPTIONS)
    await world.store.jobs.settle([done(await claim_one(world.store, new_lease()))])
    lanes = {item.lane for item in await world.store.reader.active_lanes()}
    assert lanes == {delivery_lane(endpoint(pool="calls"), "acme")}
