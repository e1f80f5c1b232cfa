"""Facts about why a ready job waits: full limits, the tenant's fair share, a used-up retry budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairlead.core.durations import humanize
from fairlead.core.fairness.ledger import NOTICEABLE
from fairlead.core.fairness.queue import POOL, account_of
from fairlead.core.fairness.share import Balance
from fairlead.core.fairness.tenancy import Tenant
from fairlead.core.protection.limits import Bound
from fairlead.core.protection.retry_budget import Beyond
from fairlead.core.protection.token_bucket import RateLimit


class RunningJob(NamedTuple):
    """A running job that counts towards a limit: since when, and on which worker."""

    id: str
    since: float
    worker: str | None


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """A limit that applies to a job: its bound, the running jobs, the tokens left of its rate, and its holders.

    `is_partial` says that some holders are hidden from the reader.
    """

    name: str
    bound: Bound
    running: int
    tokens: float | None = None
    holders: Sequence[RunningJob] = ()
    is_partial: bool = False

    @property
    def is_crowded(self) -> bool:
        """Whether the limit on concurrency is reached."""
        return self.bound.concurrent is not None and self.running >= self.bound.concurrent

    @property
    def is_dry(self) -> bool:
        """Whether the rate limit has no token left."""
        return self.tokens is not None and self.tokens < 1

    def next_token(self, count: int = 1) -> float:
        """Return the seconds until the bucket holds `count` tokens."""
        rate = self.bound.rate_limit
        return 0.0 if rate is None or self.tokens is None else max(0.0, (count - self.tokens) / rate.rate)

    def words(self, now: float) -> str:
        """Return in words why the limit delays the job."""
        most = self.bound.concurrent
        if self.is_crowded:
            is_shown = self.holders and not self.is_partial
            oldest = f", the longest since {humanize(max(0.0, now - self.holders[0].since))}" if is_shown else ""
            return f"the limit {self.name} is full: {self.running} of {most} run{oldest}"
        allowed, wait = _rate(self.bound.rate_limit), humanize(self.next_token())
        return f"the limit {self.name} lets {allowed} start; the next may in {wait}"

    def data(self, now: float) -> dict[str, Any]:
        """Return the figures as JSON data."""
        rate = self.bound.rate_limit
        return {
            "limit": self.name,
            "concurrent": self.bound.concurrent,
            "running": self.running,
            "rate": rate.rate if rate else None,
            "burst": rate.burst if rate else None,
            "tokens": None if self.tokens is None else round(self.tokens, 3),
            "next_token_in": round(self.next_token(), 3) if rate else None,
            "holders": [
                {"id": item.id, "seconds": round(max(0.0, now - item.since), 3), "worker": item.worker}
                for item in self.holders
            ],
        }


def _figure(slot_seconds: float) -> str:
    return f"{round(slot_seconds, 3):,.4g}" if slot_seconds < 1000 else f"{slot_seconds:,.0f}"


@dataclass(frozen=True, slots=True)
class ShareFacts:
    """A tenant's entitled and delivered slot-seconds in a pool within a window, and how it competes.

    `place` is its position among the `waiting` tenants; None if hidden from the reader.
    """

    tenant: Tenant
    pool: str
    window: float
    entitled: float
    delivered: float
    place: int | None = None
    waiting: int | None = None

    def words(self) -> str:
        """Return the share in words."""
        turn = "" if self.place is None else f"; it is number {self.place} of {self.waiting} tenants that wait there"
        got = f"got {_figure(self.delivered)} of the {_figure(self.entitled)} slot-seconds it was due"
        if max(self.delivered, self.entitled) < NOTICEABLE:
            got = "was due and got nothing yet"
        return f"tenant {self.tenant.name} {got} in pool {self.pool} within {humanize(self.window)}{turn}"

    def data(self) -> dict[str, Any]:
        """Return the figures as JSON data."""
        standing = self.tenant.weighting
        return {
            "pool": self.pool,
            "window": self.window,
            "entitled": round(self.entitled, 3),
            "delivered": round(self.delivered, 3),
            "tier": self.tenant.tier,
            "weight": standing.weight,
            "minimum": standing.minimum,
            "most": standing.most,
            "place": self.place,
            "waiting": self.waiting,
        }


@dataclass(frozen=True, slots=True)
class BudgetFacts:
    """A tenant's retries in a window, how many are allowed, and what happens to further ones."""

    tenant: str
    retries: int
    allowed: float
    window: float
    beyond: Beyond | str

    @property
    def is_used_up(self) -> bool:
        """Whether no more retries are allowed now."""
        return self.retries >= self.allowed


def queue_position(tenant: Tenant, waiting: Sequence[Tenant], balances: Mapping[str, Balance]) -> int:
    """Return a tenant's position, from 1, among the waiting tenants of a pool, by virtual time.

    Tenants of a group are ordered by the virtual time of the group first. An unknown account is at the floor.
    """
    own = _turn(tenant, balances)
    return 1 + sum(_turn(other, balances) < own for other in waiting if other.name != tenant.name)


def _turn(tenant: Tenant, balances: Mapping[str, Balance]) -> tuple[float, float]:
    own = _virtual(account_of(tenant), POOL if tenant.group is None else POOL + tenant.group, balances)
    return (own, 0.0) if tenant.group is None else (_virtual(POOL + tenant.group, POOL, balances), own)


def _virtual(account: str, above: str, balances: Mapping[str, Balance]) -> float:
    floor = balances[above].floor if above in balances else 0.0
    return max(floor, balances[account].virtual) if account in balances else floor


def _rate(rate: RateLimit | None) -> str:
    return "none" if rate is None else f"{rate.rate:g} a second"
