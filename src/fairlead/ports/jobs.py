"""JobStore: enqueue, claim, settle and wake, and the rules that every store keeps.

A store decides nothing: core decides, and the store writes the decision by compare-and-swap, if the state that the
decision was based on is unchanged.

**Durability.** When `enqueue` returns, the jobs survive a power cut. The same is true of `claim` and `settle`.

**Time** is the database's. Callers pass durations, and the store adds them to the database's now. So processes with
wrong clocks agree.

**Ownership.** `claim` makes a worker the owner of jobs: it writes the worker's boot id, raises the job's fence by one
and stores the random token of this claim. The fence never falls. A worker's lease is one row for all its jobs, so
renewing costs one write however many jobs run; it ends at an instant of the database's clock and cannot be renewed
after that. A worker without a row counts as expired.

**Settlement.** Every change of a claimed job goes through `settle`, from its worker, the recoverer or an operator. Each
settlement names the state it was decided in (its `hold`: state, fence, owner, lease token). The store applies each
settlement whose hold is valid, all of it or nothing, and returns their ids. A settlement that is not returned was
overtaken by another writer: the caller changes nothing and counts it.

**Repeating.** A connection can break during a commit, and then it is unknown whether the commit succeeded. `enqueue`
can be repeated with the same ids and `again=True`: jobs stored by the first try stay as they are, even if they have
finished meanwhile. `settle` can be repeated as it is: a settlement that was applied finds its hold invalid; a repeated
success under the same hold may be returned as settled again. Registering a worker can be repeated while the lease
lasts.

**Cancelling.** A waiting job is settled as cancelled. For a running job, `cancel` stores a cancel request in its row,
which is part of the hold from then on: a settlement that was decided without the request is not applied, unless it is
a success, and has to be decided again. So a request is never overlooked, and never outlives its run.

**Effects.** `RunState.remember_effect` checks the hold like a settlement: a run that lost its job stores nothing.
Effects are kept as long as the job's record.

**Checkpoints.** `Checkpoints.save` checks the hold like a settlement, and gives each checkpoint the job's next number.
A settlement that resumes a job writes its counts of resumptions beside the newest one, in the same transaction.

**Expiry.** A settlement as expired stores the follow-up job that the expired job names (core.jobs.expiry) in the same
transaction: exactly one for each expired job that names one, however often it is settled.

**Dead letters.** Only an operator moves a dead job. Each write names the death it was decided about (fence and end) and
applies only while the job is dead of it. A revived job keeps id, key and fence, and has fresh attempts. If another job
holds its idempotency key by then, this revival is refused and the rest of the batch goes on.

**Waiting jobs.** A change names the state and the fence it was decided in, and applies only if both are unchanged.

**Schedules.** Each write is a compare-and-swap on the schedule's version. A fire, its job and the advance of its
schedule are one transaction, and (schedule, fire time) is unique: with any number of schedulers one makes the job.

**Audit.** An operator's action and its audit entry are one transaction. Entries form a hash chain without forks
(core.insight.audit): appending locks the head.

**Controls.** Run-time settings have versions from one sequence (core.protection.controls). A change applies only if the
control still has the version it was decided upon, and versions become visible in order.

**Limits.** A claim under limits locks their rows, so claims under a common limit run one after another. Usage is
counted from the running jobs, so a lost worker's jobs count until they are recovered. Run counts fall into the bucket
of the database's now, so all workers agree on the time.

**Hints.** `wake` tells listening workers that there may be work. Hints can get lost: only speed depends on them. They
can be sent with the commit of an `enqueue`, which saves a round trip.

Errors are those of fairlead.errors: StoreUnavailable is worth a retry, StoreRefused is not.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fairlead.core.jobs.checkpoints import LastCheckpoint, NewCheckpoint
from fairlead.core.jobs.model import Claim, Enqueued, Hold, Lease, NewJob, Quota, Settlement
from fairlead.core.protection.controls import Changed
from fairlead.ports.database import Database, Rows, Script

# The hint that a job was scheduled for soon; it wakes the promoter, as a pool's name wakes that pool's workers.
SCHEDULED_HINT = "@scheduled"
# The hint that a worker has a cancel request or is to stop; the worker's id follows.
WORKER_HINT = "@worker:"
# The hint that a leader has resigned; it wakes the other candidates.
LEAD_HINT = "@lead"
# The hint that a recurring schedule was added or changed; it wakes the scheduler.
RECURRING_HINT = "@recurring"
# The hint for every listener.
EVERYONE = ""

# The hint that a control was changed; every worker reads the controls.
CONTROLS_HINT = "@controls"

# The hint that runs have begun to fail; every worker writes its run counts.
HEALTH_HINT = "@health"


# The hint that limits have room again; it wakes workers that found them full.
LIMITS_HINT = "@limits"


class SampledBacklog(NamedTuple):
    """The number of waiting jobs, counted `age` seconds ago."""

    waiting: int
    age: float


class DepthBound(Protocol):
    """A bound on a tenant's waiting jobs; the store counts them before it inserts."""

    @property
    def tenant(self) -> str:
        """The tenant whose waiting jobs are counted."""

    @property
    def most(self) -> int:
        """How many jobs may wait; counting stops after that."""

    def admit(self, waiting: int, count: int) -> None:
        """Raise an error if `count` more jobs are too many beside `waiting`; may be called again for the same jobs."""


