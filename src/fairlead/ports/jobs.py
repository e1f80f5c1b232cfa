"""The store: the truth about every job.

A store is a database behind the verbs of Fairlead. It decides nothing: core has decided, and the store writes the
decision if the situation it was taken in still holds.

**Durability.** When `enqueue` returns, the jobs survive a power cut. The same is true of `claim` and `settle`.

**Time** is the database's. Callers hand over durations; the store adds them to its own now. Two processes with wrong
clocks therefore agree.

**Ownership.** `claim` makes a worker the owner of jobs: it writes the worker's boot id, raises the job's fence by one
and stores the random token of this claim. The fence never falls. A worker's lease is one row for all its jobs, so
renewing costs one write however many jobs run; it ends at an instant of the database's clock and cannot be renewed
after that. A worker without a row counts as expired.

**Settlement.** Every change of a claimed job goes through `settle`, whoever asks for it: its worker, the recoverer,
an operator. Each settlement names the exact situation it was decided in (its `hold`: state, fence, owner, lease
token). The store applies those that still hold, all or nothing each, and returns their ids. What it does not return
was overtaken by someone else: the caller has lost, changes nothing, and counts it.

**Repeating.** A connection can break while a commit is on its way, and nobody knows whether it arrived. `enqueue` may
be repeated with the same ids and `again=True`: jobs that arrived the first time are left alone, even those that have
finished meanwhile. `settle` may be repeated as it is: a settlement that arrived finds its hold gone; a success may be
told as settled once more, to those who settle it under the hold under which it was. So may `register_worker`, while the
lease lasts.

**Cancelling.** A job that waits is settled. Of a job that runs, the wish to cancel is stored with its row by `cancel`,
and is part of its hold from then on: a settlement that was decided without knowing it, unless it is a success, does
not hold and has to be decided again. So a wish is never overlooked, and never outlives the run it is about.

**Effects.** What `remember_effect` keeps is guarded like a settlement: a run that lost its job remembers nothing.
Effects live as long as the job's record.

**Too late.** A settlement as expired is followed by the job that the expired one named for that case (core.late), in
the same transaction: there is one for each expired job and none without, whoever settles and however often.

**Dead letters.** A dead job is moved only by an operator, through `revive`, `amend_dead`, `cancel_dead`, `remove_dead`
and `purge_dead`. Each decision names the death it was taken about (fence and end), and counts only while the job is
still that dead. A revived job keeps its id, its key and its fence, which goes on rising, and begins with fresh
attempts. It needs its idempotency key: where another job holds that now, this one revival is refused, and the rest of
the batch goes on.

**Waiting jobs.** `amend_waiting` changes a job that nobody owns: each change names the state and the fence it was
decided in, and counts only while the job is still in them.

**Schedules.** A schedule is written only by those who saw its present version, and each write raises it. A fire, its
job and the advance of its schedule are one transaction, and a schedule and a fire time are a unique key: however many
schedulers run, one of them makes the job.

**Audit.** What an operator does and the entry that says so are written in one transaction. Entries form a chain
without forks (core.audit): appending locks its head.

**Controls.** What is set at run time has versions from one sequence (core.controls). `change_controls` applies a change
if the control still has the version it was decided upon, and versions become visible in their order.

**Limits.** `claim_limited` is a claim under limits that hold over all workers (core.limits). Whoever claims under one
limit waits for the other; what runs is counted from the jobs, so a lost worker's jobs count until they are recovered.
**Counted runs** (core.health) fall into the bucket of the store's now, so that all who count agree on the time.

**Hints.** `wake` tells listening workers that there may be work. Hints get lost; nothing depends on them but speed.
They may also leave with the commit of an `enqueue`, which saves a round trip.

Errors are those of fairlead.errors: StoreUnavailable is worth a retry, StoreRefused is not.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fairlead.core.jobs.model import Claim, Enqueued, Hold, Lease, NewJob, Quota, Settlement
from fairlead.core.protection.controls import Changed
from fairlead.ports.database import Database, Rows, Script

# The hint that a job was scheduled for soon; it wakes the promoter, as a pool's name wakes that pool's workers.
SCHEDULED_HINT = "@scheduled"
# The hint that somebody wants something of a worker, that it cancels jobs or ends; the worker's id follows.
WORKER_HINT = "@worker:"
# The hint that a leader has resigned; it makes the followers look.
LEAD_HINT = "@lead"
# The hint that a recurring schedule was added or changed; it wakes whoever makes the fires.
RECURRING_HINT = "@recurring"
# The hint that concerns whoever listens.
EVERYONE = ""

# The hint that a control was changed; it makes every worker look.
CONTROLS_HINT = "@controls"

# The hint that something has begun to fail; every worker adds what it knows about it.
HEALTH_HINT = "@health"


# The hint that there is room again under limits; it makes workers look that found them full.
LIMITS_HINT = "@limits"


class SampledBacklog(NamedTuple):
    """How many jobs waited, so many seconds ago."""

    waiting: int
    age: float


class DepthBound(Protocol):
    """A bound on a tenant's waiting jobs, for which the store counts before it stores."""

    @property
    def tenant(self) -> str:
        """Whose waiting jobs are counted."""

    @property
    def most(self) -> int:
        """How many may wait; counting ends beyond that."""

    def admit(self, waiting: int, count: int) -> None:
        """An error refuses to store so many more where so many wait; it may be asked again for the same jobs."""


