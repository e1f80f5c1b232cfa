"""What keeps a ready job waiting beside those before it: full limits, the tenant's share, a budget that is used up."""

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
    """A job that takes up a limit, the instant since when, and on which worker."""

    id: str
    since: float
    worker: str | None


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """A limit that a job is under: what it allows, how many run, the tokens left of its rate, and who runs.

    `is_partial` where some of the holders are not to be told.
    """

    name: str
    bound: Bound
    running: int
    tokens: float | None = None
    holders: Sequence[RunningJob] = ()
    is_partial: bool = False

    @property
    def is_crowded(self) -> bool:
        """Whether as many run as may."""
        return self.bound.concurrent is not None and self.running >= self.bound.concurrent

    @property
    def is_dry(self) -> bool:
        """Whether its rate lets none start at this moment."""
        return self.tokens is not None and self.tokens < 1

    def next_token(self, count: int = 1) -> float:
        """Seconds until so many may have started by its rate."""
        way = self.bound.rate_limit
        return 0.0 if way is None or self.tokens is None else max(0.0, (count - self.tokens) / way.rate)

    def words(self, now: float) -> str:
        """Why it holds the job back."""
        most = self.bound.concurrent
        if self.is_crowded:
            told = self.holders and not self.is_partial
            oldest = f", the longest since {humanize(max(0.0, now - self.holders[0].since))}" if told else ""
            return f"the limit {self.name} is full: {self.running} of {most} run{oldest}"
        return f"the limit {self.name} lets {_rate(self.bound.rate_limit)} start; the next may in {humanize(self.next_token())}"

    def data(self, now: float) -> dict[str, Any]:
        """The figures."""
        way = self.bound.rate_limit
        return {
            "limit": self.name,
            "concurrent": self.bound.concurrent,
            "running": self.running,
            "rate": way.rate if way else None,
            "burst": way.burst if way else None,
            "tokens": None if self.tokens is None else round(self.tokens, 3),
            "next_token_in": round(self.next_token(), 3) if way else None,
            "holders": [
                {"id": item.id, "seconds": round(max(0.0, now - item.since), 3), "worker": item.worker}
                for item in self.holders
            ],
        }


def _figure(slot_seconds: float) -> str:
    return f"{round(slot_seconds, 3):,.4g}" if slot_seconds < 1000 else f"{slot_seconds:,.0f}"


@dataclass(frozen=True, slots=True)
class ShareFacts:
    """What a job's tenant was due and got in its pool within a window, in slot-seconds, and how it competes.

    `place` is its turn among the `waiting` tenants; None where that is not to be told.
    """

    tenant: Tenant
    pool: str
    window: float
    entitled: float
    delivered: float
    place: int | None = None
    waiting: int | None = None

    def words(self) -> str:
        """In words."""
        turn = "" if self.place is None else f"; it is number {self.place} of {self.waiting} tenants that wait there"
        got = f"got {_figure(self.delivered)} of the {_figure(self.entitled)} slot-seconds it was due"
        if max(self.delivered, self.entitled) < NOTICEABLE:
            got = "was due and got nothing yet"
        return f"tenant {self.tenant.name} {got} in pool {self.pool} within {humanize(self.window)}{turn}"

    def data(self) -> dict[str, Any]:
        """The figures."""
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
    """A tenant's retries of a window, how many it may have, and what becomes of more."""

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
    """The turn of a tenant among those with work waiting in a pool: who has the least virtual time goes first.

    Tenants of a group go by the virtual time of the group first. An account that is not known begins at the floor.
    """
    own = _turn(tenant, balances)
    return 1 + sum(_turn(other, balances) < own for other in waiting if other.name != tenant.name)


def _turn(tenant: Tenant, balances: Mapping[str, Balance]) -> tuple[float, float]:
    own = _virtual(account_of(tenant), POOL if tenant.group is None else POOL + tenant.group, balances)
    return (own, 0.0) if tenant.group is None else (_virtual(POOL + tenant.group, POOL, balances), own)


def _virtual(account: str, above: str, balances: Mapping[str, Balance]) -> float:
    floor = balances[above].floor if above in balances else 0.0
    return max(floor, balances[account].virtual) if account in balances else floor


def _rate(way: RateLimit | None) -> str:
    return "none" if way is None else f"{way.rate:g} a second"