class AdmissionCheck(Protocol):
    """Accepts or refuses submissions within a caller's transaction; stale figures are read there first."""

    @property
    def version(self) -> int:
        """The version of the controls that were read last."""

    def is_stale(self) -> bool:
        """Whether the figures are too old and have to be read again."""

    def wants_sample(self) -> bool:
        """Whether the decision needs the sampled figures."""

    def follow(self, changed: Changed) -> None:
        """Take the controls that were read."""

    def sampled(self, backlog: Mapping[str, SampledBacklog]) -> None:
        """Take the figures that were read."""

    def admit_here(self, jobs: Sequence[NewJob]) -> tuple[Sequence[NewJob], Sequence[DepthBound]]:
        """Return the jobs to store and the bounds to check; raises an error if all are refused."""


class JobStore(Database, Protocol):
    """What differs between databases: storing, claiming and settling jobs, and waking workers."""

    writers: int  # concurrent write transactions; further ones wait

    async def open(self) -> None:
        """Connect, and check that the schema is the one this version needs."""

    async def close(self) -> None:
        """Close all connections; the store can be opened again."""

    async def enqueue(
        self,
        jobs: Sequence[NewJob],
        again: bool = False,
        wake: Collection[str] = (),
        bounds: Sequence[DepthBound] = (),
    ) -> list[Enqueued]:
        """Store the jobs in one transaction and send the hints with its commit; results in the order of the jobs.

        Waiting jobs are counted for `bounds` in the transaction first, one submission of a tenant at a time.
        """

    def enqueue_within(self, connection: Any, jobs: Sequence[NewJob], admission: "AdmissionCheck | None" = None) -> Any:
        """Store the jobs in the caller's own open transaction: answers, or an awaitable of them if it is async."""

    async def claim(self, quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
        """Claim up to the given number of jobs of each lane for the lease's owner."""

    async def settle(self, settlements: Sequence[Settlement], expired_only: bool = False) -> set[str]:
        """Apply settlements whose hold is valid, return their ids; `expired_only` also requires an expired lease."""

    async def begin(self) -> "OpenTransaction":
        """Open a transaction for a handler's own writes; ConfigError if the database does not support it."""

    def begin_blocking(self) -> "BlockingTransaction":
        """Open a transaction from the thread of a blocking handler; waits for a connection."""

    async def prune(self, retention: Mapping[str, float], default_retention: float, limit: int) -> int:
        """Remove finished jobs past their type's retention and rows that nothing refers to; returns how many jobs."""

    async def wake(self, pools: Iterable[str]) -> None:
        """Hint to listening workers that these pools may have work."""

    async def listen(self, on_wake: Callable[[str], None]) -> None:
        """Call `on_wake` with the pool of each hint until cancelled; reconnects after errors."""

    async def facts(self) -> dict[str, Any]:
        """Return facts about this database for operators."""

    def claiming(self, quotas: Sequence[Quota], lease: Lease) -> Script[Rows]:
        """Return the statements of a claim, for a script with more statements in its transaction."""
        raise NotImplementedError


class OpenTransaction(Protocol):
    """A transaction for a handler's writes, committed together with its job's settlement."""

    @property
    def connection(self) -> Any:
        """The driver's connection."""

    async def holds(self, job_id: str, hold: Hold) -> bool:
        """Whether the job still has this hold."""

    async def settle(self, settlement: Settlement) -> bool:
        """Settle the job and commit, both or neither; False if the hold was invalid and everything was rolled back."""

    async def save(self, checkpoint: NewCheckpoint) -> LastCheckpoint | None:
        """Save a checkpoint and commit, both or neither; None if the hold was invalid and all was rolled back."""

    async def abandon(self) -> None:
        """Roll back unless ended, and release the connection."""


class BlockingTransaction(OpenTransaction, Protocol):
    """A transaction used by a thread, which may go on after its run has ended."""

    def release(self, keep: bool) -> bool:
        """End the thread's use; rolls back unless `keep` and the run goes on. Returns whether it was kept open."""


class LeaseBook(Protocol):
    """Renews leases from a thread or process that handlers cannot block; its calls block."""

    def renew(self, worker_ids: Sequence[str], lease: float) -> set[str]:
        """Extend the leases that have not expired, never shorten one; returns the ids of the extended."""

    def expire(self, worker_ids: Sequence[str]) -> None:
        """Expire leases now, of processes that are known to be dead."""

    def close(self) -> None:
        """Give back the connection."""
