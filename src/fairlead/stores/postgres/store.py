"""The store port on PostgreSQL."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg.errors import LockNotAvailable, UniqueViolation

from fairlead.core.jobs.model import Claim, Enqueued, Lane, Lease, NewJob, Quota, Settlement
from fairlead.core.jobs.settle import is_followed
from fairlead.errors import StoreRefused, StoreUnavailable
from fairlead.ports.database import Rows, Run, Script
from fairlead.ports.jobs import AdmissionCheck, BlockingTransaction, DepthBound, JobStore, OpenTransaction
from fairlead.records import rows
from fairlead.records.enqueue import brief_script, enqueue_script, key_is_held, waking
from fairlead.records.lanes import KnownLanes, distinct_lanes, ensure_lanes
from fairlead.stores.migrations import needed_version
from fairlead.stores.postgres import partitions
from fairlead.stores.postgres.arrays import Texts, plain_array
from fairlead.stores.postgres.connection import (
    POOL_SIZE,
    conninfo,
    is_pooled,
    make_pool,
    query,
    translating,
)
from fairlead.stores.postgres.database import SHARD, PooledDatabase, drive, json_text
from fairlead.stores.postgres.lanes import write_lanes
from fairlead.stores.postgres.listening import listen
from fairlead.stores.postgres.migrate import MIGRATIONS, check_schema
from fairlead.stores.postgres.settling import end_script, succeed_script
from fairlead.stores.postgres.transactions import Transactions
from fairlead.stores.settling import split_succeeded, succeeded_before, unanswered_successes
from fairlead.stores.within import run_within

KEY_PATIENCE = 5.0  # seconds that a submission tries to take a key that an open transaction holds
KEY_PAUSE = 0.2
LOCK = "lock_depth"

Value = TypeVar("Value")


def _lane_ids(jobs: Sequence[NewJob]) -> list[str]:
    """The ids of the jobs' lanes as text; neighbours mostly share a lane, whose id is not computed twice."""
    ids, last, text = [], None, ""
    for job in jobs:
        if job.lane is not last:
            last, text = job.lane, str(job.lane.id)
        ids.append(text)
    return ids


def _plain_rows(jobs: Sequence[NewJob], wake: Collection[str]) -> dict[str, Any]:
    """What insert_plain takes."""
    return {
        "ids": plain_array([job.id for job in jobs]),
        "lanes": plain_array(_lane_ids(jobs)),
        "payloads": Texts([job.payload for job in jobs]),
        "pools": json_text(list(wake)),
    }


def _claim_parameters(quotas: Sequence[Quota], lease: Lease) -> dict[str, Any]:
    wanted = [quota._asdict() for quota in quotas]
    return {"rows": json_text(wanted), "owner": lease.owner, "lease": lease.token}


