"""Leader election: one process runs the services, as long as it renews its lead in time.

The lead is a row in the store: an identity that is new at every start, a term that rises with every change of leader,
and an end by the database's clock. A leader renews at half of its time. It trusts its lead for less time than the store
grants, counted from before it asked; after that deadline it is a follower until the store grants the lead again. A
follower reads when the lead ends and takes over at that moment. A leader that resigns sends a hint.

Leadership only saves work: writes that must happen once are unique in the store, so two leaders do no harm.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable

from fairlead.errors import StoreError
from fairlead.ports.jobs import LEAD_HINT
from fairlead.records.store import Store
from fairlead.records.workers import SERVICES_ROLE
from fairlead.runtime.boot_clock import boot_time
from fairlead.telemetry.events import LeadLost, LeadTaken, Telemetry

RETRY = 1.0  # seconds until the next try after a lost race for the lead or an error of the store
SHORTEST_PAUSE = 0.02
TRUSTED = 0.8  # the trusted share of the granted time


class Leader:
    """The lead as one process sees it."""

    def __init__(
        self, store: Store, lease: float, telemetry: Telemetry, clock: Callable[[], float] = boot_time
    ) -> None:
        self._store = store
        self._lease = lease
        self._telemetry = telemetry
        self._clock = clock
        self._asking = asyncio.Lock()
        self._ask_at = float("-inf")
        self._trusted_until = float("-inf")
        self.identity = str(uuid.uuid4())
        self.term = 0  # 0 for a follower

    async def leads(self) -> bool:
        """Whether this process leads; asks the store when the lead must be renewed or may be free."""
        async with self._asking:
            now = self._clock()
            if self.term and now >= self._trusted_until:
                self._lose()
            if now >= self._ask_at:
                await self._ask(now)
            return self._clock() < self._trusted_until

    def pause(self) -> float:
        """The seconds until a follower should ask again."""
        return max(SHORTEST_PAUSE, self._ask_at - self._clock())

    def hint(self) -> None:
        """Ask at once, since a leader has resigned."""
        if not self.term:
            self._ask_at = float("-inf")

    async def resign(self) -> None:
        """Give up the lead, so that another process takes over at once."""
        led, self._trusted_until, self.term = self.term, float("-inf"), 0
        if not led:
            return
        with contextlib.suppress(StoreError):
            await self._store.leadership.resign(SERVICES_ROLE, self.identity)
            await self._store.jobs.wake([LEAD_HINT])

    async def _ask(self, now: float) -> None:
        """Renew the lead; a follower takes it if it is free."""
        self._ask_at = now + min(RETRY, self._lease / 2)
        if not self.term:
            left = await self._left_of_another()
            if left > 0:
                self._ask_at = now + left
                return
        term = await self._store.leadership.lead(SERVICES_ROLE, self.identity, self._lease)
        if not term:
            return self._lose()
        self._ask_at, self._trusted_until = now + self._lease / 2, now + self._lease * TRUSTED
        if term != self.term:
            self.term = term
            self._telemetry.emit(LeadTaken(self.identity, term))

    async def _left_of_another(self) -> float:
        found = await self._store.leadership.current(SERVICES_ROLE)
        return 0.0 if found is None or found.identity == self.identity else found.lease_left

    def _lose(self) -> None:
        self._trusted_until = float("-inf")
        if self.term:
            self._telemetry.emit(LeadLost(self.identity, self.term))
            self.term = 0
            self._ask_at = float("-inf")
