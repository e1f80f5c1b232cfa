"""Counts of good and bad runs by subject and time, for breakers, quarantine and retry budgets."""

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.core.flush import Flush
from fairlead.core.protection.run_counts import BUCKETS, Count, Counted, Sums, base_of
from fairlead.ports.database import Database, RunEach, Script
from fairlead.records.flushes import is_new


class RunCounts:
    """Adds and reads the run counts of all workers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count(self, counts: Sequence[Count], flush: Flush | None = None) -> Counted:
        """Add runs to their subjects, and return the sums of these subjects."""
        return await self._database.transact(lambda: _count_script(counts, flush))

    async def read(self) -> Counted:
        """Return the sums of all subjects with runs in their span."""
        *found, (*_, now) = await self._database.ask("read_run_counts")
        return Counted({row[0]: Sums(*row[1:4]) for row in found}, now)

    async def forget(self, subjects: Iterable[str]) -> None:
        """Count these subjects from nothing, with their parts by tenant and group of tenants."""
        wanted = set(subjects)
        known = (await self.read()).sums
        parts = [{"subject": name} for name in known if name in wanted or base_of(name) in wanted]
        if parts:
            await self._database.run_each("forget_runs", parts)


def _count_script(counts: Sequence[Count], flush: Flush | None) -> Script[Counted]:
    if (yield from is_new(flush)):
        yield RunEach("count_runs", [_count_row(count) for count in counts])
    found = yield RunEach("sum_runs", [{"subject": subject} for subject in sorted({count.subject for count in counts})])
    return Counted({row[0]: Sums(*row[1:4]) for row in found}, found[0][4])


def _count_row(count: Count) -> dict[str, Any]:
    return {
        "subject": count.subject,
        "good": count.good,
        "bad": count.bad,
        "span": count.span,
        "width": count.span / BUCKETS,
        "ahead": count.ahead,
    }
