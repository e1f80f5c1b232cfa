"""Backpressure: the bounds that operators set on what is submitted, and what they refused so far."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.core.fairness.tenancy import TIERS
from fairlead.core.protection.backpressure import (
    DEPTH,
    OVERLOAD,
    POLICY,
    SUBMISSION,
    Overload,
    Policy,
    checked_depth,
    depths,
    rate_limits,
    refuse_by_depth,
    rule_name,
)
from fairlead.core.protection.token_bucket import rate_limit
from fairlead.errors import ConfigError
from fairlead.operate.audit import Operator
from fairlead.operate.settings import Expected, change_control, read_controls, removal
from fairlead.records.store import Store


class Bounds(NamedTuple):
    """What is set, by name (`tenant:acme`, `tier:free`, `tenant:*`), and what was not accepted, by tenant and code.

    `versions` are those of what is set, by kind and name.
    """

    depths: Mapping[str, int]
    rates: Mapping[str, tuple[float, float]]
    overload: Overload | None
    counts: Mapping[tuple[str, str], int]
    versions: Mapping[tuple[str, str], int]


async def require_room(store: Store, tenant: str) -> None:
    """TenantQueueFull where a tenant may not have one more waiting job; for jobs that no client submits."""
    most = Policy(await read_controls(store)).depth(tenant)
    waiting = await store.backpressure.waiting_of(tenant, most + 1)
    if waiting >= most:
        raise refuse_by_depth(tenant, most, waiting, 1)


async def set_depth(
    store: Store, scope: str, name: str, waiting: int | None, operator: Operator, expected: Expected = None
) -> None:
    """Bound how many jobs of a tenant may wait; None removes the bound."""
    value = None if waiting is None else {"waiting": checked_depth(waiting)}
    await _change(store, DEPTH, _rule(scope, name, value), value, operator, expected)


async def set_rate(
    store: Store, scope: str, name: str, rate: float | str | None, operator: Operator, burst: float | None = None,
    expected: Expected = None,
) -> None:  # fmt: skip
    """Bound how fast a tenant may submit; None removes the bound."""
    value = None
    if rate is not None:
        way = rate_limit(rate, burst)
        value = {"rate": way.rate, "burst": way.burst}
    await _change(store, SUBMISSION, _rule(scope, name, value), value, operator, expected)


async def set_overload(store: Store, policy: Overload | None, operator: Operator, expected: Expected = None) -> None:
    """Say what becomes of low priorities in an overload; None removes the policy."""
    await _change(store, OVERLOAD, POLICY, None if policy is None else policy.to_value(), operator, expected)


async def bounds(store: Store) -> Bounds:
    """All that is set, and what it has refused, put off and shed."""
    controls = await read_controls(store)
    rates = {name: (way.rate, way.burst) for name, way in rate_limits(controls).items()}
    kinds = (DEPTH, SUBMISSION, OVERLOAD)
    versions = {(kind, name): item.version for kind in kinds for name, item in controls.of(kind).items()}
    return Bounds(depths(controls), rates, Policy(controls).overload, await store.backpressure.admissions(), versions)


def _rule(scope: str, name: str, value: dict[str, Any] | None) -> str:
    """What is set for a tier must be for one that exists; what was set before may be removed in any case."""
    if scope == "tier" and value is not None and name not in TIERS:
        raise ConfigError(f"{name!r} is not a tier; it must be one of {', '.join(TIERS)}")
    return rule_name(scope, name)


def _absent(kind: str, name: str) -> str:
    if kind == OVERLOAD:
        return "no overload policy is set"
    scope, _, whose = name.partition(":")
    return f"no {'depth' if kind == DEPTH else 'submission rate'} is set for {scope} {whose}"


async def _change(
    store: Store, kind: str, name: str, value: dict[str, Any] | None, operator: Operator, expected: Expected
) -> None:
    absent = f"{_absent(kind, name)}; `fairlead backpressure list` shows what is set"
    decide = removal(kind, name, absent) if value is None else (lambda _: value)
    action = f"remove {kind}" if value is None else f"set {kind}"
    await change_control(store, kind, name, decide, operator, action, name, expected)
