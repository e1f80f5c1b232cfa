"""Breakers as a worker uses them: permits for what it starts, and what became of it.

Every change is a compare-and-swap on the breaker's control, so all workers together start no more than it allows. Who
opens, half-opens or closes a breaker says so; the others learn of it with their controls.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from fairlead.core.durations import seconds
from fairlead.core.jobs.model import ActiveLane, Claim, Lane
from fairlead.core.protection.breaker import (
    BREAKER,
    Breaker,
    BreakerState,
    Phase,
    breaker_state,
    give_back,
    heard,
    is_over,
    is_shut,
    opened,
    permit,
    why_open,
    why_open_for_all,
)
from fairlead.core.protection.controls import ABSENT, Change, Control
from fairlead.core.protection.run_counts import MOST_TENANTS, Counted, base_of, groups_of, of_tenant, tenant_of
from fairlead.handlers.spec import Registry
from fairlead.ports.jobs import CONTROLS_HINT
from fairlead.records.store import Store
from fairlead.runtime.controls import ControlView
from fairlead.runtime.run_counts import RunCounts
from fairlead.telemetry.events import (
    BreakerClosed,
    BreakerHalfOpen,
    BreakerOpened,
    BreakerRamping,
    Event,
    Telemetry,
)

TRIES = 5
LONGEST_TRIPPING = 1.0  # seconds that a breaker which seems about to open keeps jobs back


class Mark(NamedTuple):
    """The phase of a breaker that a run was permitted in."""

    breaker: str
    number: int
    since: float


class Permit(NamedTuple):
    """The right to start so many runs, and the breakers that gave it."""

    runs: int
    marks: tuple[Mark, ...]


class Verdict(NamedTuple):
    """What became of permitted runs: good, bad, or never begun."""

    good: int = 0
    bad: int = 0
    unused: int = 0


class Breakers:
    """All breakers that are not closed, for one worker."""

    def __init__(self, store: Store, view: ControlView, telemetry: Telemetry) -> None:
        self._store = store
        self._view = view
        self._telemetry = telemetry
        self.permitted: dict[tuple[str, int], tuple[Mark, ...]] = {}
        self._verdicts: dict[Mark, Verdict] = {}

    def get(self, name: str) -> BreakerState | None:
        """The breaker, unless it is closed."""
        return breaker_state(self._view.known.get(BREAKER, name))

    def is_letting_through(self) -> bool:
        """Whether some breaker allows more starts now than it has permitted."""
        now = self._view.now
        found = [breaker_state(control) for control in self._view.known.of(BREAKER).values()]
        return any(permit(item, 1, now)[0] for item in found if item is not None and not is_shut(item, now))

    async def consider(self, name: str, policy: Breaker, counted: Counted, settled: float = 0.0) -> None:
        """Open a breaker for all tenants, or for those whose own runs fail, if the counts of all workers say so.

        `settled` is how long it must have been counted for; tenants are counted from their first failure on, so that
        their successes always need a moment to come in.
        """
        why = why_open_for_all(policy, counted.of(name), counted.groups(name), settled)
        if why is not None:
            return await self._open_for_all(name, opened(policy, why, counted.now))
        room = MOST_TENANTS - len(self._tenants_of(name))
        for tenant, sums in counted.tenants(name).items():
            why = why_open(policy, sums, settled)
            if why is not None and self.get(tenant) is None and room > 0:
                room -= 1
                await self._apply([Change(BREAKER, tenant, opened(policy, why, counted.now).value(), ABSENT)])

    async def _open_for_all(self, name: str, item: BreakerState) -> None:
        """Open a closed breaker, if nobody else was first, in place of those of single tenants."""
        if self.get(name) is None:
            by_itself = [one for one, other in self._tenants_of(name).items() if other.by is None]
            opening = Change(BREAKER, name, item.value(), ABSENT)
            await self._apply([opening, *(self._change(one, None) for one in by_itself)])

    def _tenants_of(self, name: str) -> dict[str, BreakerState]:
        """The breakers of single tenants that are not closed."""
        return {one: item for one, item in self._known().items() if tenant_of(one) and base_of(one) == name}

    async def close_switched_off(self, registry: Registry) -> None:
        """Close the breakers that opened by themselves and are switched off in this application's code."""
        bases = {name for spec in registry.values() for name in spec.breakers}
        off = {name for name in bases if not registry.breaker_of(name).enabled}
        closing = [name for name, item in self._known().items() if base_of(name) in off and item.by is None]
        if closing:
            await self._apply([self._change(name, None) for name in closing])

    async def ask(self, names: Sequence[str], wanted: int) -> Permit | None:
        """The right to start up to so many runs that go through all these breakers."""
        found = {name: item for name in names if (item := self.get(name)) is not None}
        now = self._view.now
        count = min((permit(item, wanted, now)[0] for item in found.values()), default=0)
        if not count:
            return None
        after = {name: permit(item, count, now)[1] for name, item in found.items()}
        made = await self._apply([self._change(name, item) for name, item in after.items()])
        marks = tuple(_mark(control.name, after[control.name]) for control in made)
        if len(made) == len(after):
            return Permit(count, marks)
        for mark in marks:
            self._note(mark, Verdict(unused=count))
        return None

    def began(self, given: Permit, claims: Sequence[Claim]) -> None:
        """These runs use the permit; what is left of it goes back."""
        for claim in claims:
            self.permitted[claim.id, claim.fence] = given.marks
        for mark in given.marks if len(claims) < given.runs else ():
            self._note(mark, Verdict(unused=given.runs - len(claims)))

    def ended(self, claim: Claim, good: bool, blamed: Iterable[str] = ()) -> None:
        """A run has ended; one that failed for other reasons tells nothing of a breaker, and its permit goes back."""
        for mark in self.permitted.pop((claim.id, claim.fence), ()):
            bad = base_of(mark.breaker) in blamed
            self._note(mark, Verdict(int(good), int(bad), int(not good and not bad)))

    async def settle(self) -> bool:
        """Tell what became of permitted runs, and close what has ramped up; returns whether there was anything."""
        waiting = dict(self._verdicts)
        for mark, verdict in waiting.items():
            await self._tell(mark, verdict)
            self._forget(mark, verdict)
        over = [name for name, item in self._known().items() if is_over(item, self._view.now)]
        if over:
            await self._apply([self._change(name, None) for name in over])
        return bool(waiting or over)

    async def _tell(self, mark: Mark, verdict: Verdict) -> None:
        """The phase may have passed, and then it does not count; another may be first, and then it is told again."""

        def after(item: BreakerState) -> BreakerState:
            known = heard(item, verdict.good, verdict.bad, self._view.now)
            return give_back(known, verdict.unused) if known.number == item.number else known

        for _ in range(TRIES):
            item = self.get(mark.breaker)
            if item is None or _mark(mark.breaker, item) != mark:
                return
            if await self._apply([self._change(mark.breaker, after(item))]):
                return

    async def _apply(self, changes: Sequence[Change]) -> list[Control]:
        """Write; what was overtaken is read again, and what was changed is told."""
        before = self._known()
        made = await self._store.controls.change(changes)
        events = [_event(control, before.get(control.name)) for control in made]
        turned = [event for event in events if event is not None]
        for event in turned:
            self._telemetry.emit(event)
        reset = [event.breaker for event in turned if isinstance(event, BreakerOpened | BreakerClosed)]
        if reset:
            await self._store.run_counts.forget(reset)
        if turned:
            await self._store.jobs.wake([CONTROLS_HINT])
        await self._view.refresh()
        return made

    def _known(self) -> dict[str, BreakerState]:
        found = {name: breaker_state(control) for name, control in self._view.known.of(BREAKER).items()}
        return {name: item for name, item in found.items() if item is not None}

    def _change(self, name: str, item: BreakerState | None) -> Change:
        control = self._view.known.get(BREAKER, name)
        return Change(BREAKER, name, None if item is None else item.value(), control.version if control else ABSENT)

    def _note(self, mark: Mark, verdict: Verdict) -> None:
        self._verdicts[mark] = _sum(self._verdicts.get(mark, Verdict()), verdict, int.__add__)

    def _forget(self, mark: Mark, verdict: Verdict) -> None:
        """What was told; more may have come in meanwhile."""
        left = _sum(self._verdicts.pop(mark), verdict, int.__sub__)
        if any(left):
            self._verdicts[mark] = left


