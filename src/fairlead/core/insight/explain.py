"""Explains why a job is in its state or waits: reasons in words for people, with codes and figures for programs.

Each check turns the facts into reasons. To explain more, write a check and add it to CHECKS, in the order of display.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fairlead.core.durations import humanize, instant
from fairlead.core.insight.wait_reasons import BudgetFacts, LimitFacts, ShareFacts
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import Lane
from fairlead.core.jobs.states import FINAL, State
from fairlead.core.jobs.workers import ACTIVE, WorkerRecord, reserved
from fairlead.core.protection.backpressure import deferred_of
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.gates import why_closed, why_slowed

MOST_AHEAD = 10_000


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a job. `now` is the database's; `ahead` counts ready jobs before it in its lane, up to MOST_AHEAD;
    `lane_since` is when the first of them became ready; `breakers` belong to its type; `limits` apply to its lane."""

    job: JobRecord
    now: float
    workers: Sequence[WorkerRecord] = ()
    ahead: int = 0
    lane_since: float | None = None
    newest_version: int | None = None
    controls: Controls = field(default_factory=Controls)
    breakers: tuple[str, ...] = ()
    limits: tuple[LimitFacts, ...] = ()
    share: ShareFacts | None = None
    budget: BudgetFacts | None = None

    @property
    def lane(self) -> Lane:
        """The job's lane."""
        job = self.job
        return Lane(job.pool, job.tenant, job.type, job.priority, job.version, job.limits)

    @property
    def closed(self) -> str | None:
        """Why no job of its lane may start, or None."""
        return why_closed(self.lane, self.controls, self.breakers, self.now)


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for a job's state or wait."""

    code: str
    words: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reasons, most important first, and the expected start if it is known."""

    state: State
    reasons: tuple[Reason, ...]
    expected_start: float | None

    @property
    def summary(self) -> str:
        """The reasons as one text."""
        return "; ".join(reason.words for reason in self.reasons)

    @property
    def estimated_start(self) -> datetime | None:
        """When the job should start; None if unknown or started."""
        return instant(self.expected_start)


Check = Callable[[Facts], "Reason | Iterable[Reason] | None"]


def explain(facts: Facts, checks: Iterable[Check] | None = None) -> Explanation:
    """Return the reasons for a job's state and wait, and its expected start."""
    found: list[Reason] = []
    for check in checks or CHECKS:
        said = check(facts)
        found += [said] if isinstance(said, Reason) else said or ()
    return Explanation(facts.job.state, tuple(found), _expected(facts))


def serves(worker: WorkerRecord, lane: Lane) -> bool:
    """Whether a worker claims jobs of this lane, by its registration and report."""
    knows = lane.pool in worker.info.pools and lane.type in worker.info.types
    return worker.live and worker.state == ACTIVE and knows and _serves_tenant(worker, lane.tenant)


def _serves_tenant(worker: WorkerRecord, tenant: str) -> bool:
    return not reserved(worker) or tenant in reserved(worker)


def expected_start(
    lane: Lane, due: float, now: float, lane_since: float | None, workers: Iterable[WorkerRecord]
) -> float | None:
    """Return when a job of this lane should start: when due, or after as long as the first of its lane has waited.

    None if no worker would claim it.
    """
    if not any(serves(worker, lane) for worker in workers):
        return None
    waited = max(0.0, now - lane_since) if lane_since is not None else 0.0
    return max(due, now + waited)


def _expected(facts: Facts) -> float | None:
    job = facts.job
    if job.state in FINAL or job.state in (State.RUNNING, State.BLOCKED) or facts.closed:
        return None
    ready = job.state is State.READY
    if ready and any(limit.bound.concurrent == 0 for limit in facts.limits):
        return None
    since = facts.lane_since if ready else None
    start = expected_start(facts.lane, job.run_at.timestamp(), facts.now, since, facts.workers)
    if start is None or not ready:
        return start
    return max([start, *(facts.now + limit.next_token(facts.ahead + 1) for limit in facts.limits)])


def _ended(facts: Facts) -> Reason | None:
    job = facts.job
    if job.state not in FINAL:
        return None
    cause = f": {job.error.type}: {job.error.message}" if job.error else ""
    return Reason("ENDED", f"it has ended as {job.state} after {_attempts(job.attempt)}{cause}")


def _running(facts: Facts) -> Reason | None:
    job = facts.job
    if job.state is not State.RUNNING:
        return None
    ran = facts.now - job.started_at.timestamp() if job.started_at else 0.0
    data = {"worker": job.worker, "seconds": round(max(0.0, ran), 3), "attempt": job.attempt}
    return Reason("RUNNING", f"it runs on worker {job.worker} since {humanize(max(0.0, ran))}", data)


def _scheduled(facts: Facts) -> Reason | None:
    job = facts.job
    if job.state is not State.SCHEDULED:
        return None
    left = job.run_at.timestamp() - facts.now
    data = {"run_at": job.run_at.isoformat(), "seconds": round(left, 3)}
    if left <= 0:
        return Reason("DUE", f"it is due since {humanize(-left)} and waits to be promoted", data)
    return Reason("SCHEDULED", f"it is scheduled to start in {humanize(left)}", data)


def _deferred(facts: Facts) -> Reason | None:
    """Overload at submission delayed the job."""
    seconds = deferred_of(facts.job.options) if facts.job.state is State.SCHEDULED else None
    if seconds is None:
        return None
    said = f"it was put off by {humanize(seconds)} when it was submitted, since the system was overloaded"
    return Reason("DEFERRED", said, {"seconds": seconds})


