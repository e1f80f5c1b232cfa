"""What the HTTP API keeps: keys, and answers to requests with an Idempotency-Key; and how workers are directed."""

import uuid

import pytest

from fairlead.core.insight.audit import AuditNote
from fairlead.core.web.api_keys import Grant, NewKey
from fairlead.core.web.stored_responses import Reservation, StoredResponse
from fairlead.records.store import Store
from tests.contract.world import World

NOTE = AuditNote("ann@desk", "keys", "key")


def new_key(key_id: str = "aaaaaaaaaa", expires_in: float | None = None) -> NewKey:
    return NewKey(key_id, "tests", frozenset({Grant.READ, Grant.ENQUEUE}), "acme", "f" * 64, expires_in)


def reservation(key: str = "k", digest: str = "d") -> Reservation:
    return Reservation("scope", key, digest, str(uuid.uuid4()))


async def test_a_key_is_kept_as_it_was_made(store: Store) -> None:
    await store.api_keys.add(new_key(), NOTE)
    (key,) = await store.api_keys.read(["aaaaaaaaaa", "bbbbbbbbbb"])
    assert (key.id, key.name, key.tenant, key.hash) == ("aaaaaaaaaa", "tests", "acme", "f" * 64)
    assert key.grants == {Grant.READ, Grant.ENQUEUE}
    assert (key.expires_at, key.revoked_at, key.last_used_at, key.time_left) == (None, None, None, None)
    assert key.live
    assert len(await store.audit.read(10)) == 1


async def test_keys_are_listed_by_id_a_page_at_a_time(store: Store) -> None:
    for letter in "bca":
        await store.api_keys.add(new_key(letter * 10), NOTE)
    assert [key.id[0] for key in await store.api_keys.page(2)] == ["a", "b"]
    assert [key.id[0] for key in await store.api_keys.page(2, "b" * 10)] == ["c"]


async def test_a_key_ends_by_time(world: World) -> None:
    await world.store.api_keys.add(new_key(expires_in=60.0), NOTE)
    (key,) = await world.store.api_keys.read(["aaaaaaaaaa"])
    assert key.live
    assert key.time_left == pytest.approx(60, abs=5)
    world.advance(61)
    (key,) = await world.store.api_keys.read(["aaaaaaaaaa"])
    assert not key.live


async def test_a_key_is_revoked_once(store: Store) -> None:
    await store.api_keys.add(new_key(), NOTE)
    assert await store.api_keys.revoke("aaaaaaaaaa", NOTE)
    assert not await store.api_keys.revoke("aaaaaaaaaa", NOTE)
    assert not await store.api_keys.revoke("bbbbbbbbbb", NOTE)
    (key,) = await store.api_keys.read(["aaaaaaaaaa"])
    assert not key.live
    assert len(await store.audit.read(10)) == 2


async def test_the_last_use_only_moves_on(world: World) -> None:
    store = world.store
    await store.api_keys.add(new_key(), NOTE)
    await store.api_keys.touch({"aaaaaaaaaa": 5.0, "bbbbbbbbbb": 1.0})
    (key,) = await store.api_keys.read(["aaaaaaaaaa"])
    used = key.last_used_at
    assert used
    assert used.timestamp() == pytest.approx(world.clock() - 5, abs=5)
    await store.api_keys.touch({"aaaaaaaaaa": 500.0})
    assert (await store.api_keys.read(["aaaaaaaaaa"]))[0].last_used_at == used


async def test_an_answer_is_reserved_by_one(store: Store) -> None:
    first = reservation()
    assert await store.responses.reserve(first, 60, 3600) is None
    assert await store.responses.reserve(reservation(), 60, 3600) == StoredResponse("d", None, None, None)
    await store.responses.keep(first, 202, "{}", "body")
    assert await store.responses.reserve(reservation(digest="other"), 60, 3600) == StoredResponse(
        "d", 202, "{}", "body"
    )
    assert await store.responses.reserve(reservation("another"), 60, 3600) is None


async def test_a_reservation_can_be_given_up(store: Store) -> None:
    first = reservation()
    await store.responses.reserve(first, 60, 3600)
    await store.responses.drop(reservation())
    assert await store.responses.reserve(reservation(), 60, 3600) is not None
    await store.responses.drop(first)
    assert await store.responses.reserve(reservation(), 60, 3600) is None


async def test_a_lock_that_ran_out_is_taken_over_and_its_late_answer_is_not_kept(world: World) -> None:
    store, first, second = world.store, reservation(), reservation(digest="e")
    await store.responses.reserve(first, 60, 3600)
    world.advance(61)
    assert await store.responses.reserve(second, 60, 3600) is None
    await store.responses.keep(first, 200, "{}", "late")
    assert await store.responses.reserve(reservation(), 60, 3600) == StoredResponse("e", None, None, None)


async def test_answers_are_forgotten_after_their_time(world: World) -> None:
    store, first = world.store, reservation()
    await store.responses.reserve(first, 60, 3600)
    await store.responses.keep(first, 200, "{}", "body")
    assert await store.responses.prune(10) == 0
    world.advance(3601)
    assert await store.responses.reserve(reservation(digest="new"), 60, 3600) is None
    world.advance(3601)
    assert await store.responses.prune(10) == 1


async def test_a_worker_is_told_with_its_report(world: World) -> None:
    store = world.store
    lease = await world.worker(30)
    assert await store.workers.report(lease.owner, {"running": 1}) == "active"
    assert await store.workers.direct(lease.owner, "draining", NOTE)
    assert await store.workers.report(lease.owner, {"running": 1}) == "draining"
    assert [record.state for record in await store.workers.all()] == ["draining"]
    world.advance(31)
    assert not await store.workers.direct(lease.owner, "stopping", NOTE)
    assert not await store.workers.direct(str(uuid.uuid4()), "stopping", NOTE)
    assert len(await store.audit.read(10)) == 1
