"""What a worker tells of itself now and then, and hears in return: what an operator wants of it."""

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from fairlead.errors import StoreError
from fairlead.records.store import Store

EVERY = 5.0
IDLE = 15.0  # seconds; where there is nothing new to tell

Figures = Mapping[str, Any]


class Reports:
    """The reports of one worker; `follow` is told each answer."""

    def __init__(
        self, store: Store, worker_id: str, figures: Callable[[], Figures], follow: Callable[[str | None], None]
    ) -> None:
        self._store = store
        self._worker_id = worker_id
        self._figures = figures
        self._follow = follow
        self._told: Figures = {}
        self._told_at = time.monotonic()

    def hint(self) -> None:
        """Somebody may want something."""
        self._told_at = 0.0

    async def look(self, now: float) -> None:
        """Report if that is due; where the store is away, a while later."""
        if now > self._told_at + (IDLE if self._figures() == self._told else EVERY):
            with contextlib.suppress(StoreError):
                await self.send()

    async def send(self) -> None:
        """Report now."""
        self._told_at, self._told = time.monotonic(), self._figures()
        self._follow(await self._store.workers.report(self._worker_id, dict(self._told)))
