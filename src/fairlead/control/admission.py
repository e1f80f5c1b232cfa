"""Backpressure: the bounds that operators set on what is submitted, and what they refused so far."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.control.audit import Operator
from fairlead.core.admission import (
    DEPTH,
    OVERLOAD,
    POLICY,
    SUBMISSION,
    Overload,
    Policy,
    checked_depth,
    rule_name,
)
from fairlead.core.buckets import flow
from fairlead.core.controls import Change, Controls
from fairlead.errors import ConfigError
from fairlead.ports.store import CONTROLS_HINT, Store


class Bounds(NamedTuple):
    """What is set, by name (`tenant:acme`, `tier:free`, `tenant:*`), and what was not accepted, by tenant and code."""

    depths: Mapping[str, int]
    rates: Mapping[str, tuple[float, float]]
    overload: Overload | None
    counts: Mapping[tuple[str, str], int]


async def set_depth(store: Store, scope: str, name: str, waiting: int | None, operator: Operator) -> None:
    """Bound how many jobs of a tenant may wait; None removes the bound."""
    value = None if waiting is None else {"waiting": checked_depth(waiting)}
    await _change(store, DEPTH, rule_name(scope, name), value, operator)


async def set_rate(
    store: Store, scope: str, name: str, rate: float | str | None, operator: Operator, burst: float | None = None
) -> None:
    """Bound how fast a tenant may submit; None removes the bound."""
    value = None
    if rate is not None:
        way = flow(rate, burst)
        value = {"rate": way.rate, "burst": way.burst}
    await _change(store, SUBMISSION, rule_name(scope, name), value, operator)


async def set_overload(store: Store, policy: Overload | None, operator: Operator) -> None:
    """Say what becomes of low priorities in an overload; None removes the policy."""
    await _change(store, OVERLOAD, POLICY, None if policy is None else policy.to_value(), operator)


async def bounds(store: Store) -> Bounds:
    """All that is set, and what it has refused, put off and shed."""
    controls = await _controls(store)
    depths = {name: item.value["waiting"] for name, item in sorted(controls.of(DEPTH).items()) if item.value}
    rates = {
        name: (item.value["rate"], item.value["burst"])
        for name, item in sorted(controls.of(SUBMISSION).items())
        if item.value
    }
    return Bounds(depths, rates, Policy(controls).overload, await store.admissions())


async def _controls(store: Store) -> Controls:
    controls = Controls()
    controls.follow((await store.controls()).controls)
    return controls


async def _change(store: Store, kind: str, name: str, value: dict[str, Any] | None, operator: Operator) -> None:
    if value is None and (await _controls(store)).get(kind, name) is None:
        raise ConfigError(f"no {kind} is set for {name}; `fairlead backpressure list` shows what is")
    action = f"remove {kind}" if value is None else f"set {kind}"
    await store.change_controls([Change(kind, name, value)], operator.note(action, name, value=value))
    await store.wake([CONTROLS_HINT])
