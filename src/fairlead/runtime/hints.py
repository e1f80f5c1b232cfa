"""Hints to workers about new jobs: at once for the first, then at most one a pool in each pause.

The first one is sent with the commit that stores the jobs, so it costs no round trip of its own. What has to wait is
sent at the end of the pause, and so on while there is something to say. A pause is ten times as long as the last hint
took: a tenth of the time at most goes into them, and a database that has much to do gets fewer.
"""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress

from fairlead.errors import StoreError
from fairlead.records.store import Store

SHORTEST_PAUSE = 0.002
LONGEST_PAUSE = 0.05
THRIFT = 10  # times what a hint took, the next one waits
GROWTH = 1.5  # times a pause, the next one may last: a hint that took long once is no reason


class HintSender:
    """Sends hints in the background, so that no caller waits for them; a hint that fails is only a slower start."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pools: set[str] = set()
        self._sending = False
        self._sender: asyncio.Task[None] | None = None

    def due(self, pools: frozenset[str]) -> frozenset[str]:
        """The hints to send with the commit that is about to happen; `wake` with the others after it."""
        if not pools:
            return frozenset()
        if self._sending:
            return frozenset()
        self._start(SHORTEST_PAUSE)
        return pools

    def wake(self, pools: Iterable[str]) -> None:
        """Hint that these pools have work."""
        self._pools.update(pools)
        if self._pools and not self._sending:
            self._start(0.0)

    async def close(self) -> None:
        """Send what is left and stop."""
        if self._sender is not None:
            await asyncio.wait([self._sender])

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
        pools, self._pools = self._pools, set()
        self._sending = bool(pools)
        return pools
