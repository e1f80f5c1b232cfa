"""Counts the ready jobs for the rules on overload, about once a second; without a rule it waits for a hint."""

import time

from fairlead.core.protection.backpressure import ALL, KINDS, Policy
from fairlead.core.protection.controls import Controls
from fairlead.records.store import Store

INTERVAL = 1.0
WITHOUT_RULE = 15.0  # a hint about changed controls comes sooner
SHARE = 20.0  # counting reads all live jobs, so it may take at most a twentieth of the time


class Sampler:
    """Writes backlog samples, which clients read for backpressure."""

    name = "sample"

    def __init__(self, store: Store) -> None:
        self._store = store
        self._controls = Controls()
        self._policy = Policy(self._controls)
        self._written = False

    async def run_once(self) -> float:
        """Take one sample; returns the seconds until the next."""
        changed = await self._store.controls.read(self._controls.version)
        if self._controls.follow(changed.controls) & KINDS:
            self._policy = Policy(self._controls)
        if self._policy.overload is not None:
            return await self._sample()
        if self._written:
            await self._store.backpressure.write_backlog({})
            self._written = False
        return WITHOUT_RULE

    async def _sample(self) -> float:
        began = time.monotonic()
        waiting = await self._store.backpressure.waiting()
        figures = {ALL: sum(ready for ready, _ in waiting.values())}
        spent = time.monotonic() - began
        await self._store.backpressure.write_backlog(figures, spent)
        self._written = True
        return max(INTERVAL, spent * SHARE)
