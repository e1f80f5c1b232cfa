"""Tenants: their tiers and weights, and whether they get what they are entitled to."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from fairlead.core.fairness.ledger import LedgerRow, fairness
from fairlead.core.fairness.tenancy import ANYONE, TENANT, Tenant, Tenants
from fairlead.core.names import check_name
from fairlead.core.protection.backpressure import Policy
from fairlead.core.protection.controls import ABSENT, Controls
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.core.protection.token_bucket import RateLimit
from fairlead.errors import ConfigError
from fairlead.insight.protection import budget_of
from fairlead.records.store import Store
from fairlead.runtime.control_changes import read_controls, version_of

LONGEST_WINDOW = 366 * 86400.0
WAITING_COUNTED = 100_000


class TenantState(NamedTuple):
    """A tenant, whether it was set up, and how many of its jobs are ready now; its version is 0 where it was not."""

    tenant: Tenant
    is_set_up: bool
    waiting: int
    since: datetime | None
    version: int = ABSENT


class TenantBounds(NamedTuple):
    """What is in force for a tenant beside its share: how many of its jobs may wait, how fast it may submit, and how
    much it may retry."""

    depth: int | None
    submission: RateLimit | None
    budget: RetryBudget


class Shares(NamedTuple):
    """What tenants were due and got within a window, and how fair that was: Jain's index, 1 is perfect."""

    window: float
    lines: list[LedgerRow]
    jain: float


async def list_tenants(store: Store) -> list[TenantState]:
    """The tenants that were set up, and those that have work waiting."""
    return await tenant_states(store, await read_controls(store))


async def tenant_states(store: Store, controls: Controls, more: Iterable[str] = ()) -> list[TenantState]:
    """The tenants that were set up or have work waiting, and `more`, by name."""
    waiting = await _waiting(store)
    names = sorted({*controls.of(TENANT), *waiting, *more} - {ANYONE})
    return [_state(name, controls, waiting) for name in names]


async def show_tenant(store: Store, name: str, window: float) -> tuple[TenantState, list[LedgerRow]]:
    """A tenant, and what it was due and got minute by minute."""
    check_name("tenant", name)
    state = _state(name, await read_controls(store), await _waiting(store))
    return state, await store.shares.tenant_ledger(name, _window(window))


async def tenant_bounds(store: Store, name: str) -> TenantBounds:
    """What is in force for a tenant beside its share."""
    controls = await read_controls(store)
    policy = Policy(controls)
    return TenantBounds(policy.depth(name), policy.rate_limit(name), await budget_of(store, controls, name))


async def default_tier(store: Store) -> str:
    """The tier of tenants that nobody has set up."""
    return Tenants(await read_controls(store)).get(ANYONE).tier


async def read_shares(
    store: Store, window: float, pool: str | None = None, tenants: Sequence[str] = ()
) -> Shares:  # fmt: skip
    """What tenants were due and got within the last so many seconds."""
    lines = await store.shares.ledger(_window(window))
    wanted = [line for line in lines if (pool is None or line.pool == pool) and (not tenants or line.tenant in tenants)]
    return Shares(window, wanted, fairness(wanted))


def _state(name: str, controls: Controls, waiting: Mapping[str, int]) -> TenantState:
    control = controls.get(TENANT, name)
    since = datetime.fromtimestamp(control.at, UTC) if control else None
    version = version_of(controls, TENANT, name)
    return TenantState(Tenants(controls).get(name), control is not None, waiting.get(name, 0), since, version)


async def _waiting(store: Store) -> dict[str, int]:
    found: dict[str, int] = {}
    for lane, _, depth in await store.shares.lane_depths(WAITING_COUNTED):
        found[lane.tenant] = found.get(lane.tenant, 0) + depth
    return found


def _window(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_WINDOW:
        raise ConfigError(f"a window must be above nothing and at most a year, not {seconds:g} s")
    return seconds
