"""Limits over all workers: claims under concurrency and rate limits, and the usage of limits.

A claim under limits is one transaction: lock the row of each limit in the order of their names, count the running jobs,
let core decide how many may start, claim them, write the token buckets. A second claim waits for the locks and then
counts the jobs of the first. There is no counter that a crash could leave wrong: a job counts while it is running,
until it is settled or recovered.

The rows are inserted by a statement before the transaction, since two transactions that insert them could deadlock. The
pruner removes rows with full buckets; a claim that finds a row missing inserts it again.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from fairlead.core.jobs.model import Claim, Lane, Lease, Quota
from fairlead.core.protection.limits import Bound, LimitedQuota, LimitState, Rules, grant, limit_state, room, usage
from fairlead.core.protection.token_bucket import Bucket, RateLimit, full_at, left, take, wait
from fairlead.errors import StoreUnavailable
from fairlead.ports.database import Run, RunEach, Script
from fairlead.ports.jobs import JobStore
from fairlead.records import rows
from fairlead.records.lanes import KnownLanes

ROUNDS = 5
MOST_MADE = 50_000

Value = TypeVar("Value")


class LimitedClaims(NamedTuple):
    """The claimed jobs, and the limits that are full now with the seconds until they have room (None: unknown)."""

    claims: list[Claim]
    full: Mapping[str, float | None]


class LimitUse(NamedTuple):
    """The number of running jobs of each lane, and the buckets that are not full, at the database's `now`."""

    running: Mapping[Lane, int]
    buckets: Mapping[str, Bucket]
    now: float


class Holder(NamedTuple):
    """A running job that counts towards a limit."""

    id: str
    tenant: str
    since: float
    worker: str | None


class Taken(NamedTuple):
    """The number of tokens taken; if none, the seconds until there are enough."""

    tokens: int
    again_in: float


class Locked(NamedTuple):
    """The locked rows: the bucket of each limit (None: full), at the transaction's now."""

    buckets: dict[str, Bucket | None]
    now: float


class Limits:
    """Claims jobs under limits, and reads the usage of limits."""

    def __init__(self, jobs: JobStore, lanes: KnownLanes) -> None:
        self._database = jobs
        self._lanes = lanes
        self._claiming = jobs.claiming
        self._made: set[str] = set()

    async def claim(self, wanted: Sequence[LimitedQuota], rules: Rules, lease: Lease) -> LimitedClaims:
        """Claim as much of the quotas as their limits allow."""
        names = sorted({name for item in wanted for name in item.limits})

        def script() -> Script[LimitedClaims | None]:
            return _claim(names, wanted, rules, lease, self._lanes, self._claiming)

        answer = await self._with_rows(names, script)
        self._lanes.add(claim.lane for claim in answer.claims)
        return answer

    async def take_tokens(self, name: str, rate: RateLimit, least: int, most: int) -> Taken:
        """Take up to `most` tokens of a bucket, or none if it has fewer than `least`."""
        return await self._with_rows([name], lambda: _take(name, rate, least, most))

    async def use(self) -> LimitUse:
        """Return the running jobs of each lane and the token buckets."""
        running = await self._database.ask("count_running")
        await self._lanes.learn(self._database, (row[0] for row in running))
        buckets = await self._database.ask("read_limits")
        return LimitUse(
            {self._lanes[lane]: count for lane, count in running},
            {name: Bucket(tokens, at) for name, tokens, at, _ in buckets if tokens is not None},
            buckets[0][3] if buckets else 0.0,
        )

    async def holders(self, lanes: Iterable[Lane], most: int) -> list[Holder]:
        """Return running jobs of these lanes, the longest running first."""
        tenants = {lane.id: lane.tenant for lane in lanes}
        found = await self._database.ask("holders", lanes=json.dumps(list(tenants)), most=most)
        return [Holder(row[0], tenants[row[1]], row[2], row[3]) for row in found]

    async def prune(self, kept: float, limit: int) -> int:
        """Remove full buckets, and lanes with keys idle for `kept` seconds; returns how many lanes."""
        await self._database.run("forget_limits", limit=limit)
        if not await self._database.ask("keyed_lanes"):
            return 0
        await self._database.run("unmark_lanes")
        await self._database.run("mark_lanes")
        return len(await self._database.run("forget_lanes", kept=kept))

    async def _with_rows(self, names: Sequence[str], make_script: Callable[[], Script[Value | None]]) -> Value:
        for _ in range(ROUNDS):
            if new := [{"name": name} for name in names if name not in self._made]:
                await self._database.run_each("make_limits", new)
                if len(self._made) > MOST_MADE:
                    self._made.clear()
                self._made.update(names)
            answer = await self._database.transact(make_script)
            if answer is not None:
                return answer
            self._made.difference_update(names)
        raise StoreUnavailable(f"the limits {', '.join(names)} were removed again and again while they were used")


