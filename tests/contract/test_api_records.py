"""What the HTTP API keeps: keys, and answers to requests with an Idempotency-Key; and how workers are directed."""

import uuid

import pytest

from fairlead.core.insight.audit import AuditNote
from fairlead.core.web.api_keys import Grant, NewKey
from fairlead.core.web.stored_responses import Reservation, StoredResponse
from fairlead.ports.store import Store
from tests.contract.world import World

NOTE = AuditNote("ann@desk", "keys", "key")


def new_key(key_id: str = "aaaaaaaaaa", expires_in: float | None = None) -> NewKey:
    return NewKey(key_id, "tests", frozenset({Grant.READ, Grant.ENQUEUE}), "acme", "f" * 64, expires_in)


def reservation(key: str = "k", digest: str = "d") -> Reservation:
    return Reservation("scope", key, digest, str(uuid.uuid4()))


async def test_a_key_is_kept_as_it_was_made(store: Store) -> None:
    await store.add_key(new_key(), NOTE)
    (key,) = await store.read_keys(["aaaaaaaaaa", "bbbbbbbbbb"])
    assert (key.id, key.name, key.tenant, key.hash) == ("aaaaaaaaaa", "tests", "acme", "f" * 64)
    assert key.grants == {Grant.READ, Grant.ENQUEUE}
    assert (key.expires_at, key.revoked_at, key.last_used_at, key.time_left) == (None, None, None, None)
    assert key.live
    assert len(await store.read_audit(10)) == 1


async def test_keys_are_listed_by_id_a_page_at_a_time(store: Store) -> None:
    for letter in "bca":
        await store.add_key(new_key(letter * 10), NOTE)
    assert [key.id[0] for key in await store.list_keys(2)] == ["a", "b"]
    assert [key.id[0] for key in await store.list_keys(2, "b" * 10)] == ["c"]


async def test_a_key_ends_by_time(world: World) -> None:
    await world.store.add_key(new_key(expires_in=60.0), NOTE)
    (key,) = await world.store.read_keys(["aaaaaaaaaa"])
    assert key.live
    assert key.time_left == pytest.approx(60, abs=5)
    world.advance(61)
    (key,) = await world.store.read_keys(["aaaaaaaaaa"])
    assert not key.live


async def test_a_key_is_revoked_once(store: Store) -> None:
    await store.add_key(new_key(), NOTE)
    assert await store.revoke_key("aaaaaaaaaa", NOTE)
    assert not await store.revoke_key("aaaaaaaaaa", NOTE)
    assert not await store.revoke_key("bbbbbbbbbb", NOTE)
    (key,) = await store.read_keys(["aaaaaaaaaa"])
    assert not key.live
    assert len(await store.read_audit(10)) == 2


async def test_the_last_use_only_moves_on(world: World) -> None:
    store = world.store
    await store.add_key(new_key(), NOTE)
    await store.touch_keys({"aaaaaaaaaa": 5.0, "bbbbbbbbbb": 1.0})
    (key,) = await store.read_keys(["aaaaaaaaaa"])
    used = key.last_used_at
    assert used
    assert used.timestamp() == pytest.approx(world.clock() - 5, abs=5)
    await store.touch_keys({"aaaaaaaaaa": 500.0})
    assert (await store.read_keys(["aaaaaaaaaa"]))[0].last_used_at == used


async def test_an_answer_is_reserved_by_one(store: Store) -> None:
    first = reservation()
    assert await store.reserve_answer(first, 60, 3600) is None
    assert await store.reserve_answer(reservation(), 60, 3600) == StoredResponse("d", None, None, None)
    await store.keep_answer(first, 202, "{}", "body")
    assert await store.reserve_answer(reservation(digest="other"), 60, 3600) == StoredResponse("d", 202, "{}", "body")
    assert await store.reserve_answer(reservation("another"), 60, 3600) is None


async def test_a_reservation_can_be_given_up(store: Store) -> None:
    first = reservation()
    await store.reserve_answer(first, 60, 3600)
    await store.drop_answer(reservation())
    assert await store.reserve_answer(reservation(), 60, 3600) is not None
    await store.drop_answer(first)
    assert await store.reserve_answer(reservation(), 60, 3600) is None


async def test_a_lock_that_ran_out_is_taken_over_and_its_late_answer_is_not_kept(world: World) -> None:
    store, first, second = world.store, reservation(), reservation(digest="e")
    await store.reserve_answer(first, 60, 3600)
    world.advance(61)
    assert await store.reserve_answer(second, 60, 3600) is None
    await store.keep_answer(first, 200, "{}", "late")
    assert await store.reserve_answer(reservation(), 60, 3600) == StoredResponse("e", None, None, None)


async def test_answers_are_forgotten_after_their_time(world: World) -> None:
    store, first = world.store, reservation()
    await store.reserve_answer(first, 60, 3600)
    await store.keep_answer(first, 200, "{}", "body")
    assert await store.forget_answers(10) == 0
    world.advance(3601)
    assert await store.reserve_answer(reservation(digest="new"), 60, 3600) is None
    world.advance(3601)
    assert await store.forget_answers(10) == 1


async def test_a_worker_is_told_with_its_report(world: World) -> None:
    store = world.store
    lease = await world.worker(30)
    assert await store.report_worker(lease.owner, {"running": 1}) == "active"
    assert await store.direct_worker(lease.owner, "draining", NOTE)
    assert await store.report_worker(lease.owner, {"running": 1}) == "draining"
    assert [record.state for record in await store.workers()] == ["draining"]
    world.advance(31)
    assert not await store.direct_worker(lease.owner, "stopping", NOTE)
    assert not await store.direct_worker(str(uuid.uuid4()), "stopping", NOTE)
    assert len(await store.read_audit(10)) == 1