class AdmissionCheck(Protocol):
    """Decides about submissions inside a caller's transaction, by figures that are read there when they are old."""

    @property
    def version(self) -> int:
        """The last version of the controls that it knows."""

    def is_stale(self) -> bool:
        """Whether the figures are to be read again."""

    def wants_sample(self) -> bool:
        """Whether it goes by the sampled figures."""

    def follow(self, changed: Changed) -> None:
        """Take over the controls that were read."""

    def sampled(self, backlog: Mapping[str, SampledBacklog]) -> None:
        """Take over the figures that were read."""

    def admit_here(self, jobs: Sequence[NewJob]) -> tuple[Sequence[NewJob], Sequence[DepthBound]]:
        """The jobs that are to be stored, and the bounds to be counted for; an error refuses all."""


class JobStore(Database, Protocol):
    """What differs between databases: storing, claiming and settling jobs, and waking workers."""

    writers: int  # transactions that it writes at the same time; others wait for them

    async def open(self) -> None:
        """Connect, and check that the schema is the one this version needs."""

    async def close(self) -> None:
        """Give back everything; the store can be opened again."""

    async def enqueue(
        self,
        jobs: Sequence[NewJob],
        again: bool = False,
        wake: Collection[str] = (),
        bounds: Sequence[DepthBound] = (),
    ) -> list[Enqueued]:
        """Store the jobs in one transaction, with hints that leave with its commit; answers in the same order.

        The waiting jobs of the tenants that are bounded are counted in it first, one submission of a tenant at a time.
        """

    def enqueue_within(self, connection: Any, jobs: Sequence[NewJob], admission: "AdmissionCheck | None" = None) -> Any:
        """Store the jobs in the caller's own open transaction: answers, or an awaitable of them if it is async."""

    async def claim(self, quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
        """Make the lease's owner the owner of up to the given number of jobs of each lane."""

    async def settle(self, settlements: Sequence[Settlement], expired_only: bool = False) -> set[str]:
        """Apply the settlements whose hold still holds; `expired_only` also demands that the owner's lease is over."""

    async def begin(self) -> "OpenTransaction":
        """Open a transaction for a handler's own writes; ConfigError where the database cannot."""

    def begin_blocking(self) -> "BlockingTransaction":
        """Open one for a handler that runs in a thread, and from that thread, which waits for its connection."""

    async def prune(self, retention: Mapping[str, float], default_retention: float, limit: int) -> int:
        """Remove finished jobs past their type's retention, and what nothing needs any more; returns how many jobs."""

    async def wake(self, pools: Iterable[str]) -> None:
        """Hint to listening workers that these pools may have work."""

    async def listen(self, on_wake: Callable[[str], None]) -> None:
        """Call back with the pool at each hint, until cancelled; heals itself."""

    async def facts(self) -> dict[str, Any]:
        """What an operator wants to know about this database."""

    def claiming(self, quotas: Sequence[Quota], lease: Lease) -> Script[Rows]:
        """The statements of a claim, for a script that does more in its transaction."""
        raise NotImplementedError


class OpenTransaction(Protocol):
    """A transaction on a connection of its own that a handler writes in, and that ends together with its job."""

    @property
    def connection(self) -> Any:
        """The driver's connection."""

    async def holds(self, job_id: str, hold: Hold) -> bool:
        """Whether the job is still in this situation."""

    async def settle(self, settlement: Settlement) -> bool:
        """Settle the job and commit, both or neither; False if its hold is gone and everything was rolled back."""

    async def abandon(self) -> None:
        """Roll back, if it has not ended, and give back the connection."""


class BlockingTransaction(OpenTransaction, Protocol):
    """One whose connection is used by a thread, which may go on after its run is over."""

    def release(self, keep: bool) -> bool:
        """The thread uses it no more; rolled back here unless it is kept and its run goes on. Whether it is kept."""


class LeaseBook(Protocol):
    """Renews leases from a thread or process in which no handler can get in the way; blocking on purpose."""

    def renew(self, worker_ids: Sequence[str], lease: float) -> set[str]:
        """Extend the leases that have not run out, never shorten one; returns whose are extended."""

    def expire(self, worker_ids: Sequence[str]) -> None:
        """End leases now: their processes are known to be gone."""

    def close(self) -> None:
        """Give back the connection."""
