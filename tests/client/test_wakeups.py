"""Hints of callers on other threads: the first at once, the others by the sender, and none gets lost."""

import asyncio
from collections.abc import Callable, Collection
from typing import Any, cast

import pytest

from fairlead.client import wakeups
from fairlead.client.wakeups import Waker
from fairlead.errors import StoreUnavailable
from tests.support.clock import Clock
from tests.support.doubles import store_of

A, B = frozenset({"a"}), frozenset({"b"})
LONG = 10.0


class Hints:
    """A store that writes down its hints."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[set[str]] = asyncio.Queue()

    async def wake(self, pools: Collection[str]) -> None:
        """One hint."""
        self.sent.put_nowait(set(pools))

    async def next(self) -> set[str]:
        """The next one."""
        return await asyncio.wait_for(self.sent.get(), LONG)


class Loop:
    """The running loop, which counts how often other threads call it."""

    def __init__(self) -> None:
        self.calls = 0
        self._loop = asyncio.get_running_loop()

    def call_soon_threadsafe(self, call: Callable[..., Any]) -> None:
        """One call."""
        self.calls += 1
        self._loop.call_soon_threadsafe(call)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(wakeups, "time", clock)
    return clock


def leave(waker: Waker, pools: frozenset[str], loop: Loop) -> frozenset[str]:
    """What a caller on another thread sends itself, with its commit or after it."""
    due = waker.due_anywhere(pools)
    return due | waker.leave(pools - due, cast(asyncio.AbstractEventLoop, loop))


def waker_on(store: Hints) -> Waker:
    return Waker(store_of(jobs=store))


async def test_callers_send_what_comes_after_a_pause_themselves(clock: Clock) -> None:
    waker, loop = waker_on(Hints()), Loop()
    for _ in range(3):
        assert leave(waker, A, loop) == A
        clock.now += wakeups.SHORTEST_PAUSE
    assert leave(waker, frozenset(), loop) == frozenset()
    assert loop.calls == 0


async def test_what_comes_too_soon_is_sent_by_the_sender_which_is_asked_for_once(clock: Clock) -> None:
    store, loop = Hints(), Loop()
    waker = waker_on(store)
    assert leave(waker, A, loop) == A
    for pools in (A, B, A):
        assert leave(waker, pools, loop) == frozenset()
    assert loop.calls == 1
    assert await store.next() == A | B
    assert leave(waker, B, loop) == frozenset()
    assert loop.calls == 1
    assert await store.next() == B
    await waker.close()


async def test_whoever_comes_after_the_senders_last_look_does_not_count_on_it(clock: Clock) -> None:
    store, loop = Hints(), Loop()
    waker = waker_on(store)
    leave(waker, A, loop)
    leave(waker, A, loop)
    await store.next()
    clock.now += wakeups.LONGEST_PAUSE
    sender = waker._sender
    assert sender is not None
    assert waker._taken() == set()
    assert not sender.done()
    assert leave(waker, A, loop) == A
    await sender
    assert leave(waker, A, loop) == frozenset()
    assert await store.next() == A
    await waker.close()


async def test_callers_on_the_loop_and_beside_it_share_the_sender(clock: Clock) -> None:
    store, loop = Hints(), Loop()
    waker = waker_on(store)
    assert waker.due(A) == A
    assert leave(waker, B, loop) == frozenset()
    assert waker.due(A) == frozenset()
    waker.wake(A)
    assert await store.next() == A | B
    assert loop.calls == 0
    await waker.close()


async def test_closing_sends_what_was_left_and_leaves_the_rest_to_the_callers(clock: Clock) -> None:
    store, loop = Hints(), Loop()
    waker = waker_on(store)
    leave(waker, A, loop)
    leave(waker, B, loop)
    await waker.close()
    assert store.sent.get_nowait() == B
    assert leave(waker, A, loop) == A
    assert leave(waker, A, loop) == A


@pytest.mark.parametrize(
    ("took", "pauses"),
    [
        ([0.0001] * 4, [0.002] * 4),
        ([0.0003] * 4, [0.003] * 4),
        ([0.001] * 5, [0.003, 0.0045, 0.00675, 0.01, 0.01]),
        ([1.0, 1.0, 0.0001], [0.003, 0.0045, 0.002]),
        ([1.0] * 12, [*[0.002 * 1.5**number for number in range(1, 8)], *[0.05] * 5]),
    ],
)
async def test_a_pause_is_in_proportion_to_what_hints_take_and_grows_by_and_by(
    took: list[float], pauses: list[float], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept, left, sleep = list[float](), list(took), asyncio.sleep

    class Slow(Hints):
        async def wake(self, pools: Collection[str]) -> None:
            clock.now += left.pop(0)
            if left:
                waker.wake(A)

    async def noted(seconds: float) -> None:
        slept.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", noted)
    waker = waker_on(Slow())
    assert waker.due(A) == A
    waker.wake(A)
    await waker.close()
    assert [pause for pause in slept if pause] == pytest.approx([wakeups.SHORTEST_PAUSE, *pauses])


async def test_what_comes_while_a_hint_fails_is_still_sent(clock: Clock) -> None:
    class Away(Hints):
        async def wake(self, pools: Collection[str]) -> None:
            if pools == A:
                waker.wake(B)
                raise StoreUnavailable("away")
            await super().wake(pools)

    store = Away()
    waker = waker_on(store)
    waker.wake(A)
    assert await store.next() == B
    await waker.close()
