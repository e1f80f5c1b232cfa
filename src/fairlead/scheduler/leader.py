"""Who runs the services: one process leads for a while, and goes on leading as long as it says so in time.

Leading is a row in the store: an identity that is new at every start, a term that rises with every change of leader,
and an end by the database's clock. A leader renews at half of its time, and trusts its lead for less time than the
store grants, counted from before it asked: once that deadline has passed, because the process was stopped or the store
did not answer, it is a follower until the store says otherwise. A follower only reads, and knows from that when the
lead ends; so another takes over at that moment. One that resigns gives a hint, and the followers look at once.

Leadership only saves work. What must happen once is made unique in the store, so two leaders for a moment do no harm.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable

from fairlead.errors import StoreError
from fairlead.ports.jobs import LEAD_HINT
from fairlead.records.store import Store
from fairlead.telemetry.events import LeadLost, LeadTaken, Telemetry
from fairlead.worker.lease import boot_time

ROLE = "scheduler"
RETRY = 1.0  # seconds after which one that lost a race for the lead, or the store, asks again
SHORTEST_PAUSE = 0.02
TRUSTED = 0.8  # the share of the granted time that is relied on


class Leader:
    """Whether this process leads, as far as it may trust that."""

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
        self.term = 0  # that of the present lead; 0 for a follower

    async def leads(self) -> bool:
        """Ask the store now and then; between asks the last answer holds until its trust runs out."""
        async with self._asking:
            now = self._clock()
            if self.term and now >= self._trusted_until:
                self._lose()
            if now >= self._ask_at:
                await self._ask(now)
            return self._clock() < self._trusted_until

    def pause(self) -> float:
        """The seconds until a follower should look again."""
        return max(SHORTEST_PAUSE, self._ask_at - self._clock())

    def hint(self) -> None:
        """A leader has resigned: do not wait for the end of its lead."""
        if not self.term:
            self._ask_at = float("-inf")

    async def resign(self) -> None:
        """Let another take over at once."""
        led, self._trusted_until, self.term = self.term, float("-inf"), 0
        if not led:
            return
        with contextlib.suppress(StoreError):
            await self._store.leadership.resign(ROLE, self.identity)
            await self._store.jobs.wake([LEAD_HINT])

    async def _ask(self, now: float) -> None:
        """Renew a lead; without one, take it if it is free."""
        self._ask_at = now + min(RETRY, self._lease / 2)
        if not self.term:
            left = await self._left_of_another()
            if left > 0:
                self._ask_at = now + left
                return
        term = await self._store.leadership.lead(ROLE, self.identity, self._lease)
        if not term:
            return self._lose()
        self._ask_at, self._trusted_until = now + self._lease / 2, now + self._lease * TRUSTED
        if term != self.term:
            self.term = term
            self._telemetry.emit(LeadTaken(self.identity, term))

    async def _left_of_another(self) -> float:
        found = await self._store.leadership.current(ROLE)
        return 0.0 if found is None or found.identity == self.identity else found.lease_left

    def _lose(self) -> None:
        self._trusted_until = float("-inf")
        if self.term:
            self._telemetry.emit(LeadLost(self.identity, self.term))
            self.term = 0
            self._ask_at = float("-inf")
