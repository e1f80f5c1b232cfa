"""Hints to workers about new jobs: at once for the first, then at most one a pool in each pause.

The first one is sent with the commit that stores the jobs, so it costs no round trip of its own. What has to wait is
sent at the end of the pause, and so on while there is something to say. A pause is ten times as long as the last hint
took: a tenth of the time at most goes into them, and a database that has much to do gets fewer.

Callers on other threads send the first one themselves. While the sender is at work they only leave theirs to it, so
that its event loop is not woken for each.
"""

import asyncio
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from fairlead.errors import StoreError
from fairlead.records.store import Store

SHORTEST_PAUSE = 0.002
LONGEST_PAUSE = 0.05
THRIFT = 10  # times what a hint took, the next one waits
GROWTH = 1.5  # times a pause, the next one may last: a hint that took long once is no reason


class Waker:
    """Sends hints in the background, so that no caller waits for them; a hint that fails is only a slower start."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._pools: set[str] = set()
        self._sending = False
        self._sender: asyncio.Task[None] | None = None
        self._asked = False  # whether another thread has asked for the sender
        self._pause_until = 0.0
        self._closed = False

    def due(self, pools: frozenset[str]) -> frozenset[str]:
        """The hints to send with the commit that is about to happen; `wake` with the others after it."""
        if not pools:
            return frozenset()
        with self._lock:
            if self._sending:
                return frozenset()
            self._start(SHORTEST_PAUSE)
        return pools

    def wake(self, pools: Iterable[str]) -> None:
        """Hint that these pools have work."""
        with self._lock:
            self._pools.update(pools)
            if self._pools and not self._sending:
                self._start(0.0)

    def due_anywhere(self, pools: frozenset[str]) -> frozenset[str]:
        """The same as `due` for a commit on any thread; `leave` the others after it."""
        with self._lock:
            return pools if pools and self._is_pause_over() else frozenset()

    def leave(self, pools: frozenset[str], loop: asyncio.AbstractEventLoop) -> frozenset[str]:
        """The same as `wake` from any thread: leave the hints to the sender on its loop.

        Returns those that the caller is to send itself, since there will be no sender.
        """
        with self._lock:
            if self._closed or not pools:
                return pools
            self._pools |= pools
            if not self._sending and not self._asked:
                loop.call_soon_threadsafe(self._attend)
                self._asked = True
        return frozenset()

    async def close(self) -> None:
        """Send what is left and stop."""
        with self._lock:
            self._closed = True
        await asyncio.sleep(0)  # the sender that other threads have asked for is there then
        if self._sender is not None:
            await asyncio.wait([self._sender])

    def _is_pause_over(self) -> bool:
        """Whether nobody has sent anything lately; the next pause begins with that."""
        now = time.monotonic()
        if self._sending or self._asked or now < self._pause_until:
            return False
        self._pause_until = now + SHORTEST_PAUSE
        return True

    def _attend(self) -> None:
        """Send what other threads have left."""
        with self._lock:
            self._asked = False
            if self._pools and not self._sending:
                self._start(SHORTEST_PAUSE)

    def _start(self, pause: float) -> None:
        self._sender = asyncio.create_task(self._send(pause), name="fairlead-wake")
        self._sending = True

    async def _send(self, pause: float) -> None:
        try:
            await asyncio.sleep(pause)
            while pools := self._taken():
                began = time.monotonic()
                with suppress(StoreError):
                    await self._store.jobs.wake(pools)
                longest = min(max(SHORTEST_PAUSE, pause * GROWTH), LONGEST_PAUSE)
                pause = min(max(SHORTEST_PAUSE, THRIFT * (time.monotonic() - began)), longest)
                await asyncio.sleep(pause)
        finally:
            self._sender, self._sending = None, False

    def _taken(self) -> set[str]:
        """What is to be sent now; where that is nothing, whoever comes next does not count on the sender any more."""
        with self._lock:
            pools, self._pools = self._pools, set()
            self._sending = bool(pools)
        return pools
