"""Keeps the worker's shares in step with what its jobs took, with the store, and so with other workers.

Charges are corrected by real run times before each claim and at least every quarter of a second, in memory, in at most
a hundredth of the time: until then a tenant whose jobs take longer than before gets more slots than its share. Where
charges were guesses, they are corrected up to ten times as often, since the tenant's next job waits for it. Charges are
exchanged through the store every half second, and before a claim of long jobs or at once after it, so that two workers
do not both start one where a tenant is due one. What was delivered goes to the ledger every few seconds. Exchanges and
ledger wait longer where they cost more than a hundredth of the time, as with thousands of tenants.

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
SETTLE_LEAST = 0.02  # seconds between settlements, except where charges were guesses
EXCHANGE_EVERY = 0.5
RECORD_EVERY = 5.0
AT_MOST_EVERY = 0.05
ANNOUNCE_LEAST = 0.02  # seconds between exchanges before claims
THRIFT = 100  # times what something cost, it waits before it is done again
HASTE = 10  # the same, for settlements where charges were guesses and exchanges before claims
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
        self._settling_took = 0.0
        self._exchanging = asyncio.Lock()
        self._announce_again_at = 0.0
        self.repeated = (
            Periodic(self._keep_in_step, EXCHANGE_EVERY, AT_MOST_EVERY, THRIFT, long_jobs),
            Periodic(self._record, RECORD_EVERY, AT_MOST_EVERY, THRIFT),
        )

    def settle_if_due(self, now: float) -> None:
        """Correct the charges if that is due: as often as it is cheap, sooner where charges were guesses."""
        took = self._settling_took
        pause = HASTE * took if self._usage.knows_more else max(SETTLE_LEAST, THRIFT * took)
        if now >= self._settled_at + min(SETTLE_EVERY, pause):
            self._settle(now)

    async def announce(self) -> bool:
        """Exchange charges before a claim; False if that was done before a claim a moment ago."""
        began = time.monotonic()
        if began < self._announce_again_at:
            return False
        await self._exchange()
        now = time.monotonic()
        self._announce_again_at = now + max(ANNOUNCE_LEAST, HASTE * (now - began))
        return True

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
            self._usage.estimates.learn_type(count.type, count.runs, count.seconds)
        await self._exchange(always=True)

    def _settle(self, now: float) -> None:
        self._settled_at, began = now, time.monotonic()
        usages = self._usage.settle(self._running())
        self._queue.correct_all((usage.lane, usage.charge, usage.unearned) for usage in usages)
        for usage in usages:
            if usage.delivered > 0:
                key = (usage.lane.pool, usage.lane.tenant)
                self._delivered[key] = self._delivered.get(key, 0.0) + usage.delivered
        self._settling_took = time.monotonic() - began

    async def _exchange(self, always: bool = False) -> None:
        """Exchange charges with other workers; one exchange at a time, since a lost one is repeated as it was."""
        async with self._exchanging:
            await self._exchange_now(always)

    async def _exchange_now(self, always: bool = False) -> None:
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
            await self._exchange_now()

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
