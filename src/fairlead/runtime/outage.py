"""Riding out a store that is away."""

import asyncio
import random

from fairlead.errors import StoreError
from fairlead.telemetry.events import StoreAway, StoreBack, Telemetry


class Outage:
    """Pauses between tries while the store is away, and says so once."""

    def __init__(self, telemetry: Telemetry, service: str) -> None:
        self._telemetry = telemetry
        self._service = service
        self._pause = 0.0

    async def pause(self, error: StoreError) -> None:
        """Wait before the next try, longer each time."""
        if self._pause == 0.0:
            self._telemetry.emit(StoreAway(self._service, str(error)))
        self._pause = min(max(self._pause * 2, 0.05), 2.0)
        await asyncio.sleep(self._pause * random.uniform(0.5, 1.5))

    def over(self) -> None:
        """A try succeeded."""
        if self._pause:
            self._pause = 0.0
            self._telemetry.emit(StoreBack(self._service))
