"""Backpressure: the bounds that operators set on what is submitted, and what they refused so far."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from fairlead.core.fairness.tenancy import Tenants
from fairlead.core.protection.backpressure import (
    DEPTH,
    EACH,
    OVERLOAD,
    SUBMISSION,
    Overload,
    Policy,
    depths,
    rate_limits,
    refuse_by_depth,
)
from fairlead.core.protection.controls import Controls
from fairlead.operate.controls import read_controls
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


async def bounds(store: Store) -> Bounds:
    """All that is set, and what it has refused, put off and shed."""
    controls = await read_controls(store)
    rates = {name: (way.rate, way.burst) for name, way in rate_limits(controls).items()}
    kinds = (DEPTH, SUBMISSION, OVERLOAD)
    versions = {(kind, name): item.version for kind in kinds for name, item in controls.of(kind).items()}
    return Bounds(depths(controls), rates, Policy(controls).overload, await store.backpressure.admissions(), versions)


async def refusals(store: Store, controls: Controls, kind: str, codes: Collection[str]) -> dict[str, int]:
    """How many jobs were refused with these codes so far, by the narrowest rule of this kind for their tenants."""
    rules, tenants, found = controls.of(kind), Tenants(controls), dict[str, int]()
    for (tenant, code), jobs in (await store.backpressure.admissions()).items():
        names = (f"tenant:{tenant}", f"tier:{tenants.get(tenant).tier}", f"tenant:{EACH}")
        rule = next((name for name in names if name in rules), None)
        if code in codes and rule is not None:
            found[rule] = found.get(rule, 0) + jobs
    return found
