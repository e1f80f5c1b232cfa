"""Keys as a server remembers them: for a second, and asked for by one statement at a time."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead.api.key_cache import FRESH, KeyCache
from fairlead.errors import StoreUnavailable
from fairlead.operate.api_keys import create_key, revoke_key
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator
from fairlead.wiring import make_store
from tests.support.doubles import store_of

WHO = Operator("tests")


class Counting:
    """A store that counts questions, and can be away."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.questions: list[list[str]] = []
        self.away = False

    async def read(self, ids: list[str]) -> Any:
        """The keys."""
        self.questions.append(ids)
        await asyncio.sleep(0)
        if self.away:
            raise StoreUnavailable("away")
        return await self._store.api_keys.read(ids)

    async def touch(self, uses: dict[str, float]) -> None:
        """When they were used."""
        await self._store.api_keys.touch(uses)


class Desk:
    """A book on a store, with a clock that the test moves."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = 100.0
        self.counting = Counting(store)
        self.book = KeyCache(store_of(api_keys=self.counting), lambda: self.now)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """A desk on a store in memory."""
    store = make_store("sqlite:///:memory:")
    await store.open()
    made = Desk(store)
    yield made
    await made.book.close()
    await store.close()


async def make(desk: Desk, **more: Any) -> tuple[str, str]:
    made = await create_key(desk.store, WHO, "k", ["read"], **more)
    return made.text, made.key.id


async def test_a_key_is_asked_for_once_a_second(desk: Desk) -> None:
    text, key_id = await make(desk)
    for _ in range(5):
        assert await desk.book.find(text) is not None
    assert desk.counting.questions == [[key_id]]
    desk.now += FRESH + 0.1
    assert await desk.book.find(text) is not None
    assert len(desk.counting.questions) == 2


async def test_a_revocation_holds_within_a_second(desk: Desk) -> None:
    text, key_id = await make(desk)
    assert await desk.book.find(text) is not None
    await revoke_key(desk.store, key_id, WHO)
    desk.now += FRESH + 0.1
    assert await desk.book.find(text) is None
    desk.book.forget(key_id)
    assert await desk.book.find(text) is None


async def test_a_remembered_key_ends_on_time(desk: Desk) -> None:
    text, _ = await make(desk, expires_in=0.5)
    assert await desk.book.find(text) is not None
    desk.now += 0.6
    assert await desk.book.find(text) is None
    assert len(desk.counting.questions) == 1


async def test_what_is_no_key_asks_nobody(desk: Desk) -> None:
    for text in ("", "nonsense", "flk_0000000000_" + "0" * 38):
        assert await desk.book.find(text) is None
    assert desk.counting.questions == []


async def test_many_callers_ask_together(desk: Desk) -> None:
    texts = [(await make(desk))[0] for _ in range(20)]
    found = await asyncio.gather(*(desk.book.find(text) for text in texts * 3))
    assert all(found)
    assert [len(ids) for ids in desk.counting.questions] == [20]


async def test_a_store_that_is_away_is_told_to_all_and_asked_again(desk: Desk) -> None:
    text, _ = await make(desk)
    desk.counting.away = True
    found = await asyncio.gather(*(desk.book.find(text) for _ in range(3)), return_exceptions=True)
    assert {type(item) for item in found} == {StoreUnavailable}
    desk.counting.away = False
    assert await desk.book.find(text) is not None


async def test_uses_are_written_together(desk: Desk) -> None:
    text, key_id = await make(desk)
    await desk.book.find(text)
    desk.now += 3
    await desk.book.write_uses()
    (key,) = await desk.store.api_keys.read([key_id])
    assert key.last_used_at is not None
    before = key.last_used_at
    await desk.book.write_uses()
    assert (await desk.store.api_keys.read([key_id]))[0].last_used_at == before
