"""Counts lost workers against the job types that they ran, since one of these may crash workers.

Each lost worker counts once for a type, however many of its jobs were lost. Counts whose answer was lost are sent again
under the same flush number, so the store counts them once.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from uuid import uuid4

from fairlead.core.durations import seconds
from fairlead.core.flush import Flush
from fairlead.core.jobs.model import Held
from fairlead.core.protection.breaker import Breaker, opened, why_open
from fairlead.core.protection.quarantine import Quarantine
from fairlead.core.protection.run_counts import QUARANTINE, TYPE, Count, subject
from fairlead.core.stored import restored
from fairlead.records.store import Store
from fairlead.runtime.breakers import Breakers
from fairlead.runtime.controls import ControlView
from fairlead.telemetry.events import Telemetry

MOST_NOTED = 10_000

Policies = Mapping[str, tuple[Breaker, Quarantine]]


class Crashes:
    """Counts crashes, and opens the breaker of a type that has too many."""

    def __init__(self, store: Store, telemetry: Telemetry) -> None:
        self._store = store
        self._view = ControlView(store)
        self._breakers = Breakers(store, self._view, telemetry)
        self._noted: dict[tuple[str | None, str], None] = {}  # the last lost workers, with types
        self._new: Counter[str] = Counter()  # crashes by type that were not sent yet
        self._unsent: list[Count] = []  # sent without an answer
        self._policies: Policies = {}  # of the types in _unsent
        self._flush = Flush(str(uuid4()), 1)

    def note(self, lost: Iterable[Held]) -> None:
        """Record lost jobs; a worker counts once for a type, also if its jobs come in several batches."""
        for pair in {(job.hold.owner, job.lane.type) for job in lost} - self._noted.keys():
            self._noted[pair] = None
            self._new[pair[1]] += 1
        for pair in list(self._noted)[:-MOST_NOTED]:
            del self._noted[pair]

    async def tell(self) -> None:
        """Send the counts: first those without an answer, then the new ones; opens breakers that are due."""
        if self._unsent:
            await self._send()
        if self._new:
            self._policies = await self._read_policies(self._new)
            self._unsent = _counts(self._new, self._policies)
            self._new = Counter()
            await self._send()

    async def _send(self) -> None:
        await self._view.refresh()
        counted = await self._store.run_counts.count(self._unsent, self._flush)
        self._unsent, self._flush = [], self._flush.next()
        for type_, (breaker, _) in self._policies.items():
            name = subject(TYPE, type_)
            why = why_open(breaker, counted.sums[name])
            if why is not None and self._breakers.get(name) is None:
                await self._breakers.open(name, opened(breaker, why, counted.now))

    async def _read_policies(self, types: Collection[str]) -> Policies:
        """The breaker and quarantine policies that the types have registered; this process may not have their code."""
        found = {item.name: item.settings for item in await self._store.types.all()}
        settings = {type_: found.get(type_, {}) for type_ in types}
        return {
            type_: (restored(Breaker, own.get("breaker", {})), restored(Quarantine, own.get("quarantine", {})))
            for type_, own in settings.items()
        }


def _counts(crashes: Mapping[str, int], policies: Policies) -> list[Count]:
    counts = []
    for type_, bad in crashes.items():
        breaker, quarantine = policies[type_]
        counts.append(Count(subject(TYPE, type_), 0, bad, seconds(breaker.window)))
        counts.append(Count(subject(QUARANTINE, type_), 0, bad, seconds(quarantine.window)))
    return counts
