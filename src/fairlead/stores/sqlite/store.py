"""The store port on SQLite."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, TypeVar

from fairlead.core.jobs.model import Claim, Enqueued, Lease, NewJob, Quota, Settlement
from fairlead.errors import ConfigError
from fairlead.ports.database import Rows, Run, RunEach, Script
from fairlead.ports.jobs import AdmissionCheck, BlockingTransaction, DepthBound, JobStore, OpenTransaction
from fairlead.records import rows
from fairlead.records.lanes import KnownLanes, distinct_lanes
from fairlead.stores.pruning import ALL, LATE, groups, remove_group
from fairlead.stores.settling import succeeded_before, unanswered_successes
from fairlead.stores.sqlite import verbs
from fairlead.stores.sqlite.address import parse
from fairlead.stores.sqlite.connection import query
from fairlead.stores.sqlite.database import CallingThread, DatabaseFile
from fairlead.stores.sqlite.leasebook import SqliteLeaseBook
from fairlead.stores.sqlite.migrate import apply_missing, check_schema
from fairlead.stores.sqlite.wakeups import LocalWakeups, SocketWakeups
from fairlead.stores.within import run_within

SLICE = 250  # rows that one transaction of a pruning removes

Value = TypeVar("Value")


class SqliteStore(JobStore):
    """All verbs on one database of this process; `clock` is the database's now."""

    writers = 1

    def __init__(self, url: str, lanes: KnownLanes, clock: Callable[[], float] = time.time) -> None:
        self._lanes = lanes
        self._url = url
        self._clock = clock
        self._address = parse(url)
        self._database = DatabaseFile(self._address, clock)
        self._wakeups = LocalWakeups() if self._address.in_memory else SocketWakeups(self._address.path)

    async def open(self) -> None:
        """Connect, and check that the schema is the one this version needs; one in memory is made here."""
        await self._database.start()
        try:
            if self._address.in_memory:
                await self._database.run(apply_missing)
            await self._database.read(check_schema)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Give back all connections."""
        await self._database.stop()

    def blocking(self) -> "SqliteStore":
        """The same store with verbs that run on the calling thread, and whose coroutines therefore never wait."""
        own = copy(self)
        own._database = CallingThread(self._database)
        return own

    def lease_book(self) -> SqliteLeaseBook:
        """A lease book on a connection of its own; a database in memory has only one."""
        if self._address.in_memory:
            return SqliteLeaseBook(self._database)
        return SqliteLeaseBook(self._url, self._clock)

    async def enqueue(
        self,
        jobs: Sequence[NewJob],
        again: bool = False,
        wake: Collection[str] = (),
        bounds: Sequence[DepthBound] = (),
    ) -> list[Enqueued]:
        """Store the jobs in one transaction, and hint when it is committed."""
        new = self._lanes.new_among(distinct_lanes(jobs))
        answers = await self._database.run(verbs.enqueue(jobs, new, again, bounds))
        self._lanes.add(new)
        if wake:
            self._wakeups.wake(set(wake))
        return answers

    def enqueue_within(self, connection: Any, jobs: Sequence[NewJob], admission: AdmissionCheck | None = None) -> Any:
        """Store the jobs in the caller's own open transaction."""
        if self._address.in_memory:
            raise ConfigError("a database in memory has no other connection; use a file to enqueue within one's own")
        return run_within(connection, "sqlite", query, jobs, self._clock(), self._address.path, admission)

    async def claim(self, quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
        """Make the lease's owner the owner of up to the given number of jobs of each lane."""
        found = await self.transact(lambda: verbs.claim_script(quotas, lease))
        await self._lanes.learn(self, {row[1] for row in found})
        return rows.claims_of(found, self._lanes.__getitem__, lease)

    def claiming(self, quotas: Sequence[Quota], lease: Lease) -> Script[Rows]:
        """The statements of a claim."""
        return verbs.claim_script(quotas, lease)

    async def settle(self, settlements: Sequence[Settlement], expired_only: bool = False) -> set[str]:
        """Apply the settlements whose hold still holds; returns their ids."""
        settled = await self.transact(lambda: verbs.settle_script(settlements, expired_only))
        if not expired_only and (missing := unanswered_successes(settlements, settled)):
            settled |= succeeded_before(
                await self.ask_each("read_many", [{"id": job_id} for job_id in missing]), missing
            )
        return settled

    async def prune(self, retention: Mapping[str, float], default_retention: float, limit: int) -> int:
        """Delete finished jobs past retention, in slices between which other writers get their turn."""
        types = [row[0] for row in await self.ask("finished_types")]
        marks = dict(await self.ask("read_marks"))
        ((now,),) = await self.ask("read_clock")
        removed, moved = 0, {ALL: now - default_retention - LATE}
        for group in groups(types, retention, default_retention, marks, now):
            count, mark = await remove_group(group, limit - removed, self._remove_history)
            removed += count
            moved |= dict.fromkeys(group.types, mark)
        await self.run_each("move_marks", [{"type": name, "pruned_to": to} for name, to in moved.items()])
        await self.run("forget_keys", limit=min(limit, SLICE))
        await self.run("forget_workers")
        await self.run("forget_run_counts")
        return removed

    async def _remove_history(
        self, types: Sequence[str], after: float, before: float, limit: int
    ) -> tuple[int, float | None]:
        removed, last = 0, None
        while removed < limit:
            asked = min(SLICE, limit - removed)
            count, last = await self._database.run(verbs.prune_history(types, after, before, asked))
            removed += count
            if count < asked:
                return removed, None
        return removed, last

    async def wake(self, pools: Iterable[str]) -> None:
        """Hint to listening workers that these pools may have work."""
        self._wakeups.wake(set(pools))

    async def listen(self, on_wake: Callable[[str], None]) -> None:
        """Call back with the pool at each hint, until cancelled; heals itself."""
        await self._wakeups.listen(on_wake)

    async def begin(self) -> OpenTransaction:
        """Refused: one open transaction of a handler would stop every other writer."""
        return self.begin_blocking()

    def begin_blocking(self) -> BlockingTransaction:
        """Refused as well."""
        raise ConfigError(
            "ctx.transaction() needs PostgreSQL: SQLite lets one transaction write at a time, so one that stays open "
            "while a handler runs would stop all claims, settlements and renewals of leases; make the handler's "
            "writes repeatable by ctx.idempotency_key, or remember them with ctx.once"
        )

    async def facts(self) -> dict[str, Any]:
        """What an operator wants to know about this database."""
        return await self._database.read(verbs.facts(self._address))

    async def transact(self, make_script: Callable[[], Script[Value]]) -> Value:
        """Run the script in a transaction and return its value."""
        return await self._database.run(verbs.scripted(make_script))

    async def ask(self, name: str, **parameters: Any) -> Rows:
        """Run one statement that only reads."""
        return await self._database.read(verbs.running(Run(name, parameters)))

    async def ask_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one statement that only reads, for each row of the batch."""
        return await self._database.read(verbs.running(RunEach(name, list(batch))))

    async def run(self, name: str, **parameters: Any) -> Rows:
        """Run one statement that writes."""
        return await self._database.run(verbs.running(Run(name, parameters)))

    async def run_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        """Run one statement that writes, for each row of the batch."""
        return await self._database.run(verbs.running(RunEach(name, list(batch))))
