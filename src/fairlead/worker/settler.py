"""Settlements leave in groups: while two are on their way, the next collects.

With two, a store that takes them one after the other has the next at hand when it has done with one.
When the store is away, settlements wait here in order and are tried again; the lease decides how long that makes sense.
A settlement that the store does not accept was overtaken by another owner: it is counted and forgotten.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fairlead.core.jobs.model import Settlement
from fairlead.core.jobs.settle import settle_as_cancelled
from fairlead.core.jobs.states import State
from fairlead.errors import StoreError
from fairlead.records.store import Store
from fairlead.runtime.outage import Outage
from fairlead.telemetry.events import SettlementRefused, Telemetry
from fairlead.worker.progress import ProgressBook

GROUP = 2_000
ABREAST = 2  # groups that are on their way at once

Value = TypeVar("Value")


class Settler:
    """Brings settlements to the store; `after` is called with those that are stored."""

    def __init__(
        self,
        store: Store,
        telemetry: Telemetry,
        after: Callable[[list[Settlement]], None],
        progress: ProgressBook | None = None,
    ) -> None:
        self._store = store
        self._progress = progress
        self._telemetry = telemetry
        self._trouble = Outage(telemetry, "settler")
        self._after = after
        self.counts: Counter[State] = Counter()  # of the settlements that are stored, by state
        self._waiting: list[Settlement] = []
        self._sending = 0  # settlements that are on their way
        self._arrived = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self.refused = 0

    @property
    def backlog(self) -> int:
        """How many settlements are not stored yet."""
        return len(self._waiting) + self._sending

    def add(self, settlements: list[Settlement]) -> None:
        """Take settlements over."""
        if not settlements:
            return
        if not self._waiting:
            self._arrived.set()
            self._empty.clear()
        self._waiting += settlements

    async def run(self) -> None:
        """Send what arrives, until cancelled; as many of these as groups may be on their way at once."""
        while True:
            await self._arrived.wait()
            while self._waiting:
                group, self._waiting = _split(self._waiting)
                self._sending += len(group)
                await self._send(group)
                self._sending -= len(group)
            self._arrived.clear()
            if not self._sending:
                self._empty.set()

    async def flushed(self) -> None:
        """Wait until everything is stored."""
        await self._empty.wait()

    async def _send(self, group: list[Settlement]) -> None:
        if self._progress is not None and self._progress.is_busy:
            await self._progress.last_words([(item.id, item.hold.fence) for item in group])
        settled = await self._patiently(lambda: self._store.jobs.settle(group))
        if len(settled) < len(group):
            group, settled = await self._patiently(lambda: self._heed_wishes(group, settled))
        self._account(group, settled)

    async def _heed_wishes(self, group: list[Settlement], settled: set[str]) -> tuple[list[Settlement], set[str]]:
        """What was decided before somebody asked to cancel the run does not hold; it is decided again."""
        refused = {item.id: item for item in group if item.id not in settled}
        held = await self._store.reader.held(refused)
        again = {job.id: decided for job in held if (decided := settle_as_cancelled(refused[job.id], job)) is not None}
        if again:
            settled = settled | await self._store.jobs.settle(list(again.values()))
        return [again.get(item.id, item) for item in group], settled

    async def _patiently(self, send: Callable[[], Awaitable[Value]]) -> Value:
        """The answer of a store that may be away."""
        while True:
            try:
                answer = await send()
            except StoreError as error:
                await self._trouble.pause(error)
                continue
            self._trouble.over()
            return answer

    def _account(self, group: list[Settlement], settled: set[str]) -> None:
        if len(settled) < len(group):
            for settlement in group:
                if settlement.id not in settled:
                    self.refused += 1
                    self._telemetry.emit(SettlementRefused(settlement.id, settlement.hold.owner))
            group = [settlement for settlement in group if settlement.id in settled]
        self.stored(group)

    def stored(self, settlements: list[Settlement]) -> None:
        """These are stored, here or in a handler's own transaction."""
        self.counts.update([settlement.state for settlement in settlements])
        self._after(settlements)


def _split(waiting: list[Settlement]) -> tuple[list[Settlement], list[Settlement]]:
    """The next group, and what is left."""
    return (waiting[:GROUP], waiting[GROUP:]) if len(waiting) > GROUP else (waiting, [])
