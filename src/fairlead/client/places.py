"""Which pool the jobs of a type go to: the declared one, or the one that its measured run times call for.

Known when the client is made, and read again in the background while jobs are submitted, every ten seconds at most.
"""

import asyncio
import contextlib
import time

from fairlead.core.jobs.pools import PLACE, Pools
from fairlead.core.protection.controls import Controls
from fairlead.errors import StoreError
from fairlead.handlers.spec import HandlerSpec
from fairlead.records.store import Store

FRESH = 10.0


class Places:
    """The places as one client knows them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._controls = Controls()
        self._pools = Pools(self._controls)
        self._version = 0
        self._read_again_at = 0.0
        self._reading: asyncio.Task[None] | None = None

    @property
    def version(self) -> int:
        """Another number whenever a place has changed; asking for it lets the places be read again in time."""
        if self._reading is None and time.monotonic() > self._read_again_at:
            self._reading = asyncio.create_task(self._read_again(), name="fairlead-places")
        return self._version

    @property
    def known_version(self) -> int:
        """The same for any thread; nothing is read again for it."""
        return self._version

    def is_fresh(self) -> bool:
        """Whether it is too early to read them again."""
        return time.monotonic() <= self._read_again_at

    def of(self, spec: HandlerSpec) -> str:
        """The pool that new jobs of the type go to."""
        return spec.pool if spec.fixed_pool else self._pools.place(spec.name, spec.pool)

    async def read(self) -> None:
        """Read what has changed; where the store is away, what was known stays."""
        self._read_again_at = time.monotonic() + FRESH
        with contextlib.suppress(StoreError):
            changed = await self._store.controls.read(self._controls.version)
            if PLACE in self._controls.follow(changed.controls):
                self._version = self._controls.version

    async def close(self) -> None:
        """Stop reading."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read_again(self) -> None:
        await self.read()
        self._reading = None