class PostgresStore(PooledDatabase, JobStore):
    """All verbs on one pool of connections; leases and notifications have connections of their own."""

    writers = POOL_SIZE

    def __init__(self, url: str, lanes: KnownLanes, listen_url: str | None = None) -> None:
        self._lanes = lanes
        self._url = url
        self._conninfo = conninfo(url)
        self._listen_conninfo = None if listen_url is None else conninfo(listen_url)
        self._pool = make_pool(url)
        self._transactions = Transactions(url)

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
        is_plain = not again and not bounds and all(job.is_plain for job in jobs)
        if is_plain and await self._insert_plain(jobs, wake):
            return [Enqueued(job.id, False) for job in jobs]
        if any(job.unique for job in jobs):
            return await self._enqueue_keyed(jobs, again, wake, bounds)
        return await self.transact(lambda: waking(enqueue_script(jobs, again, bounds, LOCK), wake))

    async def _insert_plain(self, jobs: Sequence[NewJob], wake: Collection[str]) -> bool:
        """Store jobs whose ids are new, since looking whether they are costs a third more; False if one is not."""
        try:
            await self.run("insert_plain", **_plain_rows(jobs, wake))
        except StoreRefused as error:
            if isinstance(error.__cause__, UniqueViolation):
                return False
            raise
        return True

    async def _enqueue_keyed(
        self, jobs: Sequence[NewJob], again: bool, wake: Collection[str], bounds: Sequence[DepthBound]
    ) -> list[Enqueued]:
        """A key may be held by a transaction that somebody left open: no connection of ours waits for that long."""
        give_up = time.monotonic() + KEY_PATIENCE
        while True:
            try:
                return await self.transact(
                    lambda: waking(brief_script(enqueue_script(jobs, again, bounds, LOCK)), wake)
                )
            except StoreUnavailable as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
                if time.monotonic() > give_up:
                    raise StoreUnavailable(key_is_held(jobs)) from error
            await self.pause(KEY_PAUSE)

    async def pause(self, seconds: float) -> None:
        """Wait before the next try."""
        await asyncio.sleep(seconds)

    def enqueue_within(self, connection: Any, jobs: Sequence[NewJob], admission: AdmissionCheck | None = None) -> Any:
        """Store the jobs in the caller's own open transaction, their lanes before it on a connection of our own."""

        def ensure(lanes: Iterable[Lane]) -> None:
            if new := self._lanes.new_among(lanes):
                write_lanes(self._conninfo, new)
                self._lanes.add(new)

        return run_within(connection, "postgresql", query, jobs, admission=admission, ensure=ensure)

    async def claim(self, quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
        """Make the lease's owner the owner of up to the given number of jobs of each lane."""
        given = {"shard": SHARD, **_claim_parameters(quotas, lease)}
        async with self.connection() as connection:
            cursor = await connection.execute(query("claim"), given, binary=True)  # numbers are read in half the time
            found = await cursor.fetchall()
        await self._lanes.learn(self, {row[1] for row in found})
        return rows.claims_of(found, self._lanes.__getitem__, lease)

    def claiming(self, quotas: Sequence[Quota], lease: Lease) -> Script[Rows]:
        """The statements of a claim."""
        return (yield Run("claim", _claim_parameters(quotas, lease)))

    async def settle(self, settlements: Sequence[Settlement], expired_only: bool = False) -> set[str]:
        """Apply the settlements whose hold still holds; returns their ids."""
        by_claim, others = ({}, settlements) if expired_only else split_succeeded(settlements)
        settled: set[str] = set()
        for lease, items in by_claim.items():
            settled |= await self._alone(succeed_script(lease, items))
        if others and any(map(is_followed, others)):
            settled |= await self.transact(lambda: end_script(others, expired_only))
        elif others:
            settled |= await self._alone(end_script(others, expired_only))
        if not expired_only and (missing := unanswered_successes(settlements, settled)):
            settled |= succeeded_before(
                await self.ask_each("read_many", [{"id": job_id} for job_id in missing]), missing
            )
        return settled

    async def _alone(self, script: Script[Value]) -> Value:
        """Run a script of one statement, which is a transaction by itself."""
        async with self.connection() as connection:
            return await drive(connection, script)

    async def begin(self) -> OpenTransaction:
        """Open a transaction for a handler's own writes, on a connection of its own."""
        return await self._transactions.begin()

    def begin_blocking(self) -> BlockingTransaction:
        """Open one for a handler that runs in a thread, and from that thread."""
        return self._transactions.begin_blocking()

    async def prune(self, retention: Mapping[str, float], default_retention: float, limit: int) -> int:
        """Drop partitions past the longest retention, and delete what has a shorter one."""
        async with self.connection() as connection:
            return await partitions.prune(connection, retention, default_retention, limit)

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
        async with self.connection() as connection:
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

    async def _ensure_lanes(self, wanted: Iterable[Lane]) -> None:
        lanes = self._lanes.new_among(wanted)
        if lanes:
            await self.transact(lambda: ensure_lanes(lanes))
            self._lanes.add(lanes)
