"""What the ends of runs mean beyond their own job: breakers, quarantine, retry budgets.

Ends are summed up in memory and told to the store about twice a second. Runs that need a dependency are always told,
those of types and tenants only while these are troubled, that is, while somebody has had a failure lately: who has the
first one hints to all workers, and these add the successes they remember. So where nothing fails, nothing is written.
The store answers with the sums of all workers; core decides what follows, and one worker's write wins.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from uuid import uuid4

from fairlead.core.durations import seconds
from fairlead.core.flush import Flush
from fairlead.core.jobs.failure import FailureClass, RetryDenial
from fairlead.core.jobs.model import Claim, Ending, Outcome, Settlement
from fairlead.core.jobs.settle import RetryAdjustment
from fairlead.core.jobs.states import State
from fairlead.core.protection import quarantine
from fairlead.core.protection.breaker import BREAKER, opened, why_open
from fairlead.core.protection.controls import ABSENT, Change
from fairlead.core.protection.gates import limiting
from fairlead.core.protection.run_counts import (
    DEPENDENCY,
    QUARANTINE,
    TENANT,
    TYPE,
    Count,
    Counted,
    Sums,
    blamed,
    subject,
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
        self._counts = RunCounts()
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
        counted = await self._store.run_counts.read()
        self._troubled = frozenset(counted.sums)
        for name, sums in counted.sums.items():
            scope, _, tenant = name.partition(":")
            if scope == TENANT:
                self._budgets.learn(tenant, sums)

    def succeeded(self, claim: Claim) -> None:
        """Count a run that succeeded."""
        lane = claim.lane
        self._counts.good[lane.type, lane.tenant] += 1
        if claim.attempt > 1:
            self._counts.good_retries[lane.tenant] += 1
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
            counted = await self._store.run_counts.count(counts, self._counting)
            self._unsent, self._counting = [], self._counting.next()
            await self._announce(counts)
            await self._decide(counted)
        if len(self.tripping):
            await self._judge_tripping()
        await self._breakers.settle()

    async def _judge_tripping(self) -> None:
        """Nothing of them is claimed, so nobody adds to their counts any more: these are asked for."""
        counted = await self._store.run_counts.read()
        judged = {name for name in self.tripping if counted.sums.get(name, DECIDED).counted_for >= SETTLED}
        for name in judged & counted.sums.keys():
            await self._consider_opening(name, counted.sums[name], counted.now)
        self.tripping.remove(judged | self.tripping.overdue())
        self._news.set()

    def _failed(self, claim: Claim, outcome: Outcome, names: tuple[str, ...]) -> RetryAdjustment:
        for name in names:
            self._counts.bad[name] += 1
            if self.tripping.consider(name) or self._counts.bad[name] == self._registry.breaker_of(name).minimum:
                self.repeated.hint()
        away = outcome.error is not None and outcome.error.failure is FailureClass.DEPENDENCY
        if away and limiting(self._view.known, names):
            return EXCUSED
        adjustment = self._budgets.adjustment(claim.lane.tenant, claim.attempt == 1, blameless=away)
        attempts = quarantine.attempts_of(self._view.known.get(quarantine.KIND, claim.lane.type))
        return QUARANTINED if attempts and claim.attempt >= attempts and not away else adjustment

    async def _survey(self) -> None:
        """Look who is troubled, if there are successes that they might need, and forget the old ones."""
        now = time.monotonic()
        concerned = self._counts.good or len(self._counts.types) or self._troubled
        if concerned and now - self._surveyed_at > SURVEY:
            self._surveyed_at = now
            self._troubled = frozenset((await self._store.run_counts.read()).sums)
            self._budgets.forget_all_but(self._troubled)
        if now - self._aged_at > GENERATION:
            self._aged_at = now
            self._counts.age()

    def _collect(self) -> list[Count]:
        fresh = self._counts.fold()
        counts = [*self._of_dependencies(fresh), *self._of_types(), *self._budgets.counts(self._troubled)]
        self._counts.bad.clear()
        self._counts.retries.clear()
        return [count for count in counts if count.good > 0 or count.bad > 0]

    def _of_dependencies(self, fresh: Counter[str]) -> Iterator[Count]:
        good: Counter[str] = Counter()
        for type_, count in fresh.items():
            for need in self._registry[type_].needs:
                good[subject(DEPENDENCY, need)] += count
        bad = {name: count for name, count in self._counts.bad.items() if name.startswith(DEPENDENCY)}
        for name in good.keys() | bad.keys():
            yield from self._of_breaker(name, good[name], bad.get(name, 0))

    def _of_types(self) -> Iterator[Count]:
        """The quarantine looks back further than the breaker: while either is troubled, successes count."""
        scopes = (f"{TYPE}:", f"{QUARANTINE}:")
        types = {name.partition(":")[2] for name in (*self._counts.bad, *self._troubled) if name.startswith(scopes)}
        for type_ in types & self._registry.keys():
            name = subject(TYPE, type_)
            good, bad = self._counts.types.take(type_), self._counts.bad[name]
            yield from self._of_breaker(name, good, bad)
            policy = self._registry[type_].quarantine
            if policy.enabled and self._view.known.get(quarantine.KIND, type_) is None:
                yield Count(subject(QUARANTINE, type_), good, bad, seconds(policy.window))

    def _of_breaker(self, name: str, good: int, bad: int) -> Iterator[Count]:
        """Runs that ended while the breaker was not closed tell nothing new; those with permits are told apart."""
        policy = self._registry.breaker_of(name)
        if policy.enabled and not limiting(self._view.known, (name,)):
            yield Count(name, good, bad, seconds(policy.window))

    async def _announce(self, counts: list[Count]) -> None:
        failing = {count.subject for count in counts if count.bad} - self._troubled
        if failing:
            self._troubled |= failing
            await self._store.jobs.wake([HEALTH_HINT])

    async def _decide(self, counted: Counted) -> None:
        for name, sums in counted.sums.items():
            scope, _, own = name.partition(":")
            if scope == TENANT:
                self._budgets.learn(own, sums)
            elif scope == QUARANTINE:
                await self._consider_quarantine(own, sums)
            else:
                await self._consider_opening(name, sums, counted.now)
        self._budgets.tell()

    async def _consider_opening(self, name: str, sums: Sums, now: float) -> None:
        policy = self._registry.breaker_of(name)
        why = why_open(policy, sums, SETTLED if name.startswith(TYPE) else 0.0)
        if why is not None:
            await self._breakers.open(name, opened(policy, why, now))

    async def _consider_quarantine(self, type_: str, sums: Sums) -> None:
        why = quarantine.why_quarantined(self._registry[type_].quarantine, sums)
        if why is None:
            return
        policy = self._registry[type_].quarantine
        change = Change(quarantine.KIND, type_, quarantine.entry(why, None, policy.attempts), ABSENT)
        if await self._store.controls.change([change]):
            self._telemetry.emit(TypeQuarantined(type_, why, ADVICE.format(type_)))
            await self._store.run_counts.forget([subject(QUARANTINE, type_)])
            await self._store.jobs.wake([CONTROLS_HINT])
        await self._view.refresh()
