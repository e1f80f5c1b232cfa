"""Run-time settings in one call each, for tests that need one in force."""

from collections.abc import Mapping
from typing import Any

from fairlead.core.protection.backpressure import Overload
from fairlead.core.protection.controls import Change
from fairlead.core.protection.gates import PAUSE
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.insight.breakers import BreakerStatus, breaker
from fairlead.operate.settings import remove_setting, set_setting
from fairlead.ports.jobs import CONTROLS_HINT
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator


async def _set(store: Store, kind: str, name: str, given: Mapping[str, Any], operator: Operator) -> None:
    await set_setting(store, kind, name, {key: value for key, value in given.items() if value is not None}, operator)


async def set_limit(store: Store, scope: str, name: str, operator: Operator, **given: Any) -> None:
    """Limit something by `concurrent`, `rate`, `burst`, or lift its limit with `unlimited`."""
    await set_setting(store, "limit", f"{scope}:{name}", given, operator, keep=False)


async def remove_limit(store: Store, scope: str, name: str, operator: Operator) -> None:
    """Remove a limit."""
    await remove_setting(store, "limit", f"{scope}:{name}", operator)


async def set_depth(store: Store, scope: str, name: str, waiting: int | None, operator: Operator) -> None:
    """Bound how many jobs may wait; None removes the bound."""
    if waiting is None:
        await remove_setting(store, "depth", f"{scope}:{name}", operator)
    else:
        await _set(store, "depth", f"{scope}:{name}", {"waiting": waiting}, operator)


async def set_rate(
    store: Store, scope: str, name: str, rate: float | str, operator: Operator, burst: float | None = None
) -> None:
    """Bound how fast jobs may be submitted."""
    await _set(store, "submission", f"{scope}:{name}", {"rate": rate, "burst": burst}, operator)


async def set_overload(store: Store, policy: Overload, operator: Operator) -> None:
    """Say what becomes of low priorities in an overload."""
    await _set(store, "overload", "policy", policy.to_value(), operator)


async def set_budget(store: Store, tenant: str, policy: RetryBudget, operator: Operator) -> None:
    """Give a tenant a retry budget of its own."""
    await set_setting(store, "budget", tenant, policy.stored(), operator, keep=False)


async def reset_budget(store: Store, tenant: str, operator: Operator) -> None:
    """Take a tenant's own retry budget away."""
    await remove_setting(store, "budget", tenant, operator)


async def set_pool(store: Store, name: str, changes: Mapping[str, Any], operator: Operator) -> None:
    """Change a pool."""
    await set_setting(store, "pool", name, changes, operator)


async def set_tenant(
    store: Store,
    name: str,
    operator: Operator,
    tier: str | None = None,
    weight: float | None = None,
    minimum: float | None = None,
) -> None:
    """Set a tenant up, or change it."""
    await _set(store, "tenant", name, {"tier": tier, "weight": weight, "minimum": minimum}, operator)


add_tenant = set_tenant


async def pause(store: Store, scope: str, name: str, operator: Operator) -> None:
    """Pause a type, tenant or pool, whether anybody has registered it or not."""
    change = Change(PAUSE, f"{scope}:{name}", {"reason": operator.reason or ""})
    await store.controls.change([change], operator.note("pause", f"{scope} {name}"))
    await store.jobs.wake([CONTROLS_HINT])


async def resume(store: Store, scope: str, name: str, operator: Operator) -> None:
    """End a pause."""
    await remove_setting(store, "pause", f"{scope}:{name}", operator)


async def put(store: Store, type_: str, operator: Operator, attempts: int = 0) -> None:
    """Put a type into quarantine."""
    await set_setting(store, "quarantine", type_, {"attempts": attempts}, operator)


async def release(store: Store, type_: str, operator: Operator) -> None:
    """Release a type from quarantine."""
    await remove_setting(store, "quarantine", type_, operator)


async def open_breaker(store: Store, name: str, operator: Operator) -> BreakerStatus:
    """Open a breaker by hand."""
    await set_setting(store, "breaker", name, {}, operator)
    return await breaker(store, name)


async def close_breaker(store: Store, name: str, operator: Operator) -> BreakerStatus:
    """Close a breaker by hand."""
    await remove_setting(store, "breaker", name, operator)
    return await breaker(store, name)
