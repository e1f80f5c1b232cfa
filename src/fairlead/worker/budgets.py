"""Retry budgets as a worker uses them: the sums of all workers as last told, and what this one has added since."""

import time
from collections import Counter
from collections.abc import Iterator

from fairlead.core.durations import seconds
from fairlead.core.jobs.failure import RetryDenial
from fairlead.core.jobs.model import Settlement
from fairlead.core.jobs.settle import RetryAdjustment
from fairlead.core.protection.retry_budget import KIND, RetryBudget, allowed, stretch
from fairlead.core.protection.run_counts import BUCKETS, TENANT, Count, Sums, subject
from fairlead.core.stored import restored
from fairlead.runtime.controls import ControlView
from fairlead.runtime.run_counts import RunCounts
from fairlead.telemetry.events import RetriesDelayed, RetriesRefused, Telemetry


class Budgets:
    """The budgets of the tenants whose runs have failed lately."""

    def __init__(self, usual: RetryBudget, view: ControlView, counts: RunCounts, telemetry: Telemetry) -> None:
        self._usual = usual
        self._view = view
        self._counts = counts
        self._telemetry = telemetry
        self._sums: dict[str, Sums] = {}
        self._delays: dict[str, list[float]] = {}
        self._refused: Counter[str] = Counter()
        self._told_at: dict[str, float] = {}

    def adjustment(self, tenant: str, is_first: bool, blameless: bool) -> RetryAdjustment:
        """What becomes of the retry of a failed run: none, or a longer wait, which the blameless have at worst."""
        if is_first:
            self._counts.first_attempts.add(tenant, 1)
            self._add(tenant, Sums(1, 0))
        policy, sums = self._policy(tenant), self._sums.get(tenant, Sums())
        at_least = stretch(policy, sums)
        if at_least == 0.0 or blameless or policy.beyond == "delay":
            return RetryAdjustment(at_least=at_least)
        return RetryAdjustment(denied_by=RetryDenial.BUDGET, why=f"tenant {tenant} has used up its retry budget")

    def retried(self, tenant: str, adjustment: RetryAdjustment, settlement: Settlement) -> None:
        """Count a retry: now, or where it was delayed to."""
        ahead = settlement.delay if adjustment.at_least else 0.0
        self._counts.retry(tenant, ahead, seconds(self._policy(tenant).window))
        self._add(tenant, Sums(0, 1))
        if adjustment.at_least:
            self._delays.setdefault(tenant, []).append(settlement.delay)

    def refused(self, tenant: str) -> None:
        """Count a job that was not tried again."""
        self._refused[tenant] += 1

    def counts(self, troubled: frozenset[str]) -> Iterator[Count]:
        """What there is to tell of tenants with retries."""
        known = {name.partition(":")[2] for name in troubled if name.startswith(f"{TENANT}:")}
        for tenant in known | self._counts.retries.keys():
            name, window = subject(TENANT, tenant), seconds(self._policy(tenant).window)
            yield Count(name, self._counts.first_attempts.take(tenant), 0, window)
            for part, count in self._counts.retries.get(tenant, {}).items():
                yield Count(name, 0, count, window, part * window / BUCKETS)

    def learn(self, tenant: str, sums: Sums) -> None:
        """Take over the sums of all workers."""
        self._sums[tenant] = sums

    def forget_all_but(self, troubled: frozenset[str]) -> None:
        """Tenants without retries in their window have their whole budget."""
        self._sums = {tenant: sums for tenant, sums in self._sums.items() if subject(TENANT, tenant) in troubled}

    def tell(self) -> None:
        """Say whose retries are delayed or refused, once in each window."""
        now = time.monotonic()
        for tenant in self._delays.keys() | self._refused.keys():
            policy, sums = self._policy(tenant), self._sums.get(tenant, Sums())
            told_at = self._told_at.get(tenant)
            if told_at is None or now - told_at >= seconds(policy.window):
                delays, refused = self._delays.pop(tenant, []), self._refused.pop(tenant, 0)
                self._told_at[tenant] = now
                most = int(min(allowed(policy, sums), 1e15))
                if delays:
                    self._telemetry.emit(RetriesDelayed(tenant, len(delays), max(delays), sums.bad, most))
                if refused:
                    self._telemetry.emit(RetriesRefused(tenant, refused, sums.bad, most))

    def _policy(self, tenant: str) -> RetryBudget:
        control = self._view.known.get(KIND, tenant)
        return restored(RetryBudget, control.value) if control and control.value else self._usual

    def _add(self, tenant: str, more: Sums) -> None:
        known = self._sums.get(tenant, Sums())
        self._sums[tenant] = Sums(known.good + more.good, known.bad + more.bad, known.counted_for)
