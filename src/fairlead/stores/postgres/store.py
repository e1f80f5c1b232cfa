"""The store port on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.errors import UniqueViolation
from pydantic_core import to_json

from fairlead.core.jobs.model import Claim, Enqueued, Held, Lane, Lease, NewJob, Quota, Settlement
from fairlead.core.jobs.settle import is_followed
from fairlead.core.jobs.states import FINAL
from fairlead.errors import StoreRefused, StoreUnavailable
from fairlead.ports.database import Rows, Run, Script, Settle, Statement
from fairlead.ports.jobs import AdmissionCheck, BlockingTransaction, DepthBound, JobStore, OpenTransaction
from fairlead.records import rows
from fairlead.records.enqueue import enqueue_script, waking
from fairlead.records.following import follow_script
from fairlead.records.jobs import JobReader
from fairlead.records.lanes import KnownLanes, distinct_lanes, ensure_lanes
from fairlead.stores.migrations import needed_version
from fairlead.stores.postgres import partitions
from fairlead.stores.postgres.arrays import Texts, plain_array
from fairlead.stores.postgres.connection import (
    DEADLINE,
    POOL_SIZE,
    conninfo,
    heeding,
    is_pooled,
    make_pool,
    query,
    translating,
)
from fairlead.stores.postgres.listening import listen
from fairlead.stores.postgres.migrate import MIGRATIONS, check_schema
from fairlead.stores.postgres.transactions import Transactions
from fairlead.stores.within import drive_async, run_within

NOBODY = "00000000-0000-0000-0000-000000000000"
SHARD = 0
LOCK = "lock_depth"

Value = TypeVar("Value")


def _text(values: Any) -> str:
    """Values as the JSON text that a statement takes."""
    return to_json(values).decode()


def _numbers(values: Iterable[int]) -> str:
    return plain_array(list(map(str, values)))


def _lane_ids(jobs: Sequence[NewJob]) -> list[str]:
    """The ids of the jobs' lanes as text; neighbours mostly share a lane, whose id is not computed twice."""
    ids, last, text = [], None, ""
    for job in jobs:
        if job.lane is not last:
            last, text = job.lane, str(job.lane.id)
        ids.append(text)
    return ids


def _plain_insert(
    ids: Sequence[str], lanes: Sequence[str], payloads: Sequence[str], wake: Collection[str]
) -> tuple[str, dict[str, Any]]:
    """The statement that stores jobs that nothing is special about, and what it takes."""
    given: dict[str, Any] = {"ids": plain_array(ids), "lanes": plain_array(lanes), "payloads": Texts(payloads)}
    return ("insert_plain_waking", {**given, "pools": _text(list(wake))}) if wake else ("insert_plain", given)


def _claim_parameters(quotas: Sequence[Quota], lease: Lease) -> dict[str, Any]:
    wanted = [quota._asdict() for quota in quotas]
    return {"rows": _text(wanted), "owner": lease.owner, "lease": lease.token}


