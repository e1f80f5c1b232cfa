"""Tenants: their tiers and weights, and whether they get what they are entitled to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from fairlead.core.fairness.ledger import LedgerRow, fairness
from fairlead.core.fairness.tenancy import ANYONE, DEFAULT_TIER, TENANT, TIERS, Tenant, Tenants
from fairlead.core.names import check_name
from fairlead.core.protection.backpressure import Policy
from fairlead.core.protection.controls import ABSENT, Control, Controls
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.core.protection.token_bucket import RateLimit
from fairlead.errors import ChangedMeanwhile, ConfigError
from fairlead.operate.audit import Operator
from fairlead.operate.retry_budgets import budget_of
from fairlead.operate.settings import Decide, Expected, change_control, read_controls, removal, version_of
from fairlead.records.store import Store

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
    controls, waiting = await read_controls(store), await _waiting(store)
    names = sorted({*controls.of(TENANT), *waiting} - {ANYONE})
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


async def add_tenant(
    store: Store, name: str, operator: Operator, tier: str = DEFAULT_TIER, weight: float | None = None,
    minimum: float | None = None,
) -> Tenant:  # fmt: skip
    """Set a tenant up; ConfigError if it is already."""
    tenant = Tenant(check_name("tenant", name), tier, weight, minimum)
    try:
        return await put_tenant(store, tenant, operator, expected=(ABSENT,), action="tenants.add")
    except ChangedMeanwhile:
        raise ConfigError(f"tenant {name!r} is set up already; change it with `fairlead tenants set`") from None


async def put_tenant(
    store: Store, tenant: Tenant, operator: Operator, expected: Expected = None, action: str = "tenants.set"
) -> Tenant:
    """Set a tenant up exactly so, whatever it was."""
    check_name("tenant", tenant.name)
    await _change(store, tenant.name, lambda _: tenant.to_value(), operator, action, expected)
    return tenant


async def change_tenant(
    store: Store, name: str, changes: Mapping[str, Any], operator: Operator, own: bool = True, expected: Expected = None
) -> Tenant:
    """Change a tenant's tier, weight or minimum, or set it up; a weight or minimum of None is its tier's.

    Without `own` it loses those of its own first.
    """
    check_name("tenant", name)

    def changed(controls: Controls) -> dict[str, Any]:
        before = Tenants(controls).get(name)
        kept = before if own and controls.get(TENANT, name) is not None else Tenant(name, before.tier)
        return replace(kept, **changes).to_value()

    control = await _change(store, name, changed, operator, "tenants.set", expected)
    assert control.value is not None
    return Tenant.from_value(name, control.value)


async def set_tenant(
    store: Store, name: str, operator: Operator, tier: str | None = None, weight: float | None = None,
    minimum: float | None = None, own: bool = True,
) -> Tenant:  # fmt: skip
    """Change what is given of a tenant's tier, weight and minimum, or set it up; see change_tenant."""
    given = {"tier": tier, "weight": weight, "minimum": minimum}
    changes = {key: value for key, value in given.items() if value is not None}
    return await change_tenant(store, name, changes, operator, own)


async def remove_tenant(store: Store, name: str, operator: Operator, expected: Expected = None) -> None:
    """Forget what was set for a tenant: it is treated as anyone from then on, and its jobs stay."""
    absent = f"tenant {check_name('tenant', name)} was not set up; `fairlead tenants list` shows those that are"
    await _change(store, name, removal(TENANT, name, absent), operator, "tenants.remove", expected)


async def set_default_tier(store: Store, tier: str, operator: Operator) -> None:
    """The tier of tenants that nobody has set up."""
    if tier not in TIERS:
        raise ConfigError(f"{tier!r} is not a tier; it must be one of {', '.join(TIERS)}")
    await _change(store, ANYONE, lambda _: {"tier": tier}, operator, "tenants.default")


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


async def _change(
    store: Store, name: str, decide: Decide, operator: Operator, action: str, expected: Expected = None
) -> Control:
    return await change_control(store, TENANT, name, decide, operator, action, f"tenant {name}", expected)


def _window(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_WINDOW:
        raise ConfigError(f"a window must be above nothing and at most a year, not {seconds:g} s")
    return seconds
