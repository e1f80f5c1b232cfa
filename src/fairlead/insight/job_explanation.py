"""What lies ahead of a job: the facts that explain why it waits, and a guess at its start that costs no question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fairlead.core.fairness.tenancy import Tenants
from fairlead.core.insight.explain import MOST_AHEAD, Explanation, Facts, expected_start, explain
from fairlead.core.insight.wait_reasons import BudgetFacts, LimitFacts, RunningJob, ShareFacts, queue_position
from fairlead.core.jobs.job_records import JobRecord, JobType
from fairlead.core.jobs.model import ActiveLane, Lane
from fairlead.core.jobs.states import State
from fairlead.core.jobs.workers import WorkerRecord
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.limits import Rules, usage
from fairlead.core.protection.run_counts import breakers_of
from fairlead.core.protection.token_bucket import left
from fairlead.insight.protection import declared, show_budget
from fairlead.records.store import Store
from fairlead.runtime.cache import Cached

FRESH = 2.0
WINDOW = 900.0
MOST_HOLDERS = 20


class View(NamedTuple):
    """The store at one moment: its clock, since when each active lane waits, and the workers."""

    now: float
    since: Mapping[int, float]
    workers: Sequence[WorkerRecord]


async def explain_job(store: Store, job: JobRecord, seen_by: str | None = None) -> Explanation:
    """Why this job is where it is; for a tenant, nothing is told of what others run and wait for."""
    changed = await store.controls.read()
    controls = Controls()
    controls.follow(changed.controls)
    lane = Lane(job.pool, job.tenant, job.type, job.priority, job.version, job.limits)
    ready = job.state is State.READY
    active = await store.reader.active_lanes() if ready else []
    types = {job_type.name: job_type for job_type in await store.types.all()}
    job_type = types.get(job.type)
    needs = (job_type.settings.get("needs") or ()) if job_type else ()
    facts = Facts(
        job=job,
        now=changed.now,
        workers=await store.workers.all(),
        ahead=await store.reader.count_ahead(job.id, MOST_AHEAD) if ready else 0,
        lane_since={item.lane: item.since for item in active}.get(lane),
        newest_version=job_type.version if job_type else None,
        controls=controls,
        breakers=breakers_of(job.type, tuple(needs)),
        limits=await limits_of(store, controls, types.values(), lane, seen_by) if ready else (),
        share=await share_of(store, controls, lane, active, seen_by) if ready else None,
        budget=await _budget(store, job.tenant) if job.state is State.RETRYING else None,
    )
    return explain(facts)


async def limits_of(
    store: Store, controls: Controls, types: Iterable[JobType], lane: Lane, seen_by: str | None = None
) -> tuple[LimitFacts, ...]:
    """The limits that a lane is under, their use, and what runs under those that are full."""
    rules = Rules(declared(types), {}, controls)
    names = rules.of(lane)
    if not names:
        return ()
    use = await store.limits.use()
    used = usage(rules, use.running.items())
    found = []
    for name in names:
        allowed = rules.bound(name)
        tokens = left(use.buckets.get(name), allowed.rate_limit, use.now) if allowed.rate_limit else None
        facts = LimitFacts(name, allowed, used.get(name, 0), tokens)
        if facts.is_crowded:
            holders = await _holders(store, rules, use.running, name, seen_by)
            facts = replace(facts, holders=holders, is_partial=seen_by is not None)
        found.append(facts)
    return tuple(found)


async def share_of(
    store: Store, controls: Controls, lane: Lane, active: Iterable[ActiveLane], seen_by: str | None = None
) -> ShareFacts:
    """What the lane's tenant was due and got in its pool lately, and whose turn comes before its own."""
    tenants = Tenants(controls)
    own = tenants.get(lane.tenant)
    lines = [line for line in await store.shares.ledger(WINDOW) if (line.pool, line.tenant) == (lane.pool, lane.tenant)]
    facts = ShareFacts(
        own, lane.pool, WINDOW, sum(line.entitled for line in lines), sum(line.delivered for line in lines)
    )
    if seen_by is not None:
        return facts
    waiting = sorted({item.lane.tenant for item in active if item.lane.pool == lane.pool} | {lane.tenant})
    accounts = (await store.shares.exchange([], 0.0)).balances
    balances = {item.account: item for item in accounts if item.pool == lane.pool}
    turn = queue_position(own, [tenants.get(name) for name in waiting], balances)
    return replace(facts, place=turn, waiting=len(waiting))


async def _holders(
    store: Store, rules: Rules, running: Mapping[Lane, int], name: str, seen_by: str | None
) -> tuple[RunningJob, ...]:
    lanes = [lane for lane in running if name in rules.of(lane) and seen_by in (None, lane.tenant)]
    return tuple(
        RunningJob(item.id, item.since, item.worker) for item in await store.limits.holders(lanes, MOST_HOLDERS)
    )


async def _budget(store: Store, tenant: str) -> BudgetFacts:
    status = await show_budget(store, tenant)
    return BudgetFacts(tenant, status.retries, status.allowed, status.window, status.beyond)


class StartEstimate:
    """Guesses when jobs start, from a view that is at most moments old."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._view = Cached(self._look)

    async def expected_start(self, lane: Lane, delay: float, run_at: float | None) -> float | None:
        """When a job that is submitted now should start; None if nobody would run it."""
        view = await self._view.get(FRESH)
        due = view.now + delay if run_at is None else run_at
        return expected_start(lane, due, view.now, view.since.get(lane.id), view.workers)

    async def _look(self) -> View:
        since = {active.lane.id: active.since for active in await self._store.reader.active_lanes()}
        return View((await self._store.controls.read()).now, since, await self._store.workers.all())
