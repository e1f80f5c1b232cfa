"""Hints to workers about new jobs: at once for the first, then at most one a pool in each pause.

The first one is sent with the commit that stores the jobs, so it costs no round trip of its own. What has to wait is
sent at the end of the pause, which doubles while there is something to say: workers that are kept busy need few hints.
"""

import asyncio
from collections.abc import Iterable

from fairlead.errors import StoreError
from fairlead.ports.store import Store

SHORTEST_PAUSE = 0.002
LONGEST_PAUSE = 0.05


class Waker:
    """Sends hints in the background, so that no caller waits for them; a hint that fails is only a slower start."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pools: set[str] = set()
        self._sender: asyncio.Task[None] | None = None

    def due(self, pools: frozenset[str]) -> frozenset[str]:
        """The hints to send with the commit that is about to happen; `wake` with the others after it."""
        if self._sender is not None or not pools:
            return frozenset()
        self._start(SHORTEST_PAUSE)
        return pools

    def wake(self, pools: Iterable[str]) -> None:
        """Hint that these pools have work."""
        self._pools.update(pools)
        if self._sender is None and self._pools:
            self._start(0.0)

    async def close(self) -> None:
        """Send what is left and stop."""
        if self._sender is not None:
            await asyncio.wait([self._sender])

    def _start(self, pause: float) -> None:
        self._sender = asyncio.create_task(self._send(pause), name="fairlead-wake")

    async def _send(self, pause: float) -> None:
        try:
            await asyncio.sleep(pause)
            while self._pools:
                pools, self._pools = self._pools, set()
                try:
                    await self._store.wake(pools)
                except StoreError:
                    return
                pause = min(max(pause, SHORTEST_PAUSE / 2) * 2, LONGEST_PAUSE)
                await asyncio.sleep(pause)
        finally:
            self._sender = None
