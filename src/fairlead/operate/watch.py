"""One look every few seconds, however many watch."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

from fairlead.errors import StoreError
from fairlead.operate.system_status import glance, status_document
from fairlead.records.store import Store

INTERVAL = 2.0


class StatusFeed:
    """Looks while somebody watches; each viewer gets every look."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._viewers = 0
        self._task: asyncio.Task[None] | None = None
        self._looked = asyncio.Condition()
        self.newest: dict[str, Any] | None = None
        self._closed = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self._closed.is_set()

    @contextlib.contextmanager
    def viewer(self) -> Iterator[None]:
        """Somebody watches."""
        self._viewers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._look_on(), name="fairlead-watch-stats")
        try:
            yield
        finally:
            self._viewers -= 1

    async def next(self) -> dict[str, Any]:
        """The next look."""
        async with self._looked:
            await self._looked.wait()
            return self.newest or {}

    def close(self) -> None:
        """Let all viewers go."""
        self._closed.set()

    async def _look_on(self) -> None:
        try:
            while self._viewers and not self.is_closed:
                with contextlib.suppress(StoreError):
                    self.newest = status_document(await glance(self._store))
                await self._tell()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(INTERVAL):
                        await self._closed.wait()
        finally:
            self._task, self.newest = None, None
            await self._tell()

    async def _tell(self) -> None:
        async with self._looked:
            self._looked.notify_all()
