"""What the ends of runs mean beyond their own job: breakers, quarantine, retry budgets.

Ends are summed up in memory and sent to the store about twice a second. Runs that need a dependency are always sent,
all others only while their type or tenant is troubled, that is, while some worker had a failure lately: the worker with
the first one sends a hint to all workers, and these add the successes they remember. So where nothing fails, nothing is
written. Each worker reads the sums of all workers; core decides what follows, and one worker's write wins.

A troubled type is counted by tenant, too: the failures of one tenant open the breaker for that tenant alone.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Set
from uuid import uuid4

from fairlead.core.durations import Duration, seconds
from fairlead.core.flush import Flush
from fairlead.core.jobs.failure import FailureClass, RetryDenial
from fairlead.core.jobs.model import Claim, Ending, Outcome, Settlement
from fairlead.core.jobs.settle import RetryAdjustment
from fairlead.core.jobs.states import State
from fairlead.core.protection import quarantine
from fairlead.core.protection.breaker import BREAKER
from fairlead.core.protection.controls import ABSENT, Change
from fairlead.core.protection.gates import limiting
from fairlead.core.protection.run_counts import (
    DEPENDENCY,
    MOST_TENANTS,
    QUARANTINE,
    TENANT,
    TYPE,
    Count,
    Counted,
    Sums,
    base_of,
    blamed,
    groups_of,
    of_group,
    of_tenant,
    subject,
    tenant_of,
)
from fairlead.handlers.spec import Registry
from fairlead.ports.jobs import CONTROLS_HINT, HEALTH_HINT
from fairlead.records.store import Store
from fairlead.runtime.breakers import Breakers, TrippingBreakers
from fairlead.runtime.controls import ControlView
from fairlead.runtime.periodic import Periodic
from fairlead.runtime.run_counts import GENERATION, RunCounts
from fairlead.telemetry.events import Telemetry, TypeQuarantined
from fairlead.worker.budgets import Budgets

EVERY = 0.5
SOONEST = 0.1
SURVEY = 2.0
SETTLED = 0.5  # what has begun to fail is judged when all workers had time to add what they know
FAILURES = (Ending.FAILED, Ending.TIMED_OUT)
EXCUSED = RetryAdjustment(excused=True)
QUARANTINED = RetryAdjustment(denied_by=RetryDenial.QUARANTINE, why="its type is in quarantine")
DECIDED = Sums(counted_for=SETTLED)  # an open breaker is counted no longer
ADVICE = "find the cause in `fairlead jobs groups`, mend it, then run `fairlead settings remove quarantine {}`"


class Health:
    """Counts how the runs of one worker end, and decides with all others what follows."""

    def __init__(
        self,
        registry: Registry,
        store: Store,
        view: ControlView,
        breakers: Breakers,
        telemetry: Telemetry,
        news: asyncio.Event,
    ) -> None:
        self._registry = registry
        self._store = store
        self._view = view
        self._breakers = breakers
        self._telemetry = telemetry
        self._news = news  # is set where a breaker may let more runs through
        self._counts = RunCounts(self._subjects_of_type)
        self.tripping = TrippingBreakers(registry, self._counts)
        self._unsent: list[Count] = []
        self._counting = Flush(str(uuid4()), 1)
        self._troubled: frozenset[str] = frozenset()
        self._budgets = Budgets(registry.budget, view, self._counts, telemetry)
        self.repeated = Periodic(self._keep_up, EVERY, SOONEST)
        self._one_at_a_time = asyncio.Lock()
        self._surveyed_at = self._aged_at = time.monotonic()

    async def begin(self) -> None:
        """Learn what all others know, before the first run ends."""
        await self._view.refresh()
        await self._breakers.close_switched_off(self._registry)
        counted = await self._store.run_counts.read()
        self._troubled = frozenset(counted.sums)
        for name, sums in counted.sums.items():
            scope, _, tenant = name.partition(":")
            if scope == TENANT:
                self._budgets.learn(tenant, sums)

    def succeeded(self, claim: Claim) -> None:
        """Count a run that succeeded."""
        lane = claim.lane
        self._counts.new[lane.type, lane.tenant] += 1
        if claim.attempt > 1:
            self._counts.new_retries[lane.tenant] += 1
        if self._breakers.permitted:
            self._breakers.ended(claim, True)

    def failed(self, claim: Claim, outcome: Outcome) -> RetryAdjustment | None:
        """Count a run that ended in another way; for a failure, what its settlement has to consider."""
        lane = claim.lane
        names = blamed(outcome, lane.type, self._registry[lane.type].needs)
        self._breakers.ended(claim, False, names)
        return self._failed(claim, outcome, names) if outcome.ending in FAILURES else None

    def decided(self, claim: Claim, adjustment: RetryAdjustment, settlement: Settlement) -> None:
        """Count a retry against its tenant's budget, or that there was none."""
        if settlement.state is State.RETRYING and not adjustment.excused:
            self._budgets.retried(claim.lane.tenant, adjustment, settlement)
        elif settlement.retry_denied_by is RetryDenial.BUDGET:
            self._budgets.refused(claim.lane.tenant)

    def hint(self) -> None:
        """Something has begun to fail somewhere: add what is known about it."""
        self._surveyed_at = 0.0
        self.repeated.hint()

    @property
    def _names(self) -> set[str]:
        """The breakers that this application's runs go through; types may be declared while it works."""
        return {name for spec in self._registry.values() for name in spec.breakers}

    async def _keep_up(self) -> None:
        await self.flush()
        if self._breakers.is_letting_through():
            self._news.set()

    async def flush(self) -> None:
        """Tell the ends of runs, decide what follows from all workers' sums, and tell what became of permits."""
        async with self._one_at_a_time:
            await self._flush()

    async def _flush(self) -> None:
        if self._counts.bad or self._view.known.of(BREAKER):
            await self._view.refresh(EVERY)
        await self._survey()
        counts = self._unsent or self._collect()
        if counts:
            self._unsent = counts
            await self._store.run_counts.count(counts, self._counting)
            self._unsent, self._counting = [], self._counting.next()
            await self._announce(counts)
        if counts or len(self.tripping):
            await self._decide({count.subject for count in counts})
        await self._breakers.settle()

    def _failed(self, claim: Claim, outcome: Outcome, names: tuple[str, ...]) -> RetryAdjustment:
        tenant = claim.lane.tenant
        for name in names:
            self._counts.bad.update(self._subjects_of(name, tenant))
            if self.tripping.consider(name, tenant):
                self.repeated.hint()
        away = outcome.error is not None and outcome.error.failure is FailureClass.DEPENDENCY
        if away and (limiting(self._view.known, names, tenant) or self.tripping.hold(names, tenant)):
            return EXCUSED
        adjustment = self._budgets.adjustment(tenant, claim.attempt == 1, blameless=away)
        attempts = quarantine.attempts_of(self._view.known.get(quarantine.KIND, claim.lane.type))
        return QUARANTINED if attempts and claim.attempt >= attempts and not away else adjustment

    def _subjects_of_type(self, type_: str, tenant: str) -> Iterator[str]:
        """What a good run is counted under."""
        for name in self._registry[type_].breakers:
            yield from self._subjects_of(name, tenant)

    def _subjects_of(self, name: str, tenant: str) -> Iterator[str]:
        """What a run is counted under for a breaker; not for one that is open, which learns of its probes otherwise."""
        if not limiting(self._view.known, (name,), tenant):
            yield from (name, of_group(name, tenant), of_tenant(name, tenant))
        scope, _, own = name.partition(":")
        if scope == TYPE:
            yield from (subject(QUARANTINE, own), of_group(subject(QUARANTINE, own), tenant))

    async def _survey(self) -> None:
        """Look who is troubled, if there are successes that they might need, and forget the old ones."""
        now = time.monotonic()
        concerned = self._counts.has_good or self._troubled
        if concerned and now - self._surveyed_at > SURVEY:
            self._surveyed_at = now
            self._troubled = frozenset((await self._store.run_counts.read()).sums)
            self._budgets.forget_all_but(self._troubled)
        if now - self._aged_at > GENERATION:
            self._aged_at = now
            self._counts.age()

    def _collect(self) -> list[Count]:
        self._counts.fold()
        counts = [*self._of_breakers(), *self._budgets.counts(self._troubled)]
        self._counts.bad.clear()
        self._counts.retries.clear()
        return [count for count in counts if count.good > 0 or count.bad > 0]

    def _of_breakers(self) -> Iterator[Count]:
        """Count every dependency, and the types that are troubled."""
        failing, known = _names_of(self._counts.bad), _names_of(self._troubled)
        for name in self._names:
            is_troubled = name in failing or name in known
            if is_troubled or name.startswith(DEPENDENCY):
                yield from self._of_breaker(name, is_troubled)
            scope, _, type_ = name.partition(":")
            if is_troubled and scope == TYPE:
                yield from self._of_quarantine(type_)

    def _of_breaker(self, name: str, is_troubled: bool) -> Iterator[Count]:
        """Count what ran while the breaker was closed."""
        policy = self._registry.breaker_of(name)
        if policy.enabled:
            parts = (*groups_of(name), *self._tenants_of(name)) if is_troubled else ()
            for part in (name, *parts):
                yield self._count(part, policy.window)

    def _of_quarantine(self, type_: str) -> Iterator[Count]:
        """It looks back further than the breaker: while either is troubled, successes count."""
        policy = self._registry[type_].quarantine
        if policy.enabled and self._view.known.get(quarantine.KIND, type_) is None:
            name = subject(QUARANTINE, type_)
            for part in (name, *groups_of(name)):
                yield self._count(part, policy.window)

    def _count(self, name: str, window: Duration) -> Count:
        return Count(name, self._counts.good.take(name), self._counts.bad[name], seconds(window))

    def _tenants_of(self, name: str) -> Iterable[str]:
        """The tenants to count one by one: those that are already, and of the others those that fail most."""
        counted = {part for part in self._troubled if tenant_of(part) and base_of(part) == name}
        failing = {part: bad for part, bad in self._counts.bad.items() if tenant_of(part) and base_of(part) == name}
        new = sorted(failing.keys() - counted, key=failing.__getitem__, reverse=True)
        return [*counted, *new[: max(0, MOST_TENANTS - len(counted))]]

    async def _announce(self, counts: list[Count]) -> None:
        failing = {count.subject for count in counts if count.bad} - self._troubled
        if failing:
            self._troubled |= failing
            await self._store.jobs.wake([HEALTH_HINT])

    async def _decide(self, told: Set[str]) -> None:
        """Draw the consequences for what was counted, and for breakers that are about to open."""
        counted = await self._store.run_counts.read()
        for name in told & counted.sums.keys():
            scope, _, own = name.partition(":")
            if scope == TENANT:
                self._budgets.learn(own, counted.sums[name])
            elif scope == QUARANTINE and base_of(name) == name:
                await self._consider_quarantine(own, counted)
        tripping = set(self.tripping)
        for name in {base_of(part) for part in told | tripping} & self._names:
            await self._breakers.consider(name, self._registry.breaker_of(name), counted, SETTLED)
        self._budgets.tell()
        if tripping:
            settled = {name for name in tripping if counted.sums.get(name, DECIDED).counted_for >= SETTLED}
            self.tripping.remove(settled | self.tripping.overdue())
            self._news.set()

    async def _consider_quarantine(self, type_: str, counted: Counted) -> None:
        policy, name = self._registry[type_].quarantine, subject(QUARANTINE, type_)
        why = quarantine.why_quarantined(policy, counted.of(name), counted.groups(name))
        if why is None:
            return
        change = Change(quarantine.KIND, type_, quarantine.entry(why, None, policy.attempts), ABSENT)
        if await self._store.controls.change([change]):
            self._telemetry.emit(TypeQuarantined(type_, why, ADVICE.format(type_)))
            await self._store.run_counts.forget([name])
            await self._store.jobs.wake([CONTROLS_HINT])
        await self._view.refresh()


def _names_of(subjects: Iterable[str]) -> set[str]:
    """The breakers that subjects are counted for; a quarantine's are those of its type's breaker."""
    names = set()
    for name in subjects:
        scope, _, own = base_of(name).partition(":")
        names.add(subject(TYPE, own) if scope == QUARANTINE else base_of(name))
    return names
