"""Keeps what this worker used in step with what the store and other workers know of it.

Every quarter of a second the charges are corrected by what the runs really took, in memory; and sooner when runs end
of which nobody knew how long they take, since until then their tenant has paid for a careful guess and its next job
waits for its turn. Every half second charges are exchanged through the store, and at once when long jobs were begun,
since other workers should know before they choose. Every few seconds what was delivered goes to the ledger. The last
two are repeated less often where they cost more than a hundredth of the time, as with thousands of tenants.

When the store is away, charges wait: what may have arrived is sent again as it was, so that it counts once. When the
worker crashes, those of the last half second are forgotten.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from uuid import uuid4

from fairlead.core.fairness.ledger import Delivery
from fairlead.core.fairness.queue import FairQueue
from fairlead.core.fairness.run_times import RunCount
from fairlead.core.fairness.share import Balance, Charge
from fairlead.core.fairness.usage import SlotUsage
from fairlead.core.flush import Flush
from fairlead.core.insight.wait_times import WaitCount
from fairlead.core.jobs.model import Lane
from fairlead.records.store import Store
from fairlead.runtime.periodic import Periodic

SETTLE_EVERY = 0.25
EXCHANGE_EVERY = 0.5
RECORD_EVERY = 5.0
AT_MOST_EVERY = 0.05
THRIFT = 100  # times what something cost, it waits before it is done again
OVERLAP = 2.0  # seconds; a charge may become visible so long after its instant
LEARN_FROM = 24 * 3600.0

Usage = tuple[list[Delivery], list[RunCount], list[WaitCount]]


class Accounts:
    """One worker's part in the shares. `running` are the jobs in its hands and for how long each has run."""

    def __init__(
        self,
        store: Store,
        queue: FairQueue,
        usage: SlotUsage,
        pools: frozenset[str],
        running: Callable[[], Iterable[tuple[Lane, float]]],
        is_reserved: bool = False,
        long_jobs: asyncio.Event | None = None,
    ) -> None:
        self._store = store
        self._queue = queue
        self._usage = usage
        self._pools = pools
        self._running = running
        self._is_reserved = is_reserved
        self._delivered: dict[tuple[str, str], float] = {}
        self._untold: list[Charge] = []
        self._exchanges = Flush(str(uuid4()), 1)
        self._unrecorded: Usage | None = None
        self._records = Flush(str(uuid4()), 1)
        self._heard = 0.0
        self._balances: set[Balance] = set()  # that were heard last time
        self._has_learned = False
        self._settled_at = time.monotonic()
        self.repeated = (
            Periodic(self._keep_in_step, EXCHANGE_EVERY, AT_MOST_EVERY, THRIFT, long_jobs),
            Periodic(self._record, RECORD_EVERY, AT_MOST_EVERY, THRIFT),
        )

    def settle_if_due(self, now: float) -> None:
        """Settle now and then, and at once where runs have ended of which nobody knew how long they take."""
        if now >= self._settled_at + SETTLE_EVERY or self._usage.knows_more:
            self._settle(now)

    async def flush(self) -> None:
        """Bring everything to the store, at the end."""
        self._settle(time.monotonic())
        await self._exchange()
        await self._record()

    async def _keep_in_step(self) -> None:
        if self._has_learned:
            await self._exchange()
        else:
            await self._learn()
            self._has_learned = True

    async def _learn(self) -> None:
        """Begin with what others have measured, and where they are."""
        for count in await self._store.shares.run_times(LEARN_FROM):
            self._usage.estimates.learn(count.type, count.runs, count.seconds)
        await self._exchange(always=True)

    def _settle(self, now: float) -> None:
        self._settled_at = now
        usages = self._usage.settle(self._running())
        self._queue.correct_all((usage.lane, usage.charge, usage.unearned) for usage in usages)
        for usage in usages:
            if usage.delivered > 0:
                key = (usage.lane.pool, usage.lane.tenant)
                self._delivered[key] = self._delivered.get(key, 0.0) + usage.delivered

    async def _exchange(self, always: bool = False) -> None:
        """Slots that are reserved for a tenant are not charged to its share of the others."""
        again, self._untold = bool(self._untold), self._untold or self._queue.tell()
        if self._is_reserved or not (self._untold or self._queue or always):
            self._untold = []
            return
        answer = await self._store.shares.exchange(self._untold, self._heard, self._exchanges)
        self._untold, self._exchanges = [], self._exchanges.next()
        self._heard = answer.now - OVERLAP
        balances = {balance for balance in answer.balances if balance.pool in self._pools}
        self._queue.hear(balances - self._balances)
        self._balances = balances
        if again:
            await self._exchange()

    async def _record(self) -> None:
        """What could not be told last time goes as it was, since it may have arrived; then what is new."""
        if self._unrecorded is not None:
            await self._tell_usage(self._unrecorded)
        usage = self._take_usage()
        if any(usage):
            await self._tell_usage(usage)

    async def _tell_usage(self, usage: Usage) -> None:
        self._unrecorded = usage
        await self._store.shares.record_usage(*usage, flush=self._records)
        self._unrecorded, self._records = None, self._records.next()

    def _take_usage(self) -> Usage:
        delivered, self._delivered = self._delivered, {}
        deliveries = [self._delivery(*item) for item in delivered.items()]
        return deliveries, self._usage.take_runs(), self._usage.waits.take()

    def _delivery(self, key: tuple[str, str], amount: float) -> Delivery:
        return Delivery(*key, 0.0, amount) if self._is_reserved else Delivery(*key, amount)