class TrippingBreakers:
    """Breakers that are about to open: their jobs are not claimed until the counts of all workers decide.

    A breaker opens by the counts of all workers, which takes them about half a second. A type that fails at once, every
    time, could meanwhile take thousands of runs from the others. So a worker whose own runs mostly fail waits for that
    decision, for a second at most.
    """

    def __init__(self, registry: Registry, counts: RunCounts) -> None:
        self._registry = registry
        self._counts = counts
        self._since: dict[str, float] = {}
        self.changes = 0  # rises with each breaker that comes or goes

    def consider(self, name: str, tenant: str) -> bool:
        """Whether the tenant's breaker, or the one for all, is about to open now, after one more failed run."""
        own = self._begin(of_tenant(name, tenant), self._why_own)
        return self._begin(name, self._why_all) or own

    def _begin(self, name: str, why: Callable[[str], str | None]) -> bool:
        """Add a breaker if most of its runs failed; looks at every so many failures."""
        if self._counts.bad[name] % self._registry.breaker_of(base_of(name)).minimum or name in self._since:
            return False
        self._counts.fold()
        if why(name) is None:
            return False
        self._since[name] = time.monotonic()
        self.changes += 1
        return True

    def _why_own(self, name: str) -> str | None:
        return why_open(self._registry.breaker_of(base_of(name)), self._counts.sums(name))

    def _why_all(self, name: str) -> str | None:
        groups = [self._counts.sums(group) for group in groups_of(name)]
        return why_open_for_all(self._registry.breaker_of(name), self._counts.sums(name), groups)

    def overdue(self) -> set[str]:
        """The breakers that have waited for a decision long enough."""
        now = time.monotonic()
        return {name for name, since in self._since.items() if now - since >= LONGEST_TRIPPING}

    def remove(self, names: Iterable[str]) -> None:
        """It was decided about these breakers."""
        known = self._since.keys() & names
        for name in known:
            del self._since[name]
        self.changes += len(known)

    def hold(self, breakers: Iterable[str], tenant: str) -> bool:
        """Whether the tenant's runs that go through these breakers have to wait."""
        if not self._since:
            return False
        return any(name in self._since or of_tenant(name, tenant) in self._since for name in breakers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._since)

    def __len__(self) -> int:
        return len(self._since)


