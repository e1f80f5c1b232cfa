"""What running handlers say about how far they have come, on its way to the store.

A report only replaces the one before it. About once a second those that are new leave together in one statement, and
none does while nobody reports. The last word of a run leaves just before its settlement, since a store takes reports of
running jobs only. When the store is away, reports wait for newer ones to replace them.
"""

import asyncio
import contextlib
from collections.abc import Collection

from fairlead.core.jobs.model import Claim
from fairlead.core.jobs.progress import ProgressReport, RunReport
from fairlead.errors import LeaseLost, StoreError
from fairlead.records.store import Store
from fairlead.runtime.periodic import Periodic

EVERY = 1.0
UNASKED = 60.0
PATIENCE = 2.0

Run = tuple[str, int]


class ProgressBook:
    """The reports of one worker's runs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._new: dict[Run, RunReport] = {}
        self._sending: dict[Run, RunReport] = {}
        self._turn = asyncio.Lock()  # an older report must not arrive after a newer one
        self._arrived = asyncio.Event()
        self.repeated = Periodic(self._flush, UNASKED, least=EVERY, hurry=self._arrived)
        self._rung = False

    @property
    def is_busy(self) -> bool:
        """Whether something was said that is not stored yet."""
        return bool(self._new or self._sending)

    def report(self, claim: Claim, told: ProgressReport) -> None:
        """Take a report over, from any thread; LeaseLost where the worker has ended."""
        owner, token = claim.lease
        self._new[claim.id, claim.fence] = RunReport(claim.id, claim.fence, owner, token, *told)
        if not self._rung:
            self._rung = True
            try:
                self._loop.call_soon_threadsafe(self._arrived.set)
            except RuntimeError as error:
                raise LeaseLost("the worker that ran this job has ended; nobody hears what it reports") from error

    async def _flush(self) -> None:
        self._rung = False
        await self._send(list(self._new))

    async def last_words(self, runs: Collection[Run]) -> None:
        """Bring what these runs have said to the store, before they are settled."""
        said = [run for run in runs if run in self._new]
        if said or any(run in self._sending for run in runs):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._send(said)
        for run in runs:
            self._new.pop(run, None)

    async def _send(self, runs: Collection[Run]) -> None:
        async with self._turn:
            self._sending = {run: self._new.pop(run) for run in runs if run in self._new}
            try:
                if self._sending:
                    await self._store.run_state.report_progress(list(self._sending.values()))
            except StoreError:
                for run, told in self._sending.items():
                    self._new.setdefault(run, told)
                self._ring_again()
            finally:
                self._sending = {}

    def _ring_again(self) -> None:
        self._rung = True
        self._arrived.set()
