"""Backpressure: sampled backlogs of tenants, and counts of submissions that were not accepted."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairlead.core.jobs.model import Lane
from fairlead.ports.database import Database, Run, RunEach, Script
from fairlead.ports.jobs import SampledBacklog
from fairlead.records.lanes import KnownLanes


class Backpressure:
    """Reads and writes the figures that bounds on submissions are checked against."""

    def __init__(self, database: Database, lanes: KnownLanes) -> None:
        self._database = database
        self._lanes = lanes

    async def waiting(self) -> dict[Lane, tuple[int, int]]:
        """Return for each lane how many jobs are ready, and how many wait in all."""
        found = await self._database.ask("count_waiting")
        await self._lanes.learn(self._database, (row[0] for row in found))
        return {self._lanes[lane]: (ready, all_) for lane, ready, all_ in found}

    async def write_backlog(self, backlog: Mapping[str, int], age: float = 0.0) -> None:
        """Replace all sampled backlogs."""
        await self._database.transact(lambda: _replace(backlog, age))

    async def read_backlog(self, tenants: Iterable[str]) -> dict[str, SampledBacklog]:
        """Return the sampled backlogs of these tenants."""
        return backlog_of(await self._database.ask_each("read_backlog", [{"tenant": tenant} for tenant in tenants]))

    async def waiting_of(self, tenant: str, most: int) -> int:
        """Return how many jobs of a tenant wait now, counted up to `most`."""
        return int((await self._database.ask("count_waiting_of", tenant=tenant, most=most))[0][0])

    async def count_admissions(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Add to the counts of refused, deferred and shed jobs, by (tenant, code)."""
        batch = [{"tenant": tenant, "code": code, "jobs": jobs} for (tenant, code), jobs in counts.items()]
        await self._database.run_each("count_admissions", batch)

    async def admissions(self) -> dict[tuple[str, str], int]:
        """Return the counts of refused, deferred and shed jobs, by (tenant, code)."""
        return {(tenant, code): jobs for tenant, code, jobs in await self._database.ask("read_admissions")}


def backlog_of(found: Sequence[Any]) -> dict[str, SampledBacklog]:
    """Convert the rows of read_backlog."""
    return {tenant: SampledBacklog(waiting, age) for tenant, waiting, age in found}


def _replace(backlog: Mapping[str, int], age: float) -> Script[None]:
    batch = [{"tenant": name, "waiting": count, "age": age} for name, count in sorted(backlog.items())]
    if batch:
        yield RunEach("write_backlog", batch)
    yield Run("clear_backlog", {"kept": json.dumps(list(backlog))})