def _claim(
    names: Sequence[str],
    wanted: Sequence[LimitedQuota],
    rules: Rules,
    lease: Lease,
    known: KnownLanes,
    claiming: Callable[[Sequence[Quota], Lease], Script[list[Any]]],
) -> Script[LimitedClaims | None]:
    locked = yield from _lock(names)
    if locked is None:
        return None
    bounds = {name: rules.bound(name) for name in names}
    used = yield from _used(bounds, rules, known)
    rooms = {name: room(bounds[name], used.get(name, 0), locked.buckets[name], locked.now) for name in names}
    quotas = grant(wanted, rooms)
    found = (yield from claiming(quotas, lease)) if quotas else []
    limits = {item.lane.id: item for item in wanted}
    started = _started(found, limits)
    accounts = {
        name: limit_state(bounds[name], used.get(name, 0), locked.buckets[name], locked.now, started.get(name, 0))
        for name in names
    }
    yield from _write_buckets({name: accounts[name].bucket for name in started}, bounds)
    return LimitedClaims(_claims(found, limits, lease), _full(accounts))


def _lock(names: Sequence[str]) -> Script[Locked | None]:
    """Lock the rows of these limits; None if one of them is missing."""
    found = yield RunEach("lock_limits", [{"name": name} for name in names])
    if len(found) < len(names):
        return None
    buckets = {name: None if tokens is None else Bucket(tokens, at) for name, tokens, at, *_ in found}
    return Locked(buckets, found[0][3])


def _used(bounds: Mapping[str, Bound], rules: Rules, known: KnownLanes) -> Script[dict[str, int]]:
    """Return the running jobs of each limit; empty if no limit is on concurrency."""
    if all(item.concurrent is None for item in bounds.values()):
        return {}
    running = yield Run("count_running", {})
    unknown = known.unknown_among(row[0] for row in running)
    found = (yield RunEach("read_lanes", [{"id": lane} for lane in unknown])) if unknown else []
    read = {row[0]: rows.lane_of(row) for row in found}
    return usage(rules, ((read[lane] if lane in read else known[lane], count) for lane, count in running))


def _started(found: Sequence[Any], limits: Mapping[int, LimitedQuota]) -> dict[str, int]:
    started: dict[str, int] = {}
    for row in found:
        for name in limits[row[1]].limits:
            started[name] = started.get(name, 0) + 1
    return started


def _claims(found: Sequence[Any], limits: Mapping[int, LimitedQuota], lease: Lease) -> list[Claim]:
    return rows.claims_of(list(found), lambda lane: limits[lane].lane, lease)


def _full(accounts: Mapping[str, LimitState]) -> dict[str, float | None]:
    return {name: item.again_in for name, item in accounts.items() if item.is_full}


def _write_buckets(buckets: Mapping[str, Bucket | None], bounds: Mapping[str, Bound]) -> Script[None]:
    batch = [
        _bucket_row(name, bucket, bounds[name].rate_limit or RateLimit(1.0, 1.0))
        for name, bucket in sorted(buckets.items())
        if bucket is not None
    ]
    if batch:
        yield RunEach("spend_limits", batch)


def _bucket_row(name: str, bucket: Bucket, rate: RateLimit) -> dict[str, Any]:
    return {"name": name, "tokens": bucket.tokens, "at": bucket.at, "full_at": full_at(bucket, rate)}


def _take(name: str, rate: RateLimit, least: int, most: int) -> Script[Taken | None]:
    locked = yield from _lock([name])
    if locked is None:
        return None
    bucket = locked.buckets[name]
    count = min(most, int(left(bucket, rate, locked.now)))
    if count < least:
        return Taken(0, wait(take(bucket, rate, locked.now, 0), rate, least))
    yield RunEach("spend_limits", [_bucket_row(name, take(bucket, rate, locked.now, count), rate)])
    return Taken(count, 0.0)
