"""Hints on one event loop: the first leaves with the commit, the others after a pause, and none gets lost."""

import asyncio
from collections.abc import Collection

import pytest

from fairlead.errors import StoreUnavailable
from fairlead.runtime import hints as wakeups
from fairlead.runtime.hints import HintSender
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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(wakeups, "time", clock)
    return clock


def waker_on(store: Hints) -> HintSender:
    return HintSender(store_of(jobs=store))


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
