"""What a store keeps for those who look: how far runs have come, how long jobs waited, what was done to a type.

Progress is written by a worker for many runs at once, each guarded like a settlement: by owner, fence and lease. It is
read with the job while no later run has begun, and goes with the job's record. Waits are added up by minute, pool and
bucket, as the ledger is; a count that was told twice, or never, after a cut is an error in a picture and nothing else.
"""

from collections.abc import Sequence
from typing import Protocol

from fairlead.core.insight.audit import AuditEntry
from fairlead.core.insight.wait_times import WaitCount
from fairlead.core.jobs.progress import RunReport


class ViewStore(Protocol):
    """The verbs about what is looked at, a part of every store."""

    async def report_progress(self, reports: Sequence[RunReport]) -> set[str]:
        """Keep the reports of runs that own their jobs; returns the ids of those."""

    async def wait_counts(self, window: float) -> list[WaitCount]:
        """How long jobs waited that were started within the last so many seconds, in whole minutes, oldest first."""

    async def audit_about(self, target: str, limit: int) -> list[AuditEntry]:
        """Entries of the audit about one target, newest first."""
