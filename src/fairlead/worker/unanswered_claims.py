"""Claims whose answer never arrived: jobs that the store gave to this worker without its knowledge.

A connection that breaks in the middle of a claim leaves open whether the claim was stored. If it was, this worker owns
jobs that it knows nothing of, and its lease would keep everybody else from them for as long as it lives. So the token
of such a claim is kept, and what was claimed under it is given back.

A statement may be stored even after its caller gave up on it, so a token is looked for again for a while.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.model import Ending, Lease, Outcome
from fairlead.core.jobs.settle import settle
from fairlead.ports.jobs import LIMITS_HINT
from fairlead.records.store import Store
from fairlead.runtime.boot_clock import boot_time
from fairlead.runtime.periodic import Periodic
from fairlead.telemetry.events import StraysReturned, Telemetry

LOOK_EVERY = 1.0
DOUBT = 120.0  # seconds; far longer than any statement may take
MOST = 1_000  # tokens; while the store is away there is one for every try
ANY = Policies()


class UnansweredClaims:
    """Finds the jobs of such claims and gives them back, without burning an attempt."""

    def __init__(self, store: Store, telemetry: Telemetry) -> None:
        self._store = store
        self._telemetry = telemetry
        self._random = Random()
        self._doubtful: dict[Lease, float] = {}
        self.repeated = Periodic(self._look_again, LOOK_EVERY)

    @contextmanager
    def doubting(self, lease: Lease) -> Iterator[Lease]:
        """Within this, a claim under the lease either answers or is doubtful afterwards."""
        try:
            yield lease
        except BaseException:
            self._doubtful[lease] = boot_time() + DOUBT
            while len(self._doubtful) > MOST:
                del self._doubtful[next(iter(self._doubtful))]
            raise

    async def _look_again(self) -> None:
        """Look while there is doubt; nothing is forgotten before the store has answered."""
        if self._doubtful:
            await self.look()
            self._forget(boot_time())

    async def look(self) -> None:
        """Give back what was claimed under doubtful leases."""
        found = await self._store.reader.claimed_under(list(self._doubtful))
        if not found:
            return
        returned = await self._store.jobs.settle(
            [settle(job, Outcome(Ending.RELEASED), ANY, self._random) for job in found]
        )
        self._telemetry.emit(StraysReturned(len(returned)))
        await self._store.jobs.wake({LIMITS_HINT, *(job.lane.pool for job in found)})

    def _forget(self, now: float) -> None:
        for lease in [lease for lease, until in self._doubtful.items() if until < now]:
            del self._doubtful[lease]
