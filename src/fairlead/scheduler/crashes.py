"""Counts lost workers against the job types that they ran, since one of these may crash workers.

Each lost worker counts once for a type, and once for each of the type's tenants, however many of its jobs were lost.
Counts whose answer was lost are sent again under the same flush number, so the store counts them once.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from uuid import uuid4

from fairlead.core.durations import seconds
from fairlead.core.flush import Flush
from fairlead.core.jobs.model import Held, Lane
from fairlead.core.protection.breaker import Breaker
from fairlead.core.protection.quarantine import Quarantine
from fairlead.core.protection.run_counts import QUARANTINE, TYPE, Count, of_group, of_tenant, subject
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
        self._noted: dict[tuple[str | None, str], None] = {}  # the last lost workers, with what was counted for them
        self._new: dict[str, Counter[str]] = {}  # crashes that were not sent yet, by type and subject
        self._unsent: list[Count] = []  # sent without an answer
        self._policies: Policies = {}  # of the types in _unsent
        self._flush = Flush(str(uuid4()), 1)

    def note(self, lost: Iterable[Held]) -> None:
        """Record lost jobs; a worker counts once for a subject, also if its jobs come in several batches."""
        for job in lost:
            for part in _subjects(job.lane):
                self._note(job, part)
        for pair in list(self._noted)[:-MOST_NOTED]:
            del self._noted[pair]

    def _note(self, job: Held, part: str) -> None:
        if (job.hold.owner, part) not in self._noted:
            self._noted[job.hold.owner, part] = None
            self._new.setdefault(job.lane.type, Counter())[part] += 1

    async def tell(self) -> None:
        """Send the counts: first those without an answer, then the new ones; opens breakers that are due."""
        if self._unsent:
            await self._send()
        if self._new:
            self._policies = await self._read_policies(self._new)
            self._unsent = _counts(self._new, self._policies)
            self._new = {}
            await self._send()

    async def _send(self) -> None:
        await self._view.refresh()
        await self._store.run_counts.count(self._unsent, self._flush)
        self._unsent, self._flush = [], self._flush.next()
        counted = await self._store.run_counts.read()
        for type_, (breaker, _) in self._policies.items():
            await self._breakers.consider(subject(TYPE, type_), breaker, counted)

    async def _read_policies(self, types: Collection[str]) -> Policies:
        """The breaker and quarantine policies that the types have registered; this process may not have their code."""
        found = {item.name: item.settings for item in await self._store.types.all()}
        settings = {type_: found.get(type_, {}) for type_ in types}
        return {
            type_: (restored(Breaker, own.get("breaker", {})), restored(Quarantine, own.get("quarantine", {})))
            for type_, own in settings.items()
        }


def _subjects(lane: Lane) -> tuple[str, ...]:
    """What a lost worker is counted under."""
    breaker, quarantine = subject(TYPE, lane.type), subject(QUARANTINE, lane.type)
    groups = of_group(breaker, lane.tenant), of_group(quarantine, lane.tenant)
    return (breaker, quarantine, of_tenant(breaker, lane.tenant), *groups)


def _counts(crashes: Mapping[str, Mapping[str, int]], policies: Policies) -> list[Count]:
    counts = []
    for type_, by_subject in crashes.items():
        breaker, quarantine = policies[type_]
        for name, bad in by_subject.items():
            window = breaker.window if name.startswith(TYPE) else quarantine.window
            counts.append(Count(name, 0, bad, seconds(window)))
    return counts
