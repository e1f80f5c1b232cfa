"""Lost workers count against the types that they ran: one of these may be what kills them.

Each lost worker counts once for a type, however many jobs of it were lost: a machine that goes down under a thousand
jobs says no more about them than one that goes down under one.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from fairlead.core.breaker import Breaker, opened, why_open
from fairlead.core.durations import seconds
from fairlead.core.health import QUARANTINE, TYPE, Count, subject
from fairlead.core.model import Held
from fairlead.core.quarantine import Quarantine
from fairlead.core.stored import restored
from fairlead.ports.store import Store
from fairlead.telemetry.events import Telemetry
from fairlead.worker.breakers import Breakers
from fairlead.worker.controls import ControlView


class Crashes:
    """Counts crashes, and opens the breaker of a type that has too many."""

    def __init__(self, store: Store, telemetry: Telemetry) -> None:
        self._store = store
        self._view = ControlView(store)
        self._breakers = Breakers(store, self._view, telemetry)

    async def count(self, lost: Sequence[Held]) -> None:
        """Count the crashes that these jobs were lost by."""
        crashes = Counter(type_ for _, type_ in {(job.hold.owner, job.lane.type) for job in lost})
        policies = await self._policies(crashes)
        counts = []
        for type_, bad in crashes.items():
            breaker, quarantine = policies[type_]
            counts.append(Count(subject(TYPE, type_), 0, bad, seconds(breaker.window)))
            counts.append(Count(subject(QUARANTINE, type_), 0, bad, seconds(quarantine.window)))
        await self._view.refresh()
        counted = await self._store.count_runs(counts)
        for type_, (breaker, _) in policies.items():
            name = subject(TYPE, type_)
            why = why_open(breaker, counted.sums[name])
            if why is not None and self._breakers.get(name) is None:
                await self._breakers.open(name, opened(breaker, why, counted.now))

    async def _policies(self, types: Collection[str]) -> dict[str, tuple[Breaker, Quarantine]]:
        """As the types were registered; this process may not have their code."""
        found = {item.name: item.settings for item in await self._store.job_types()}
        settings = {type_: found.get(type_, {}) for type_ in types}
        return {
            type_: (restored(Breaker, own.get("breaker", {})), restored(Quarantine, own.get("quarantine", {})))
            for type_, own in settings.items()
        }
