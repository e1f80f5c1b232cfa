"""How many due jobs become ready now, and whose: a bounded rate for the shard and for each tenant.

Both rates are token buckets: a job costs one token, tokens come back at the rate, and a bucket holds those of one
second. What the shard may promote is shared evenly between the tenants that have due jobs, and a tenant's part evenly
between its lanes; what one does not need goes to the others. Within a lane the longest overdue job is first. So a
million jobs that are due at once delay neither the other tenants nor the other lanes of their own.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from fairlead.core.jobs.model import Lane, Quota

BURST = 1.0  # seconds of its rate that a bucket holds

Name = TypeVar("Name")


class DueLane(NamedTuple):
    """A lane with due jobs: how many are known of, and the instant from which on the first of them was due."""

    lane: Lane
    jobs: int
    since: float


class DueJobs(NamedTuple):
    """What waits for its time. `overdue` is the age of the longest due job, `next_due` the wait for the next."""

    lanes: tuple[DueLane, ...]
    is_complete: bool  # whether these are all lanes with due jobs, and all of those
    overdue: float | None
    next_due: float | None


class Bucket(NamedTuple):
    """The tokens that were left at an instant; a bucket that nobody has seen is full."""

    tokens: float
    at: float


def tokens(bucket: Bucket | None, rate: float, now: float) -> float:
    """What a bucket holds now."""
    most = rate * BURST
    return most if bucket is None else min(most, bucket.tokens + max(0.0, now - bucket.at) * rate)


def spend(bucket: Bucket | None, rate: float, now: float, count: int) -> Bucket:
    """The bucket after so many jobs; it may owe some, which delays the next."""
    return Bucket(tokens(bucket, rate, now) - count, now)


def share_out(lanes: Sequence[DueLane], most: int, tenants: Mapping[str, int]) -> list[Quota]:
    """How many jobs of each lane become ready, at most `most` of all, and of each tenant what it has left."""
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
    """The budget in equal parts, of which nobody gets more than it wants; where it is short, the first get one each."""
    wanted = {name: want for name, want in wanted.items() if want > 0}
    if budget < len(wanted):
        return dict.fromkeys(list(wanted)[: max(0, budget)], 1)
    parts: dict[Name, int] = {}
    for name, want in sorted(wanted.items(), key=lambda item: item[1]):
        parts[name] = min(want, budget // (len(wanted) - len(parts)))
        budget -= parts[name]
    return parts
