"""Breakers for operators: where each one is, why, and opening and closing them by hand."""

from dataclasses import dataclass
from datetime import datetime

from fairlead.core.durations import instant
from fairlead.core.jobs.job_records import JobType
from fairlead.core.names import check_name
from fairlead.core.protection.breaker import BREAKER, BreakerState, breaker_state
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.run_counts import DEPENDENCY, TYPE, Sums, breakers_of, subject
from fairlead.errors import NotSet
from fairlead.records.store import Store

CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class BreakerStatus:
    """A breaker as an operator sees it; `good` and `bad` are runs of its window, or of its phase while not closed."""

    name: str
    phase: str
    good: int
    bad: int
    why: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    openings: int = 0
    permits: int = 0
    by: str | None = None
    types: tuple[str, ...] = ()  # whose jobs go through it


async def breakers(store: Store, everything: bool = False) -> list[BreakerStatus]:
    """The breakers of dependencies, and those of types that have something to tell; or simply all."""
    known, counts = await _controls(store), (await store.run_counts.read()).sums
    users = _users(await store.types.all())
    names = users.keys() | known.of(BREAKER).keys()
    told = [name for name in names if everything or not name.startswith(TYPE) or name in counts or _is_set(known, name)]
    return [
        _status(name, breaker_state(known.get(BREAKER, name)), counts.get(name, Sums()), users.get(name, ()))
        for name in sorted(told)
    ]


async def breaker(store: Store, name: str) -> BreakerStatus:
    """One breaker; NotSet where there is none of this name."""
    full = full_name(name)
    found = {status.name: status for status in await breakers(store, everything=True)}
    if full not in found:
        known = ", ".join(sorted(found)) or "none"
        raise NotSet(f"no registered type goes through a breaker {full!r:.200}; there are: {known:.1000}")
    return found[full]


def full_name(name: str) -> str:
    """The name with its scope; without one it is that of a dependency."""
    scope, separator, own = name.partition(":")
    if separator and scope in (TYPE, DEPENDENCY):
        return subject(scope, check_name(scope, own))
    return subject(DEPENDENCY, check_name(DEPENDENCY, name))


async def _controls(store: Store) -> Controls:
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    return controls


def _is_set(controls: Controls, name: str) -> bool:
    return controls.get(BREAKER, name) is not None


def _users(types: list[JobType]) -> dict[str, tuple[str, ...]]:
    """Which types go through each breaker."""
    users: dict[str, tuple[str, ...]] = {}
    for item in sorted(types, key=lambda item: item.name):
        for name in breakers_of(item.name, item.settings.get("needs", ())):
            users[name] = (*users.get(name, ()), item.name)
    return users


def _status(name: str, item: BreakerState | None, counted: Sums, types: tuple[str, ...]) -> BreakerStatus:
    if item is None:
        return BreakerStatus(name, CLOSED, counted.good, counted.bad, types=types)
    return BreakerStatus(
        name=name,
        phase=item.phase.value,
        good=item.good,
        bad=item.bad,
        why=item.why,
        since=instant(item.since),
        until=instant(item.until),
        openings=item.openings,
        permits=item.permits,
        by=item.by,
        types=types,
    )
