"""Counts what waits, for clients that must not submit without bound; idle unless a bound is set."""

import time

from fairlead.core.protection.backpressure import KINDS, TENANT, Policy, backlog_of
from fairlead.core.protection.controls import Controls
from fairlead.records.store import Store

INTERVAL = 1.0
SHARE = 20.0  # counting reads all live jobs: it may take a twentieth of the time


class Sampler:
    """Writes the figures that admission goes by."""

    name = "sample"

    def __init__(self, store: Store) -> None:
        self._store = store
        self._controls = Controls()
        self._policy = Policy(self._controls)
        self._written = False

    async def run_once(self) -> float:
        """Take one sample; returns the seconds until the next."""
        changed = await self._store.controls.read(self._controls.version)
        if self._controls.follow(changed.controls) & (KINDS | {TENANT}):
            self._policy = Policy(self._controls)
        if self._policy.needs_backlog:
            return await self._sample()
        if self._written:
            await self._store.backpressure.write_backlog({})
            self._written = False
        return INTERVAL

    async def _sample(self) -> float:
        began = time.monotonic()
        figures = backlog_of(self._policy, await self._store.backpressure.waiting())
        spent = time.monotonic() - began
        await self._store.backpressure.write_backlog(figures, spent)
        self._written = True
        return max(INTERVAL, spent * SHARE)