def _mark(name: str, item: BreakerState) -> Mark:
    return Mark(name, item.number, item.since)


def spread(lanes: Sequence[ActiveLane], count: int) -> dict[Lane, int]:
    """So many starts over the lanes, those that have waited longest first."""
    served = sorted(lanes, key=lambda active: active.since)[:count]
    share, rest = divmod(count, len(served))
    return {active.lane: share + (at < rest) for at, active in enumerate(served)}


def _sum(one: Verdict, other: Verdict, operation: Callable[[int, int], int]) -> Verdict:
    return Verdict(*map(operation, one, other))


def _event(control: Control, before: BreakerState | None) -> Event | None:
    """What has happened to a breaker, if it is in another phase now."""
    after = breaker_state(control)
    if after is None:
        return BreakerClosed(control.name)
    if before is not None and _mark(control.name, before) == _mark(control.name, after):
        return None
    match after.phase:
        case Phase.OPEN:
            cooldown = 0.0 if after.until is None else after.until - after.since
            return BreakerOpened(control.name, after.why, after.openings, cooldown, after.since)
        case Phase.HALF_OPEN:
            return BreakerHalfOpen(control.name, after.policy.probes, after.since)
        case Phase.RAMPING:
            return BreakerRamping(control.name, seconds(after.policy.ramp), after.since)
