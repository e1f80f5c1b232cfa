"""Calls that a worker repeats in the background: reports, requests to cancel, accounts, counts of failures."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from fairlead.errors import StoreError

HASTE = 10  # times what a call took, the next one waits even in a hurry


class Periodic:
    """Repeats a call every so many seconds, at once after a hint, and not more often than every `least` seconds.

    With `thrift`, a call that takes long is repeated less often: it takes at most one part in so many of the time. A
    call that fails because the store is away is repeated like any other.
    """

    def __init__(
        self,
        act: Callable[[], Awaitable[object]],
        every: float,
        least: float = 0.0,
        thrift: float = 0.0,
        hurry: asyncio.Event | None = None,
    ) -> None:
        self._act = act
        self._every = every
        self._least = least
        self._thrift = thrift
        self._hurry = hurry or asyncio.Event()

    def hint(self) -> None:
        """Call at once."""
        self._hurry.set()

    async def run(self) -> None:
        """Repeat the call until cancelled."""
        took = 0.0
        while True:
            least = max(self._least, HASTE * took) if self._thrift else self._least
            await asyncio.sleep(least)
            await wait_for(self._hurry, max(self._every, self._thrift * took) - least)
            began = time.monotonic()
            with contextlib.suppress(StoreError):
                await self._act()
            took = time.monotonic() - began


async def wait_for(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, at most so long. It is cleared afterwards, so that one set meanwhile ends the next wait."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    event.clear()