class PostgresStore(JobStore):
    """All verbs on one pool of connections; leases and notifications have connections of their own."""

    writers = POOL_SIZE

    def __init__(self, url: str, lanes: KnownLanes, listen_url: str | None = None) -> None:
        self._lanes = lanes
        self._url = url
        self._conninfo = conninfo(url)
        self._listen_conninfo = None if listen_url is None else conninfo(listen_url)
        self._pool = make_pool(url)
        self._transactions = Transactions(url, self._joined)

    async def open(self) -> None:
        """Connect, and check that the schema is the one this version needs."""
        with translating():
            async with await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
                await check_schema(connection)
        self._pool = make_pool(self._url)
        await self._pool.open()

    async def close(self) -> None:
        """Give back all connections."""
        await self._transactions.close()
        await self._pool.close(timeout=5)

    async def enqueue(
        self,
        jobs: Sequence[NewJob],
        again: bool = False,
        wake: Collection[str] = (),
        bounds: Sequence[DepthBound] = (),
    ) -> list[Enqueued]:
        """Store the jobs in one transaction, with hints that leave with its commit."""
        await self._ensure_lanes(distinct_lanes(jobs))
        ids, payloads = [job.id for job in jobs], [job.payload for job in jobs]
        is_plain = not again and not bounds and all(job.is_plain for job in jobs)
        if is_plain and await self._insert_plain(ids, _lane_ids(jobs), payloads, wake):
            return [Enqueued(job_id, False) for job_id in ids]
        return await self.transact(lambda: waking(enqueue_script(jobs, again, bounds, LOCK), wake))

    async def _insert_plain(
        self, ids: Sequence[str], lanes: Sequence[str], payloads: Sequence[str], wake: Collection[str]
    ) -> bool:
        """Store jobs whose ids are new, since looking whether they are costs a third more; False if one is not."""
        name, given = _plain_insert(ids, lanes, payloads, wake)
        try:
            await self.run(name, **given)
        except StoreRefused as error:
            if isinstance(error.__cause__, UniqueViolation):
                return False
            raise
        return True

    def enqueue_within(self, connection: Any, jobs: Sequence[NewJob], admission: AdmissionCheck | None = None) -> Any:
        """Store the jobs in the caller's own open transaction."""
        return run_within(connection, "postgresql", query, jobs, admission=admission)

    async def claim(self, quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
        """Make the lease's owner the owner of up to the given number of jobs of each lane."""
        given = {"shard": SHARD, **_claim_parameters(quotas, lease)}
        async with self._connection() as connection:
            cursor = await connection.execute(query("claim"), given, binary=True)  # numbers are read in half the time
            columns = tuple(zip(*await cursor.fetchall(), strict=True))
        if not columns:
            return []
        await self._lanes.learn(self, set(columns[1]))
        return rows.claims_of_parts([columns], self._lanes.__getitem__, lease)

    def claiming(self, quotas: Sequence[Quota], lease: Lease) -> Script[Rows]:
        return (yield Run("claim", _claim_parameters(quotas, lease)))

    async def settle(self, settlements: Sequence[Settlement], expired_only: bool = False) -> set[str]:
        """Apply the settlements whose hold still holds; returns their ids."""
        settled: set[str] = set()
        others: Sequence[Settlement] = settlements
        if not expired_only:
            succeeded, others = rows.split_succeeded(settlements)
            for found in succeeded:
                settled |= await self._settle_succeeded(found)
        return settled | await self._settle_others(others, expired_only)

    async def _settle_succeeded(self, items: rows.Successes) -> set[str]:
        """Which ones were settled is read only where it was not all of them.

        What had succeeded under the same hold before is then told of as well: the answer to who settled it may have
        been lost, and be asked for again.
        """
        given = {"shard": SHARD, "ids": plain_array(items.ids), "owner": items.lease.owner, "lease": items.lease.token}
        own: dict[str, Any] = {"fence": items.fences[0]}
        if not items.are_alike:
            own = {"fences": _numbers(items.fences), "results": Texts(items.results)}
        async with self._connection() as connection:
            name = "settle_plain" if items.are_alike else "settle_succeeded"
            cursor = await connection.execute(query(name), {**given, **own})
        if cursor.rowcount == len(items.ids):
            return set(items.ids)
        return {row[0] for row in await self.run("settled_succeeded", **given, fences=_numbers(items.fences))}

    async def _settle_others(self, settlements: Sequence[Settlement], expired_only: bool) -> set[str]:
        if len({item.id for item in settlements}) < len(settlements):
            settlements = list({(item.id, item.hold): item for item in reversed(settlements)}.values())
        followed = [item for item in settlements if is_followed(item)]
        settled = await self._settle_followed(followed, expired_only) if followed else set()
        finished = [rows.settlement_row(item) for item in settlements if item.state in FINAL and not is_followed(item)]
        returned = [rows.settlement_row(item) for item in settlements if item.state not in FINAL]
        for name, batch in (("settle_finish", finished), ("settle_return", returned)):
            if batch:
                found = await self.run(name, rows=_text(batch), nobody=NOBODY, expired_only=expired_only)
                settled.update(row[0] for row in found)
        return settled

    async def _settle_followed(self, settlements: Sequence[Settlement], expired_only: bool) -> set[str]:
        batch = [rows.settlement_row(item) for item in settlements]
        given = {"rows": _text(batch), "nobody": NOBODY, "expired_only": expired_only}

        def script() -> Script[set[str]]:
            settled = {row[0] for row in (yield Run("settle_finish", given))}
            yield from follow_script(settled)
            return settled

        return await self.transact(script)

    async def begin(self) -> OpenTransaction:
        """Open a transaction for a handler's own writes, on a connection of its own."""
        return await self._transactions.begin()

    def begin_blocking(self) -> BlockingTransaction:
        """Open one for a handler that runs in a thread, and from that thread."""
        return self._transactions.begin_blocking()

    async def prune(self, retention: Mapping[str, float], default_retention: float, limit: int) -> int:
        """Drop partitions past the longest retention, and delete what has a shorter one."""
        async with self._connection() as connection:
            return await partitions.prune(connection, SHARD, retention, default_retention, limit)

    async def wake(self, pools: Iterable[str]) -> None:
        """Hint to listening workers that these pools may have work."""
        for pool in set(pools):
            await self.run("notify", pool=pool)

    async def listen(self, on_wake: Callable[[str], None]) -> None:
        """Call back with the pool at each hint, until cancelled; heals itself."""
        await listen(self._listen_conninfo or self._conninfo, on_wake, self._listen_conninfo is not None)

    async def facts(self) -> dict[str, Any]:
        """What an operator wants to know about this database."""
        (row,) = await self.run("facts")
        async with self._connection() as connection:
            pooled = is_pooled(connection)
        return {
            "store": "postgresql",
            "pooled": pooled,
            "deaf": pooled and self._listen_conninfo is None,
            "version": row[0].split(" on ")[0],
            "database": row[1],
            "fsync": row[2],
            "synchronous_commit": row[3],
            "full_page_writes": row[4],
            "durable": row[2] == "on" and row[3] not in ("off",),
            "read_only": row[5],
            "schema": needed_version(MIGRATIONS),
            "clock": row[6],
        }

    def _connection(self) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]:
        return self._pool.lend()

    async def transact(self, make_script: Callable[[], Script[Value]]) -> Value:
        async with self._connection() as connection, connection.transaction():
            return await self._drive(connection, make_script())

    async def _drive(self, connection: Any, script: Script[Value]) -> Value:
        async def perform(step: Statement) -> Rows:
            if isinstance(step, Settle):
                return [(job_id,) for job_id in await self._joined(connection).settle(step.settlements)]
            given = step.parameters if isinstance(step, Run) else {"rows": _text(step.rows)}
            cursor = await connection.execute(query(step.query), {"shard": SHARD, **given})
            return await cursor.fetchall() if cursor.description else []

        return await drive_async(script, perform)

    async def ask(self, name: str, **parameters: Any) -> Rows:
        """Reading can be repeated, so connections that broke while they lay in the pool are nobody's concern."""
        try:
            return await self.run(name, **parameters)
        except StoreUnavailable:
            with heeding(), translating():
                async with asyncio.timeout(DEADLINE):
                    await self._pool.check()
            return await self.run(name, **parameters)

    async def ask_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        return await self.ask(name, rows=_text(batch))

    async def run_each(self, name: str, batch: Sequence[dict[str, Any]]) -> Rows:
        return await self.run(name, rows=_text(batch))

    async def run(self, name: str, **parameters: Any) -> Rows:
        async with self._connection() as connection:
            cursor = await connection.execute(query(name), {"shard": SHARD, **parameters})
            return await cursor.fetchall() if cursor.description else []

    async def _ensure_lanes(self, wanted: Iterable[Lane]) -> None:
        lanes = self._lanes.new_among(wanted)
        if lanes:
            await self.transact(lambda: ensure_lanes(lanes))
            self._lanes.add(lanes)

    def _joined(self, connection: Any) -> "JoinedStore":
        return JoinedStore(connection, self._lanes)


class JoinedStore(PostgresStore):
    """The same verbs on a connection that somebody else commits: a script's, or that of a handler's transaction."""

    def __init__(self, connection: Any, lanes: KnownLanes) -> None:
        self._lanes = lanes
        self._given = connection

    async def held(self, ids: Iterable[str]) -> list[Held]:
        """Those of the jobs that are live, as this transaction sees them."""
        return await JobReader(self, self._lanes).held(ids)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        with translating():
            async with asyncio.timeout(DEADLINE):
                yield self._given

    async def transact(self, make_script: Callable[[], Script[Value]]) -> Value:
        """The transaction is open, and ends with whoever began it."""
        async with self._connection() as connection:
            return await self._drive(connection, make_script())
