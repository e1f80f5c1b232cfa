"""Tenants: their tiers and weights, and whether they get what they are entitled to."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from fairlead.control.audit import Operator
from fairlead.core.controls import ABSENT, Change, Controls
from fairlead.core.ledger import Line, fairness
from fairlead.core.names import check_name
from fairlead.core.tenancy import ANYONE, DEFAULT_TIER, TENANT, TIERS, Tenant, Tenants
from fairlead.errors import ConfigError
from fairlead.ports.store import CONTROLS_HINT, Store

ROUNDS = 5
LONGEST_WINDOW = 366 * 86400.0
WAITING_COUNTED = 100_000


class TenantState(NamedTuple):
    """A tenant, whether it was set up, and how many of its jobs are ready now."""

    tenant: Tenant
    is_set_up: bool
    waiting: int
    since: datetime | None


class Shares(NamedTuple):
    """What tenants were due and got within a window, and how fair that was: Jain's index, 1 is perfect."""

    window: float
    lines: list[Line]
    jain: float


async def list_tenants(store: Store) -> list[TenantState]:
    """The tenants that were set up, and those that have work waiting."""
    controls, waiting = await _read(store), await _waiting(store)
    tenants, set_up = Tenants(controls), controls.of(TENANT)
    found = []
    for name in sorted({*set_up, *waiting} - {ANYONE}):
        control = set_up.get(name)
        since = datetime.fromtimestamp(control.at, UTC) if control else None
        found.append(TenantState(tenants.get(name), control is not None, waiting.get(name, 0), since))
    return found


async def show_tenant(store: Store, name: str, window: float) -> tuple[TenantState, list[Line]]:
    """A tenant, and what it was due and got minute by minute."""
    check_name("tenant", name)
    controls, waiting = await _read(store), await _waiting(store)
    control = controls.get(TENANT, name)
    since = datetime.fromtimestamp(control.at, UTC) if control else None
    state = TenantState(Tenants(controls).get(name), control is not None, waiting.get(name, 0), since)
    return state, await store.tenant_ledger(name, _window(window))


async def add_tenant(
    store: Store, name: str, operator: Operator, tier: str = DEFAULT_TIER, weight: float | None = None,
    minimum: float | None = None,
) -> Tenant:  # fmt: skip
    """Set a tenant up; ConfigError if it is already."""
    tenant = Tenant(check_name("tenant", name), tier, weight, minimum)
    change = Change(TENANT, name, tenant.to_value(), ABSENT)
    if not await _change(store, change, operator, "tenants.add"):
        raise ConfigError(f"tenant {name!r} is set up already; change it with `fairlead tenants set`")
    return tenant


async def set_tenant(
    store: Store, name: str, operator: Operator, tier: str | None = None, weight: float | None = None,
    minimum: float | None = None, own: bool = True,
) -> Tenant:  # fmt: skip
    """Change a tenant's tier, weight or minimum, or set it up; without `own` it loses those of its own first."""
    check_name("tenant", name)
    for _ in range(ROUNDS):
        controls = await _read(store)
        control = controls.get(TENANT, name)
        before = Tenants(controls).get(name)
        kept = before if own and control is not None else Tenant(name, before.tier)
        tenant = replace(
            kept,
            tier=kept.tier if tier is None else tier,
            weight=kept.weight if weight is None else weight,
            minimum=kept.minimum if minimum is None else minimum,
        )
        seen = ABSENT if control is None else control.version
        if await _change(store, Change(TENANT, name, tenant.to_value(), seen), operator, "tenants.set"):
            return tenant
    raise ConfigError(f"tenant {name!r} is being changed by others all the time; try again")


async def remove_tenant(store: Store, name: str, operator: Operator) -> None:
    """Forget what was set for a tenant: it is treated as anyone from then on, and its jobs stay."""
    await _change(store, Change(TENANT, check_name("tenant", name), None), operator, "tenants.remove")


async def set_default_tier(store: Store, tier: str, operator: Operator) -> None:
    """The tier of tenants that nobody has set up."""
    if tier not in TIERS:
        raise ConfigError(f"{tier!r} is not a tier; it must be one of {', '.join(TIERS)}")
    await _change(store, Change(TENANT, ANYONE, {"tier": tier}), operator, "tenants.default")


async def default_tier(store: Store) -> str:
    """The tier of tenants that nobody has set up."""
    return Tenants(await _read(store)).get(ANYONE).tier


async def read_shares(
    store: Store, window: float, pool: str | None = None, tenants: Sequence[str] = ()
) -> Shares:  # fmt: skip
    """What tenants were due and got within the last so many seconds."""
    lines = await store.ledger(_window(window))
    wanted = [line for line in lines if (pool is None or line.pool == pool) and (not tenants or line.tenant in tenants)]
    return Shares(window, wanted, fairness(wanted))


async def _read(store: Store) -> Controls:
    controls = Controls()
    controls.follow((await store.controls()).controls)
    return controls


async def _waiting(store: Store) -> dict[str, int]:
    found: dict[str, int] = {}
    for lane, _, depth in await store.lane_depths(WAITING_COUNTED):
        found[lane.tenant] = found.get(lane.tenant, 0) + depth
    return found


async def _change(store: Store, change: Change, operator: Operator, action: str) -> bool:
    made = await store.change_controls([change], operator.note(action, f"tenant {change.name}"))
    await store.wake([CONTROLS_HINT])
    return bool(made)


def _window(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_WINDOW:
        raise ConfigError(f"a window must be above nothing and at most a year, not {seconds:g} s")
    return seconds
