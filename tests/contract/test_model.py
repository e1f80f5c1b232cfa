"""Random histories: each store must agree with the model after every step.

FAIRLEAD_HYPOTHESIS_EXAMPLES sets how many histories each store gets.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.cancel import CancelWrite
from fairlead.core.jobs.dead_letters import Revival, revive
from fairlead.core.jobs.idempotency import name_of
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import CancelRequest, Claim, Ending, Lease, NewJob, Priority, Quota, Scope, Settlement
from fairlead.core.jobs.states import PENDING, State
from fairlead.core.protection.controls import Control, Controls
from fairlead.core.protection.limits import LIMIT as LIMIT_KIND
from fairlead.core.protection.limits import LimitedQuota, Rules
from tests.contract.making import LANE, ended, keyed_job, new_job, new_lease, same_worker, worker_info
from tests.contract.model import ModelStore
from tests.contract.world import World, open_world

EXAMPLES = int(os.environ.get("FAIRLEAD_HYPOTHESIS_EXAMPLES", "12"))
STEPS = 40
SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
LANES = [
    LANE,
    LANE._replace(tenant="globex"),
    LANE._replace(type="text"),
    LANE._replace(priority=Priority.HIGH, pool="slow"),
]
LIMIT = 1000
DAY = 86400.0
RETENTION = 50.0
NOTE = AuditNote("ann", "replay", "dead letters")
WISH = CancelRequest("ann", None, 5.0)

ENDINGS = [ending for ending in Ending if ending is not Ending.EXPIRED]
keys = st.none() | st.sampled_from(["a", "b"])
lanes = st.sampled_from(LANES)
data = st.data()

Value = TypeVar("Value")


class StoreMachine(RuleBasedStateMachine):
    """One history: every verb goes to the store and to the model, and both must answer alike."""

    def __init__(self, address: Callable[[], str]) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.world: World = self.wait(self.stack.enter_async_context(open_world(address())))
        self.store = self.world.store
        self.book = self.world.lease_book()
        self.model = ModelStore(self.world.clock())
        self.submitted: list[NewJob] = []
        self.claims: list[Claim] = []
        self.leases: list[Lease] = [new_lease()]  # the first one is never registered
        self.decisions: list[Settlement] = []
        self.applied: list[Settlement] = []
        self.revivals: list[Revival] = []
        self.fences: dict[str, int] = {}

    def wait(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run on the loop of this history."""
        return self.runner.run(work)

    def teardown(self) -> None:
        """Give back the store and the loop."""
        self.wait(self.stack.aclose())
        self.runner.close()

    def renewing(self, *arguments: Any) -> Any:
        """The lease book blocks, and must not block the loop."""
        return self.wait(asyncio.to_thread(self.book.renew, *arguments))

    @rule(lane=lanes, names=st.lists(keys, min_size=1, max_size=4), scope=st.sampled_from(Scope), wait=st.booleans())
    def enqueue(self, lane: Any, names: list[str | None], scope: Scope, wait: bool) -> None:
        window = 20.0 if scope is Scope.WINDOW else None
        jobs = [keyed_job(name, lane, scope, window) if name else new_job(lane) for name in names]
        if wait:
            jobs += [new_job(lane, delay=7.0)]
        assert self.wait(self.store.jobs.enqueue(jobs)) == self.model.enqueue(jobs)
        self.submitted += jobs

    @precondition(lambda self: self.submitted)
    @rule(data=data)
    def enqueue_again(self, data: Any) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.submitted), max_size=3, unique_by=lambda job: job.id))
        first_of_key = {name_of(job): job for job in chosen}
        jobs = [job for job in first_of_key.values() if job.id not in self.model.pruned]
        assert self.wait(self.store.jobs.enqueue(jobs, again=True)) == self.model.enqueue(jobs)

    @rule(seconds=st.sampled_from([10.0, 60.0]))
    def register_worker(self, seconds: float) -> None:
        lease = new_lease()
        self.leases.append(lease)
        self.wait(self.store.workers.register(worker_info(lease.owner), seconds))
        self.model.workers[lease.owner] = self.model.now + seconds

    @rule(data=data, lane=lanes, most=st.integers(0, 4))
    def claim(self, data: Any, lane: Any, most: int) -> None:
        lease = same_worker(data.draw(st.sampled_from(self.leases)))
        claims = self.wait(self.store.jobs.claim([Quota(lane.id, most)], lease))
        assert [item.id for item in claims] == self.model.claim(lane, most, lease)
        assert [item.hold for item in claims] == [self.model.jobs[item.id].hold for item in claims]
        self.claims += claims

    @rule(data=data, lane=lanes, most=st.integers(0, 4), bound=st.integers(1, 3))
    def claim_limited(self, data: Any, lane: Any, most: int, bound: int) -> None:
        """No more jobs of a tenant run at once than its limit allows, however many a worker asks for."""
        lease = same_worker(data.draw(st.sampled_from(self.leases)))
        controls = Controls()
        controls.follow([Control(LIMIT_KIND, f"tenant:{lane.tenant}", {"concurrent": bound}, 1, 0.0)])
        by = Rules({}, {}, controls)
        answer = self.wait(self.store.limits.claim([LimitedQuota(Quota(lane.id, most), lane, by.of(lane))], by, lease))
        assert [item.id for item in answer.claims] == self.model.claim_limited(lane, most, lease, bound)
        self.claims += answer.claims

    @precondition(lambda self: self.claims)
    @rule(data=data, newest=st.booleans())
    def settle(self, data: Any, newest: bool) -> None:
        """Claims of the whole history: most are stale, some stand twice in the batch."""
        among = st.sampled_from(self.claims[-5:] if newest else self.claims)
        pairs = data.draw(st.lists(st.tuples(among, st.sampled_from(ENDINGS)), min_size=1, max_size=5))
        once = {(claim.id, claim.fence): ended(claim, ending) for claim, ending in pairs}
        self.apply(list(once.values()))

    def apply(self, settlements: list[Settlement], expired_only: bool = False) -> None:
        """Settle in both."""
        before = {job_id: job.hold for job_id, job in self.model.jobs.items()}
        accepted = self.wait(self.store.jobs.settle(settlements, expired_only))
        assert accepted == self.model.settle(settlements, expired_only)
        for job_id in accepted:
            holds = [item.hold._replace(cancelled=False) for item in settlements if item.id == job_id]
            assert before[job_id]._replace(cancelled=False) in holds or self.model.jobs[job_id].ended in holds
        self.applied += settlements

    @precondition(lambda self: self.applied)
    @rule(data=data)
    def settle_twice(self, data: Any) -> None:
        """Whoever got no answer asks again, sooner or later."""
        among = st.sampled_from(self.applied[-8:])
        chosen = data.draw(st.lists(among, min_size=1, max_size=4, unique_by=lambda item: item.id))
        self.apply(chosen)

    @precondition(lambda self: self.claims)
    @rule(data=data, ending=st.sampled_from(ENDINGS))
    def crash_while_settling(self, data: Any, ending: Ending) -> None:
        """A process ends before it has the answer; another one sends the same settlements again."""
        chosen = data.draw(st.lists(st.sampled_from(self.claims[-5:]), min_size=1, unique_by=lambda claim: claim.id))
        settlements = [ended(claim, ending) for claim in chosen]
        self.wait(self.crash(settlements))
        accepted = self.wait(self.store.jobs.settle(settlements))
        expected = self.model.settle(settlements)
        assert {job_id for job_id in expected if self.model.jobs[job_id].state is State.SUCCEEDED} <= accepted
        assert accepted <= expected

    async def crash(self, settlements: list[Settlement]) -> None:
        """Begin to settle, and end as a process that is killed does: nobody waits for the answer."""
        settling = asyncio.create_task(self.store.jobs.settle(settlements))
        await asyncio.sleep(0)
        settling.cancel()
        await asyncio.gather(settling, return_exceptions=True)
        if self.world.url != "sqlite:///:memory:":
            self.store = await self.world.another_store()

    @precondition(lambda self: self.submitted)
    @rule(data=data)
    def cancel(self, data: Any) -> None:
        job_id = data.draw(st.sampled_from(self.submitted)).id
        held = self.wait(self.store.reader.held([job_id]))
        assert [item.hold for item in held] == ([self.model.jobs[job_id].hold] if self.model.is_live(job_id) else [])
        self.apply([ended(item, Ending.CANCELLED) for item in held if item.hold.state in PENDING])

    @precondition(lambda self: self.claims)
    @rule(data=data)
    def ask_to_cancel(self, data: Any) -> None:
        claim = data.draw(st.sampled_from(self.claims))
        answer = self.wait(self.store.changes.cancel([], [CancelWrite(claim.id, claim.hold, WISH)], NOTE))
        assert set(answer.asked) == self.model.ask(claim)

    @precondition(lambda self: self.claims)
    @rule(data=data, ending=st.sampled_from(ENDINGS))
    def settle_what_is_seen(self, data: Any, ending: Ending) -> None:
        """Who reads before it decides knows of a wish."""
        job_id = data.draw(st.sampled_from(self.claims[-5:])).id
        held = self.wait(self.store.reader.held([job_id]))
        self.apply([ended(item, ending) for item in held if item.hold.state is State.RUNNING])

    @rule(data=data)
    def look_for_dead(self, data: Any) -> None:
        """Some of the decisions are applied later, when the job may live or have died again."""
        page = self.wait(self.store.reader.list_jobs(JobFilter(states=(State.DEAD,)), LIMIT))
        assert {item.id for item in page.jobs} == {job.new.id for job in self.model.in_state(State.DEAD)}
        if page.jobs:
            self.revivals += [revive(item) for item in data.draw(st.lists(st.sampled_from(page.jobs), max_size=3))]

    @precondition(lambda self: self.revivals)
    @rule(data=data)
    def revive(self, data: Any) -> None:
        """One decision for each key, since a batch brings back only the first of those that share one."""
        chosen = data.draw(st.lists(st.sampled_from(self.revivals), min_size=1, max_size=4))
        once = {(item.lane.tenant, item.key or item.id): item for item in chosen}
        revived = self.wait(self.store.dead_letters.revive(list(once.values()), NOTE))
        assert (set(revived.ids), revived.refused) == self.model.revive(once.values())

    @rule()
    def look_for_lost(self) -> None:
        """The decision is applied later, when much may have changed."""
        lost = self.wait(self.store.reader.lost(LIMIT))
        assert {item.id for item in lost} == self.model.lost()
        self.decisions = [ended(item, Ending.LOST) for item in lost]

    @rule()
    def recover(self) -> None:
        self.apply(self.decisions, expired_only=True)

    @rule(data=data)
    def renew(self, data: Any) -> None:
        owners = [lease.owner for lease in data.draw(st.lists(st.sampled_from(self.leases), unique=True))]
        assert self.renewing(owners, 30.0) == self.model.renew(owners, 30.0)

    @rule(data=data)
    def expire(self, data: Any) -> None:
        owner = data.draw(st.sampled_from(self.leases)).owner
        self.wait(asyncio.to_thread(self.book.expire, [owner]))
        self.model.expire([owner])

    @rule(data=data)
    def retire(self, data: Any) -> None:
        owner = data.draw(st.sampled_from(self.leases)).owner
        self.wait(self.store.workers.retire(owner))
        self.model.workers.pop(owner, None)

    @rule(limit=st.integers(1, 5))
    def promote(self, limit: int) -> None:
        promoted = self.wait(self.store.promotion.promote(limit))
        assert promoted[0] == self.model.promote(limit)

    @rule(seconds=st.sampled_from([0.5, 5.0, 10.0, 20.0, 60.0]))
    def advance(self, seconds: float) -> None:
        self.world.advance(seconds)
        self.model.now = self.world.clock()

    @rule()
    def prune(self) -> None:
        """One type is kept for less than the others."""
        removed = self.wait(self.store.jobs.prune({LANE.type: RETENTION}, DAY, LIMIT))
        assert removed == self.model.prune({LANE.type: RETENTION}, DAY)

    @invariant()
    def all_jobs_are_as_in_the_model(self) -> None:
        page = self.wait(self.store.reader.list_jobs(JobFilter(), LIMIT))
        found = {item.id: (item.state, item.attempt, item.crashes, item.fence, item.replays) for item in page.jobs}
        assert len(found) == len(page.jobs)
        assert found == {job_id: job.facts for job_id, job in self.model.jobs.items()}
        for item in page.jobs:
            assert item.fence >= self.fences.get(item.id, 0)
            self.fences[item.id] = item.fence

    @invariant()
    def counts_and_lanes_are_as_in_the_model(self) -> None:
        assert self.wait(self.store.reader.count_jobs()) == self.model.counts()
        active = self.wait(self.store.reader.active_lanes())
        assert {item.lane: item.since for item in active} == self.model.active()

    @precondition(lambda self: self.claims)
    @rule(data=data)
    def read_attempts(self, data: Any) -> None:
        job_id = data.draw(st.sampled_from(self.claims)).id
        if job_id in self.model.jobs:
            found = self.wait(self.store.reader.attempts(job_id))
            assert [(item.fence, item.ending.value) for item in found] == self.model.jobs[job_id].attempts


def run_histories(address: Callable[[], str]) -> None:
    """As many as the settings say."""
    run_state_machine_as_test(lambda: StoreMachine(address), settings=SETTINGS)  # type: ignore[arg-type]


@pytest.mark.timeout(0 if EXAMPLES > 50 else 300)
def test_a_sqlite_file_behaves_like_the_model(sqlite_url: str, tmp_path: Path) -> None:
    migrated, copies = Path(sqlite_url.removeprefix("sqlite:///")), iter(range(10**9))

    def fresh_copy() -> str:
        copy = tmp_path / f"history-{next(copies)}.db"
        shutil.copy(migrated, copy)
        return f"sqlite:///{copy}?synchronous=normal"

    run_histories(fresh_copy)


@pytest.mark.timeout(0 if EXAMPLES > 50 else 300)
def test_sqlite_in_memory_behaves_like_the_model() -> None:
    run_histories(lambda: "sqlite:///:memory:")


@pytest.mark.postgres
@pytest.mark.timeout(0 if EXAMPLES > 50 else 300)
def test_postgres_behaves_like_the_model(postgres_database: str) -> None:
    run_histories(lambda: postgres_database)
