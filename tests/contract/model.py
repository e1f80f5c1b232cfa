"""A store as simple as it can be: dictionaries and sorted lists. Every real store must behave like it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fairlead.core.jobs.dead_letters import Refusal, Revival
from fairlead.core.jobs.model import Claim, Ending, Enqueued, Hold, Lane, Lease, NewJob, Scope, Settlement
from fairlead.core.jobs.states import FINAL, PENDING, State


@dataclass
class ModelJob:
    """All that the model knows of a job."""

    new: NewJob
    state: State
    run_at: float
    ready_at: float | None
    attempt: int = 0
    crashes: int = 0
    fence: int = 0
    owner: str | None = None
    lease: str | None = None
    cancelled: bool = False
    finished_at: float | None = None
    ended: Hold | None = None
    replays: int = 0
    attempts: list[tuple[int, str]] = field(default_factory=list)

    @property
    def hold(self) -> Hold:
        """What a writer must have seen."""
        return Hold(self.state, self.fence, self.owner, self.lease, self.cancelled)

    def allows(self, settlement: Settlement) -> bool:
        """Whether the settlement was decided in this situation; a success counts although somebody asked to cancel."""
        if settlement.ending is Ending.SUCCEEDED:
            return self.hold._replace(cancelled=settlement.hold.cancelled) == settlement.hold
        return self.hold == settlement.hold

    @property
    def facts(self) -> tuple[State, int, int, int, int]:
        """What is compared after each step."""
        return self.state, self.attempt, self.crashes, self.fence, self.replays


@dataclass
class ModelKey:
    """Who holds an idempotency key, and for how long."""

    job_id: str
    scope: Scope
    expires_at: float | None
    while_live: bool

    def strengthen(self, scope: Scope, expires_at: float | None) -> None:
        """A later submission with a stronger scope makes the key that strong."""
        order = [Scope.ACTIVE, Scope.WINDOW, Scope.FOREVER]
        if order.index(scope) > order.index(self.scope):
            self.scope, self.expires_at = scope, expires_at


class ModelStore:
    """The verbs, without batches, transactions or speed."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.jobs: dict[str, ModelJob] = {}
        self.keys: dict[tuple[str, str, str], ModelKey] = {}
        self.workers: dict[str, float] = {}
        self.pruned: set[str] = set()

    def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """One after the other, each as if it came alone; a repeated submission changes nothing."""
        return [self._enqueue(job) for job in jobs]

    def _enqueue(self, job: NewJob) -> Enqueued:
        if job.unique is not None:
            name = job.lane.tenant, job.lane.type, job.unique.key
            held = self.keys.get(name)
            expires = None if job.unique.window is None else self.now + job.unique.window
            if held is not None and held.job_id != job.id and not self.is_free(held):
                held.strengthen(job.unique.scope, expires)
                return Enqueued(held.job_id, True)
            if held is None or held.job_id != job.id:
                self.keys[name] = ModelKey(job.id, job.unique.scope, expires, job.unique.scope is Scope.ACTIVE)
        if job.id not in self.jobs:
            ready_at = self.now if job.state is State.READY else None
            self.jobs[job.id] = ModelJob(job, job.state, self.now + job.delay, ready_at)
        return Enqueued(job.id, False)

    def is_free(self, key: ModelKey) -> bool:
        """Whether another job may take the key."""
        if key.scope is Scope.FOREVER or (key.while_live and self.is_live(key.job_id)):
            return False
        return key.expires_at is None or key.expires_at <= self.now

    def is_live(self, job_id: str) -> bool:
        """Whether the job has not ended."""
        return job_id in self.jobs and self.jobs[job_id].state not in FINAL

    def live(self, lease_owner: str | None) -> bool:
        """Whether a worker's lease still runs."""
        return lease_owner is not None and self.workers.get(lease_owner, self.now) > self.now

    def in_state(self, *states: State) -> list[ModelJob]:
        """The jobs in these states."""
        return [job for job in self.jobs.values() if job.state in states]

    def claim(self, lane: Lane, most: int, lease: Lease) -> list[str]:
        """The ids that a claim takes, in order."""
        ready = [job for job in self.in_state(State.READY) if job.new.lane == lane]
        ready.sort(key=lambda job: (job.ready_at or 0.0, job.new.id))
        for job in ready[:most]:
            job.state, job.owner, job.lease = State.RUNNING, lease.owner, lease.token
            job.fence, job.attempt = job.fence + 1, job.attempt + 1
        return [job.new.id for job in ready[:most]]

    def claim_limited(self, lane: Lane, most: int, lease: Lease, bound: int) -> list[str]:
        """The same where no more than `bound` jobs of the lane's tenant may run at once."""
        running = sum(job.new.lane.tenant == lane.tenant for job in self.in_state(State.RUNNING))
        return self.claim(lane, max(0, min(most, bound - running)), lease)

    def settle(self, settlements: Iterable[Settlement], expired_only: bool = False) -> set[str]:
        """The ids of those that hold, and of successes that were settled under the same hold before."""
        return {item.id for item in settlements if self._settle(item, expired_only) or self.has_succeeded(item)}

    def has_succeeded(self, settlement: Settlement) -> bool:
        """Whether this very success is in the history already; an answer that was lost is given again."""
        job = self.jobs.get(settlement.id)
        return (
            job is not None
            and settlement.state is job.state is State.SUCCEEDED
            and job.ended == settlement.hold._replace(cancelled=False)
        )

    def _settle(self, settlement: Settlement, expired_only: bool) -> bool:
        job = self.jobs.get(settlement.id)
        if job is None or not job.allows(settlement) or (expired_only and self.live(job.owner)):
            return False
        if settlement.recorded:
            job.attempts.append((job.fence, settlement.ending.value))
        job.ended = job.hold._replace(cancelled=False)
        job.state, job.attempt, job.crashes = settlement.state, settlement.attempt, settlement.crashes
        job.owner = job.lease = None
        job.cancelled = False
        job.ready_at = self.now if settlement.state is State.READY else None
        if settlement.state in (State.RETRYING, State.SCHEDULED):
            job.run_at = self.now + settlement.delay
        if settlement.state in FINAL:
            job.finished_at = self.now
        return True

    def ask(self, claim: Claim) -> set[str]:
        """The wish to cancel a run is stored while it is that run."""
        job = self.jobs.get(claim.id)
        if job is None or job.hold._replace(cancelled=False) != claim.hold:
            return set()
        job.cancelled = True
        return {claim.id}

    def revive(self, revivals: Iterable[Revival]) -> tuple[set[str], dict[str, Refusal]]:
        """Dead jobs come back one after the other, each if it is still that dead and its key is its own or free."""
        done: set[str] = set()
        refused: dict[str, Refusal] = {}
        for item in revivals:
            job = self.jobs.get(item.id)
            if job is None or job.state is not State.DEAD or job.fence != item.hold.fence:
                refused[item.id] = Refusal.CHANGED
            elif not self._take_key(job):
                refused[item.id] = Refusal.KEY_TAKEN
            else:
                job.state, job.attempt, job.crashes = State.READY, 0, 0
                job.ready_at, job.finished_at, job.replays = self.now, None, job.replays + 1
                done.add(item.id)
        return done, refused

    def _take_key(self, job: ModelJob) -> bool:
        if job.new.unique is None:
            return True
        name = job.new.lane.tenant, job.new.lane.type, job.new.unique.key
        held = self.keys.get(name)
        if held is not None and held.job_id == job.new.id:
            return True
        if held is not None and not self.is_free(held):
            return False
        self.keys[name] = ModelKey(job.new.id, Scope.ACTIVE, None, True)
        return True

    def lost(self) -> set[str]:
        """Running jobs without a live owner."""
        return {job.new.id for job in self.in_state(State.RUNNING) if not self.live(job.owner)}

    def promote(self, limit: int) -> int:
        """How many became ready."""
        due = [job for job in self.in_state(State.SCHEDULED, State.RETRYING) if job.run_at <= self.now]
        due.sort(key=lambda job: (job.run_at, job.new.id))
        for job in due[:limit]:
            job.state, job.ready_at = State.READY, self.now
        return len(due[:limit])

    def renew(self, owners: Iterable[str], seconds: float) -> set[str]:
        """Whose lease was extended."""
        renewed = {owner for owner in owners if self.live(owner)}
        self.workers.update({owner: max(self.workers[owner], self.now + seconds) for owner in renewed})
        return renewed

    def expire(self, owners: Iterable[str]) -> None:
        """End leases."""
        self.workers.update(dict.fromkeys([owner for owner in owners if self.live(owner)], self.now))

    def prune(self, retention: Mapping[str, float], default: float) -> int:
        """How many finished jobs went; their ids are never used again."""
        old = [
            job.new.id
            for job in self.jobs.values()
            if job.finished_at is not None and job.finished_at < self.now - retention.get(job.new.lane.type, default)
        ]
        for job_id in old:
            del self.jobs[job_id]
        self.pruned.update(old)
        self.keys = {name: key for name, key in self.keys.items() if not self.is_free(key)}
        return len(old)

    def pending(self) -> list[str]:
        """The ids of jobs that wait."""
        return [job.new.id for job in self.jobs.values() if job.state in PENDING]

    def counts(self) -> dict[tuple[str, str], int]:
        """Live jobs by pool and state."""
        counted: dict[tuple[str, str], int] = {}
        for job in self.jobs.values():
            if job.state not in FINAL:
                name = job.new.lane.pool, job.state.value
                counted[name] = counted.get(name, 0) + 1
        return counted

    def active(self) -> dict[Lane, float]:
        """The lanes with ready jobs, and since when."""
        lanes: dict[Lane, float] = {}
        for job in self.in_state(State.READY):
            lanes[job.new.lane] = min(job.ready_at or 0.0, lanes.get(job.new.lane, float("inf")))
        return lanes

    def is_current(self, claim: Claim) -> bool:
        """Whether the claim still holds."""
        job = self.jobs.get(claim.id)
        return job is not None and job.hold._replace(cancelled=False) == claim.hold