def _budget(facts: Facts) -> Reason | None:
    budget = facts.budget
    if budget is None or not budget.is_used_up or facts.job.state is not State.RETRYING:
        return None
    become = "are delayed" if budget.beyond == "delay" else "go to the dead letters, unless a dependency failed"
    said = (
        f"tenant {budget.tenant} has used up its retry budget, {budget.retries} of {budget.allowed:g} within "
        f"{humanize(budget.window)}: further retries {become}"
    )
    data = {"retries": budget.retries, "allowed": budget.allowed, "window": budget.window, "beyond": budget.beyond}
    return Reason("RETRY_BUDGET_USED_UP", said, data)


def _limited(facts: Facts) -> list[Reason]:
    if facts.job.state is not State.READY:
        return []
    full = [limit for limit in facts.limits if limit.is_crowded or limit.is_dry]
    return [
        Reason("LIMIT_FULL" if limit.is_crowded else "LIMIT_RATE", limit.words(facts.now), limit.data(facts.now))
        for limit in full
    ]


def _shared(facts: Facts) -> Reason | None:
    if facts.share is None or facts.job.state is not State.READY:
        return None
    return Reason("SHARE", facts.share.words(), facts.share.data())


def _retrying(facts: Facts) -> Reason | None:
    job = facts.job
    if job.state is not State.RETRYING:
        return None
    left = job.run_at.timestamp() - facts.now
    cause = f" with {job.error.type}: {job.error.message}" if job.error else ""
    data = {"run_at": job.run_at.isoformat(), "seconds": round(left, 3), "attempt": job.attempt}
    when = f"is tried again in {humanize(left)}" if left > 0 else "is due for its next attempt"
    return Reason("RETRYING", f"its attempt {job.attempt} failed{cause}; it {when}", data)


def _blocked(facts: Facts) -> Reason | None:
    if facts.job.state is not State.BLOCKED:
        return None
    return Reason("BLOCKED", "it waits for other jobs to end", {"parent": facts.job.parent})


def _closed(facts: Facts) -> Reason | None:
    why = facts.closed if facts.job.state not in FINAL else None
    return Reason("CLOSED", why) if why else None


def _slowed(facts: Facts) -> list[Reason]:
    """A breaker is probing or ramping up."""
    if facts.job.state is not State.READY or facts.closed:
        return []
    return [Reason("BREAKER", why) for why in why_slowed(facts.lane, facts.controls, facts.breakers, facts.now)]


def _unserved(facts: Facts) -> Reason | None:
    """No worker would claim the job; the reason says what is missing."""
    job, live = facts.job, [worker for worker in facts.workers if worker.live]
    if job.state in FINAL or job.state is State.RUNNING:
        return None
    if not live:
        return Reason("NO_WORKER", "no worker runs; start one with `fairlead worker`")
    pools = sorted({pool for worker in live for pool in worker.info.pools})
    if job.pool not in pools:
        return Reason("NO_WORKER_FOR_POOL", f"no live worker works for pool {job.pool}", {"pools": pools})
    if not any(job.pool in worker.info.pools and job.type in worker.info.types for worker in live):
        return Reason("NO_WORKER_FOR_TYPE", f"no live worker of pool {job.pool} has a handler for {job.type}")
    if facts.newest_version is not None and job.version > facts.newest_version:
        data = {"version": job.version, "newest": facts.newest_version}
        return Reason("NO_WORKER_FOR_VERSION", f"no worker reads version {job.version} of {job.type}", data)
    knowing = [worker for worker in live if job.pool in worker.info.pools and job.type in worker.info.types]
    if not any(_serves_tenant(worker, job.tenant) for worker in knowing):
        said = f"all workers of pool {job.pool} that could run it are reserved for other tenants"
        return Reason("NO_WORKER_FOR_TENANT", said)
    if not any(serves(worker, facts.lane) for worker in live):
        return Reason("WORKERS_DRAIN", "all workers that could run it are being drained or stopped")
    return None


def _queued(facts: Facts) -> Reason | None:
    if facts.job.state not in (State.READY, State.ENQUEUED):
        return None
    waited = humanize(max(0.0, facts.now - (facts.lane_since or facts.now)))
    count = f"more than {facts.ahead}" if facts.ahead >= MOST_AHEAD else str(facts.ahead)
    data = {"ahead": facts.ahead, "lane": facts.lane._asdict() | {"priority": facts.lane.priority.word}}
    if facts.ahead == 0:
        return Reason("NEXT_IN_LANE", f"it is the next of its lane, whose first job waits since {waited}", data)
    return Reason("BEHIND_OTHERS", f"{count} jobs of its lane are before it; the first waits since {waited}", data)


def _busy(facts: Facts) -> Reason | None:
    if facts.job.state is not State.READY:
        return None
    serving = [worker for worker in facts.workers if serves(worker, facts.lane)]
    slots = sum(worker.info.slots for worker in serving)
    running = sum(int(worker.report.get("running", 0)) for worker in serving)
    if not slots or running < slots:
        return None
    return Reason("SLOTS_BUSY", f"all {slots} slots that could run it are taken", {"slots": slots, "running": running})


def _attempts(count: int) -> str:
    return "one attempt" if count == 1 else f"{count} attempts"


CHECKS: tuple[Check, ...] = (
    _ended, _running, _closed, _slowed, _unserved, _scheduled, _deferred, _retrying, _budget, _blocked, _limited,
    _queued, _busy, _shared,
)  # fmt: skip
