"""What a store does for fair share: accounts, the ledger, and how long types run.

Workers charge accounts and read what others have charged, on their own time and never within a claim. Charges add up,
whatever their order. A write whose answer was lost is sent again as the same flush, which counts once; what a worker
that crashed had not told is an error of fairness for a moment and of nothing else. What was delivered goes to the
ledger in the same manner.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fairlead.core.fairness.ledger import Delivery, Entry, Line, Unsettled
from fairlead.core.fairness.run_times import RunCount
from fairlead.core.fairness.share import Balance, Charge
from fairlead.core.flush import Flush
from fairlead.core.insight.wait_times import WaitCount
from fairlead.core.jobs.model import Lane


class Exchanged(NamedTuple):
    """The accounts that were charged since an instant, and the instant to ask from next time."""

    balances: list[Balance]
    now: float


class LaneDepth(NamedTuple):
    """A lane with ready jobs, when the first of them became ready, and how many there are."""

    lane: Lane
    since: float
    depth: int


class ShareStore(Protocol):
    """The verbs about fair share, a part of every store."""

    async def exchange_shares(self, charges: Sequence[Charge], since: float, flush: Flush | None = None) -> Exchanged:
        """Charge the accounts, unless this flush did, and read those that anybody has charged since an instant of the
        store's clock."""

    async def record_usage(
        self,
        deliveries: Sequence[Delivery],
        runs: Sequence[RunCount],
        waits: Sequence[WaitCount] = (),
        flush: Flush | None = None,
    ) -> None:
        """Add what was delivered and how long jobs waited to this minute, and runs to this hour, unless this flush
        did."""

    async def lane_depths(self, most: int) -> list[LaneDepth]:
        """The lanes that have ready jobs, and how many; none is counted further than to `most`."""

    async def unsettled_ledger(self, window: float) -> tuple[list[Unsettled], int]:
        """What was delivered within so many seconds and has not been looked at; and which minute it is."""

    async def settle_ledger(self, entries: Sequence[Entry]) -> None:
        """Write what was due, for the entries that nobody else has settled meanwhile."""

    async def ledger(self, window: float) -> list[Line]:
        """What each tenant was due and got in each pool within the last so many seconds."""

    async def tenant_ledger(self, tenant: str, window: float) -> list[Line]:
        """What one tenant was due and got, minute by minute, the newest first."""

    async def run_counts(self, window: float, job_type: str | None = None) -> list[RunCount]:
        """How long the types, or one of them, ran within the last so many seconds, in whole hours."""

    async def prune_shares(self, keep: float) -> None:
        """Remove what is older than so many seconds from ledger, runs and waits, and accounts unused for so long."""
