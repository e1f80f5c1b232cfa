"""Breakers for operators: where each one is, why, and opening and closing them by hand."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from fairlead.core.durations import instant
from fairlead.core.jobs.job_records import JobType
from fairlead.core.names import check_name
from fairlead.core.protection.breaker import BREAKER, BreakerState, breaker_state
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.run_counts import (
    DEPENDENCY,
    TYPE,
    Counted,
    Sums,
    base_of,
    breakers_of,
    of_tenant,
    subject,
    tenant_of,
)
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
    """The breakers of dependencies, those of types that failed lately, and those of tenants that are not closed.

    With `everything` also those of all other types.
    """
    view = await _view(store)
    shown = [name for name in view.users if everything or not name.startswith(TYPE) or view.has_news(name)]
    return [view.status(name) for name in sorted({*shown, *view.known.of(BREAKER)})]


async def breaker(store: Store, name: str) -> BreakerStatus:
    """One breaker; NotSet where no registered type goes through it."""
    full, view = full_name(name), await _view(store)
    if base_of(full) not in view.users and full not in view.known.of(BREAKER):
        known = ", ".join(sorted(view.users)) or "none"
        raise NotSet(f"no registered type goes through a breaker {full!r:.200}; there are: {known:.1000}")
    return view.status(full)


def full_name(name: str) -> str:
    """The name with its scope; without one it is that of a dependency. `~TENANT` at its end names a tenant's own."""
    base, tenant = base_of(name), tenant_of(name)
    scope, separator, own = base.partition(":")
    if not separator or scope not in (TYPE, DEPENDENCY):
        scope, own = DEPENDENCY, base
    full = subject(scope, check_name(scope, own))
    return of_tenant(full, check_name("tenant", tenant)) if tenant else full


class _View(NamedTuple):
    """All breakers at one moment: what is set, what was counted, and which types go through each."""

    known: Controls
    counted: Counted
    users: dict[str, tuple[str, ...]]

    def has_news(self, name: str) -> bool:
        """Whether it is not closed, or had failures lately."""
        return name in self.known.of(BREAKER) or name in self.counted.sums

    def status(self, name: str) -> BreakerStatus:
        """A breaker with its counts."""
        item = breaker_state(self.known.get(BREAKER, name))
        return _status(name, item, self.counted.of(name), self.users.get(base_of(name), ()))


async def _view(store: Store) -> _View:
    controls = Controls()
    controls.follow((await store.controls.read()).controls)
    return _View(controls, await store.run_counts.read(), _users(await store.types.all()))


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
