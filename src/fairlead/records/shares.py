"""Fair share: accounts with virtual times, the ledger of slot-seconds, run times and wait times."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from fairlead.core.fairness.ledger import Delivery, LedgerEntry, LedgerRow, Unsettled
from fairlead.core.fairness.run_times import RunCount
from fairlead.core.fairness.share import Balance, Charge
from fairlead.core.flush import Flush
from fairlead.core.insight.wait_times import WaitCount
from fairlead.core.jobs.model import Lane
from fairlead.ports.database import Database, Run, RunEach, Script
from fairlead.records.flushes import is_new
from fairlead.records.lanes import KnownLanes

FLUSHES = 86_400.0  # seconds; older flushes are not repeated


class Exchanged(NamedTuple):
    """The accounts charged since an instant, and the instant for the next call."""

    balances: list[Balance]
    now: float


class LaneDepth(NamedTuple):
    """A lane with ready jobs: when the first became ready, and how many there are."""

    lane: Lane
    since: float
    depth: int


class Shares:
    """Charges accounts, and reads and writes the ledger of delivered and entitled slot-seconds."""

    def __init__(self, database: Database, lanes: KnownLanes) -> None:
        self._database = database
        self._lanes = lanes

    async def exchange(self, charges: Sequence[Charge], since: float, flush: Flush | None = None) -> Exchanged:
        """Charge the accounts, and return all accounts charged since an instant of the database's clock."""
        return await self._database.transact(lambda: _exchange_script(charges, since, flush))

    async def record_usage(
        self,
        deliveries: Sequence[Delivery],
        runs: Sequence[RunCount],
        waits: Sequence[WaitCount] = (),
        flush: Flush | None = None,
    ) -> None:
        """Add deliveries and wait times to this minute, and run times to this hour."""
        await self._database.transact(lambda: _usage_script(deliveries, runs, waits, flush))

    async def lane_depths(self, most: int) -> list[LaneDepth]:
        """Return the lanes with ready jobs and how many, each counted up to `most`."""
        found = await self._database.ask("lane_depths", most=most)
        await self._lanes.learn(self._database, (row[0] for row in found))
        return [LaneDepth(self._lanes[row[0]], row[1], row[2]) for row in found]

    async def unsettled_ledger(self, window: float) -> tuple[list[Unsettled], int]:
        """Return deliveries of the last `window` seconds without entitlement, and the present minute."""
        *found, (now, *_) = await self._database.ask("unsettled_ledger", window=window)
        return [Unsettled(*row) for row in found], now

    async def settle_ledger(self, entries: Sequence[LedgerEntry]) -> None:
        """Write entitlements, for entries that no other leader has settled meanwhile."""
        ordered = sorted(entries)
        await self._database.transact(lambda: _step("settle_ledger", [entry._asdict() for entry in ordered]))

    async def ledger(self, window: float) -> list[LedgerRow]:
        """Return entitled and delivered slot-seconds by pool and tenant of the last `window` seconds."""
        return [LedgerRow(*row) for row in await self._database.ask("sum_ledger", window=window)]

    async def tenant_ledger(self, tenant: str, window: float) -> list[LedgerRow]:
        """Return one tenant's entitled and delivered slot-seconds by minute, newest first."""
        return [LedgerRow(*row) for row in await self._database.ask("read_ledger", tenant=tenant, window=window)]

    async def run_times(self, window: float, job_type: str | None = None) -> list[RunCount]:
        """Return run times of all types, or one, of the last `window` seconds, in whole hours."""
        return [RunCount(*row) for row in await self._database.ask("run_counts", window=window, type=job_type)]

    async def prune(self, keep: float) -> None:
        """Remove ledger rows, run and wait times, and unused accounts older than `keep` seconds."""
        await self._database.transact(lambda: _prune_script(keep))

    async def wait_counts(self, window: float) -> list[WaitCount]:
        """Return wait times of jobs started in the last `window` seconds, oldest first."""
        return [WaitCount(*row) for row in await self._database.ask("wait_counts", window=window)]


def _exchange_script(charges: Sequence[Charge], since: float, flush: Flush | None) -> Script[Exchanged]:
    if charges and (yield from is_new(flush)):
        yield RunEach("charge_shares", [charge._asdict() for charge in sorted(charges)])
    *found, (*_, now) = yield Run("read_shares", {"since": since})
    return Exchanged([Balance(*row) for row in found], now)


def _usage_script(
    deliveries: Sequence[Delivery], runs: Sequence[RunCount], waits: Sequence[WaitCount], flush: Flush | None
) -> Script[None]:
    if not (yield from is_new(flush)):
        return
    if deliveries:
        yield RunEach("add_deliveries", [delivery._asdict() for delivery in sorted(deliveries)])
    if runs:
        yield RunEach("add_runs", [run._asdict() for run in sorted(runs)])
    if waits:
        yield RunEach("add_waits", [wait._asdict() for wait in sorted(waits)])


def _step(query: str, rows: list[dict[str, Any]]) -> Script[None]:
    if rows:
        yield RunEach(query, rows)


def _prune_script(keep: float) -> Script[None]:
    for query in ("prune_ledger", "prune_runs", "prune_waits", "prune_accounts"):
        yield Run(query, {"keep": keep})
    yield Run("prune_flushes", {"keep": FLUSHES})
