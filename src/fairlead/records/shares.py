"""Fair share in the store: accounts of tenants, the ledger, run times of types, waits."""

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

FLUSHES = 86_400.0  # seconds; nobody sends again what is older


class Exchanged(NamedTuple):
    """The accounts that were charged since an instant, and the instant to ask from next time."""

    balances: list[Balance]
    now: float


class LaneDepth(NamedTuple):
    """A lane with ready jobs, when the first of them became ready, and how many there are."""

    lane: Lane
    since: float
    depth: int


class Shares:
    """Accounts that workers charge, and the ledger of what was delivered and due."""

    def __init__(self, database: Database, lanes: KnownLanes) -> None:
        self._database = database
        self._lanes = lanes

    async def exchange(self, charges: Sequence[Charge], since: float, flush: Flush | None = None) -> Exchanged:
        """Charge the accounts, and read those that anybody has charged since an instant of the store's clock."""
        return await self._database.transact(lambda: _exchange_script(charges, since, flush))

    async def record_usage(
        self,
        deliveries: Sequence[Delivery],
        runs: Sequence[RunCount],
        waits: Sequence[WaitCount] = (),
        flush: Flush | None = None,
    ) -> None:
        """Add what was delivered and how long jobs waited to this minute, and runs to this hour."""
        await self._database.transact(lambda: _usage_script(deliveries, runs, waits, flush))

    async def lane_depths(self, most: int) -> list[LaneDepth]:
        """The lanes that have ready jobs, and how many; none is counted further than to `most`."""
        found = await self._database.ask("lane_depths", most=most)
        await self._lanes.learn(self._database, (row[0] for row in found))
        return [LaneDepth(self._lanes[row[0]], row[1], row[2]) for row in found]

    async def unsettled_ledger(self, window: float) -> tuple[list[Unsettled], int]:
        """What was delivered within so many seconds and has not been looked at; and which minute it is."""
        *found, (now, *_) = await self._database.ask("unsettled_ledger", window=window)
        return [Unsettled(*row) for row in found], now

    async def settle_ledger(self, entries: Sequence[LedgerEntry]) -> None:
        """Write what was due, for the entries that nobody else has settled meanwhile."""
        ordered = sorted(entries)
        await self._database.transact(lambda: _step("settle_ledger", [entry._asdict() for entry in ordered]))

    async def ledger(self, window: float) -> list[LedgerRow]:
        """What each tenant was due and got in each pool within the last so many seconds."""
        return [LedgerRow(*row) for row in await self._database.ask("sum_ledger", window=window)]

    async def tenant_ledger(self, tenant: str, window: float) -> list[LedgerRow]:
        """What one tenant was due and got, minute by minute, the newest first."""
        return [LedgerRow(*row) for row in await self._database.ask("read_ledger", tenant=tenant, window=window)]

    async def run_times(self, window: float, job_type: str | None = None) -> list[RunCount]:
        """How long the types, or one of them, ran within the last so many seconds, in whole hours."""
        return [RunCount(*row) for row in await self._database.ask("run_counts", window=window, type=job_type)]

    async def prune(self, keep: float) -> None:
        """Remove what is older than so many seconds from ledger, runs and waits, and accounts unused for so long."""
        await self._database.transact(lambda: _prune_script(keep))

    async def wait_counts(self, window: float) -> list[WaitCount]:
        """How long jobs waited that were started within the last so many seconds, oldest first."""
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
