"""Limits: what operators set at run time, and how much of each is in use."""

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.core.jobs.job_records import JobType
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.limits import LIMIT, Bound, Rules, limit_name, stored_bound, usage
from fairlead.core.protection.token_bucket import left
from fairlead.errors import NotSet
from fairlead.operate.controls import read_controls, version_of
from fairlead.records.limits import Holder, LimitUse
from fairlead.records.store import Store

MOST_HOLDERS = 100


class LimitInForce(NamedTuple):
    """A limit, who set it, and its use now; `tokens` are what is left of its rate, `each` is one for each of a kind.

    `version` is that of what an operator set under exactly this name, 0 where nobody did.
    """

    scope: str
    name: str
    concurrent: int | None
    rate: float | None
    burst: float | None
    set_by: str
    running: int
    tokens: float | None
    each: bool
    version: int = 0


async def limits(store: Store) -> list[LimitInForce]:
    """All limits in force: those that are set or declared, and each key and each one of a kind that is in use."""
    controls, types, use = await read_controls(store), await store.types.all(), await store.limits.use()
    rules = Rules(declared(types), {}, controls)
    used = usage(rules, use.running.items())
    names = {f"limit:{name}" for name in declared(types)} | controls.of(LIMIT).keys()
    names |= used.keys() | {name for name in use.buckets if rules.bound(name) != Bound()}
    return [_in_force(name, rules, used, use, controls) for name in sorted(names)]


async def show_limit(store: Store, scope: str, name: str) -> LimitInForce:
    """One limit that is set, declared, or follows from one for each of its kind; NotSet if nothing is limited."""
    controls, types, use = await read_controls(store), await store.types.all(), await store.limits.use()
    rules, full = Rules(declared(types), {}, controls), limit_name(scope, name)
    if rules.bound(full) == Bound() and controls.get(LIMIT, full) is None:
        raise NotSet(f"nothing limits {scope} {name}; `fairlead settings list limit` shows what is in force")
    return _in_force(full, rules, usage(rules, use.running.items()), use, controls)


async def limit_holders(store: Store, scope: str, name: str, most: int = MOST_HOLDERS) -> list[Holder]:
    """Jobs that run under a limit, those that run longest first."""
    controls, types, use = await read_controls(store), await store.types.all(), await store.limits.use()
    rules, full = Rules(declared(types), {}, controls), limit_name(scope, name)
    return await store.limits.holders([lane for lane in use.running if full in rules.of(lane)], most)


def _in_force(name: str, rules: Rules, used: dict[str, int], use: LimitUse, controls: Controls) -> LimitInForce:
    scope, _, what = name.partition(":")
    allowed, way = rules.bound(name), rules.bound(name).rate_limit
    running = used.get(name, 0)
    each = what == "*" or (scope == "limit" and any(other.startswith(f"{name}=") for other in used))
    return LimitInForce(
        scope=scope,
        name=what,
        concurrent=allowed.concurrent,
        rate=way.rate if way else None,
        burst=way.burst if way else None,
        set_by="operator" if _is_set(name, controls) else "handler",
        running=running,
        tokens=left(use.buckets.get(name), way, use.now) if way and not each else None,
        each=each,
        version=version_of(controls, LIMIT, name),
    )


def _is_set(name: str, controls: Controls) -> bool:
    scope, _, what = name.partition(":")
    candidates: Iterable[str] = (name, f"{scope}:{what.partition('=')[0]}", f"{scope}:*")
    return any(controls.get(LIMIT, candidate) for candidate in candidates)


def declared(types: Iterable[JobType]) -> dict[str, Bound]:
    """What handlers declare, by the name of the limit."""
    found: dict[str, Bound] = {}
    for job_type in types:
        for limit in job_type.settings.get("limits") or []:
            found[limit["name"]] = stored_bound(limit)
    return found
