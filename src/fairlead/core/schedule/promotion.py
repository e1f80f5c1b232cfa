"""Promotion: how many due jobs of each lane become ready now, under rate limits for the shard and for each tenant.

Both rate limits are token buckets with a burst of one second; a job costs one token. The shard's tokens are divided
evenly among the tenants with due jobs, and a tenant's part evenly among its lanes; unused parts go to the others.
Within a lane the longest overdue job goes first. So a million jobs that are due at once delay neither other tenants nor
other lanes of their tenant.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from fairlead.core.jobs.model import Lane, Quota
from fairlead.core.protection.token_bucket import Bucket, RateLimit, left, take

BURST = 1.0  # seconds; a bucket holds the tokens of so much time

Name = TypeVar("Name")


class DueLane(NamedTuple):
    """A lane with due jobs: how many were found, and when the first of them was due."""

    lane: Lane
    jobs: int
    since: float


class DueJobs(NamedTuple):
    """Due jobs by lane. `overdue` is the age of the oldest due job, `next_due` the wait until the next job is due."""

    lanes: tuple[DueLane, ...]
    is_complete: bool  # whether all due jobs were found
    overdue: float | None
    next_due: float | None


def tokens(bucket: Bucket | None, rate: float, now: float) -> float:
    """Return the tokens in a bucket now; a new bucket is full."""
    return left(bucket, RateLimit(rate, rate * BURST), now)


def spend(bucket: Bucket | None, rate: float, now: float, count: int) -> Bucket:
    """Return the bucket after `count` jobs; a negative balance delays the next ones."""
    return take(bucket, RateLimit(rate, rate * BURST), now, count)


def share_out(lanes: Sequence[DueLane], most: int, tenants: Mapping[str, int]) -> list[Quota]:
    """Return how many jobs of each lane to promote: at most `most` in all, and each tenant's tokens of its jobs."""
    own: dict[str, list[DueLane]] = defaultdict(list)
    for lane in sorted(lanes, key=lambda due: due.since):
        own[lane.lane.tenant].append(lane)
    wanted = {tenant: min(tenants[tenant], sum(lane.jobs for lane in due)) for tenant, due in own.items()}
    quotas = []
    for tenant, budget in _evenly(most, wanted).items():
        parts = _evenly(budget, {lane: lane.jobs for lane in own[tenant]})
        quotas += [Quota(due.lane.id, part, due.since) for due, part in parts.items() if part > 0]
    return quotas


def _evenly(budget: int, wanted: Mapping[Name, int]) -> dict[Name, int]:
    """Divide the budget evenly, nobody gets more than it wants; if it is too small, the first get one each."""
    wanted = {name: want for name, want in wanted.items() if want > 0}
    if budget < len(wanted):
        return dict.fromkeys(list(wanted)[: max(0, budget)], 1)
    parts: dict[Name, int] = {}
    for name, want in sorted(wanted.items(), key=lambda item: item[1]):
        parts[name] = min(want, budget // (len(wanted) - len(parts)))
        budget -= parts[name]
    return parts
