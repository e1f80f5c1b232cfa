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

from fairlead.core.amend import WaitingChange
from fairlead.core.audit import AuditEntry, AuditHead, AuditNote
from fairlead.core.cancel import Cancelled, Demand
from fairlead.core.controls import Change, Changed, Control
from fairlead.core.flush import Flush
from fairlead.core.health import Count, Counted
from fairlead.core.late import Late
from fairlead.core.model import (
    ActiveLane,
    AttemptRecord,
    CancelRequest,
    Claim,
    DeadGroup,
    Enqueued,
    Held,
    Hold,
    JobFilter,
    JobRecord,
    JobType,
    Lease,
    NewJob,
    Page,
    Quota,
    Settlement,
    WorkerInfo,
    WorkerRecord,
)
from fairlead.core.promotion import Due, DueLane
from fairlead.core.replay import Amendment, DeadHold, Revival, Revived
from fairlead.core.schedule import DueSchedule, FirePlan, FireRecord, Schedule, ScheduleWrite
from fairlead.core.states import State
from fairlead.ports.blocking import BlockingStore
from fairlead.ports.callbacks import CallbackStore
from fairlead.ports.limits import Door, LimitedStore
from fairlead.ports.server import ServerRecords
from fairlead.ports.shares import ShareStore
from fairlead.ports.views import ViewStore

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


class Promoted(NamedTuple):
    """What one round of promotion did: the pools that got work, and how many jobs of each tenant became ready."""

    moved: int
    pools: frozenset[str]
    tenants: Mapping[str, int]


class Leadership(NamedTuple):
    """Who leads a role: the term rises with every change of leader; nobody does when `lease_left` is not positive."""

    identity: str
    term: int
    lease_left: float


class Store(BlockingStore, ShareStore, LimitedStore, ServerRecords, ViewStore, CallbackStore, Protocol):
    """The verbs; each takes and returns many jobs where speed matters."""

    writers: int  # transactions that it writes at the same time; others wait for them

    async def open(self) -> None:
        """Connect, and check that the schema is the one this version needs."""

    async def close(self) -> None:
        """Give back everything; the store can be opened again."""

    async def enqueue(self, jobs: Sequence[NewJob], again: bool = False, wake: Collection[str] = ()) -> list[Enqueued]:
        """Store the jobs in one transaction, with hints that leave with its commit; answers in the same order."""

    def enqueue_within(self, connection: Any, jobs: Sequence[NewJob], door: "Door | None" = None) -> Any:
        """Store the jobs in the caller's own open transaction: answers, or an awaitable of them if it is async."""

    async def active_lanes(self, besides: Collection[int] = ()) -> list[ActiveLane]:
        """The lanes that have ready jobs now, other than those `besides`, which cost nothing."""

    async def claim(self, quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
        """Make the lease's owner the owner of up to the given number of jobs of each lane."""

    async def settle(self, settlements: Sequence[Settlement], expired_only: bool = False) -> set[str]:
        """Apply the settlements whose hold still holds; `expired_only` also demands that the owner's lease is over."""

    async def begin(self) -> "OpenTransaction":
        """Open a transaction for a handler's own writes; ConfigError where the database cannot."""

    def begin_blocking(self) -> "BlockingTransaction":
        """Open one for a handler that runs in a thread, and from that thread, which waits for its connection."""

    async def cancel(self, settlements: Sequence[Settlement], demands: Sequence[Demand], note: AuditNote) -> Cancelled:
        """Apply settlements of waiting jobs and store wishes about running ones, those that hold, with an entry."""

    async def cancel_requests(self, owner: str) -> dict[tuple[str, int], CancelRequest]:
        """What was asked about the runs of a worker, by job and fence."""

    async def find_live(self, wanted: JobFilter, limit: int, cursor: str | None = None) -> list[Held]:
        """Live jobs that fit, with ids before the cursor, newest first."""

    async def count_live(self, wanted: JobFilter) -> dict[State, int]:
        """How many live jobs fit, by state."""

    async def recall_effect(self, job_id: str, name: str) -> str | None:
        """The remembered result of a job's named effect, JSON text."""

    async def remember_effect(self, job_id: str, hold: Hold, name: str, result: str) -> str | None:
        """Keep the result of a named effect while the hold holds; returns what is kept, None if the hold is gone."""

    async def lost(self, limit: int) -> list[Held]:
        """Running jobs whose owner's lease is over."""

    async def claimed_under(self, leases: Sequence[Lease]) -> list[Held]:
        """Running jobs that were claimed under these leases."""

    async def held(self, ids: Iterable[str]) -> list[Held]:
        """Those of the jobs that are live, as they are now."""

    async def late(self, limit: int) -> list[Late]:
        """Jobs that have not started although their not_after has passed, the longest late first."""

    async def due(self, limit: int) -> Due:
        """The first `limit` scheduled or retrying jobs that are due, by lane, and when the next will be."""

    async def due_lanes(self) -> list[DueLane]:
        """All lanes with due jobs; the counts are unknown and stand at the largest number there can be."""

    async def promote(self, limit: int, quotas: Sequence[Quota] | None = None) -> Promoted:
        """Make ready up to `limit` due jobs, the longest overdue first; with quotas, so many of each lane instead."""

    async def prune(self, retention: Mapping[str, float], default_retention: float, limit: int) -> int:
        """Remove finished jobs past their type's retention, and what nothing needs any more; returns how many jobs."""

    async def read(self, job_id: str) -> JobRecord | None:
        """The job, live or finished."""

    async def read_many(self, ids: Iterable[str]) -> list[JobRecord]:
        """Those of the jobs that there are, live or finished, in no order."""

    async def attempts(self, job_id: str) -> list[AttemptRecord]:
        """The runs of a job that did not end it well, oldest first."""

    async def list_jobs(
        self, wanted: JobFilter, limit: int, cursor: str | None = None, containing: str | None = None
    ) -> Page:
        """Jobs, newest first; only those with this text in their idempotency key, if one is given. No index finds it:
        the store looks at a bounded number of jobs, so such a page may be short, or empty, and still have a cursor."""

    async def count_jobs(self) -> dict[tuple[str, str], int]:
        """How many live jobs there are by (pool, state)."""

    async def dead_groups(self, wanted: JobFilter, limit: int) -> list[DeadGroup]:
        """Dead jobs by type and fingerprint, the largest group first."""

    async def dead_trend(self, wanted: JobFilter, width: float, parts: int) -> dict[tuple[str | None, str], list[int]]:
        """How many died in each of the last parts of `width` seconds, oldest first, by fingerprint and type."""

    async def revive(self, revivals: Sequence[Revival], note: AuditNote) -> Revived:
        """Make dead jobs ready again where they are still what was seen and their key is not another job's."""

    async def amend_dead(self, amendments: Sequence[Amendment], note: AuditNote) -> set[str]:
        """Replace the payload of dead jobs that are still what was seen; returns their ids."""

    async def cancel_dead(self, holds: Sequence[DeadHold], note: AuditNote) -> set[str]:
        """Make dead jobs cancelled that are still what was seen; returns their ids."""

    async def purge_dead(self, wanted: JobFilter, older_than: float, limit: int, note: AuditNote) -> int:
        """Remove up to `limit` dead jobs that died so many seconds ago, with their attempts; returns how many."""

    async def remove_dead(self, holds: Sequence[DeadHold], note: AuditNote) -> set[str]:
        """Remove dead jobs that are still what was seen, with their attempts; returns their ids."""

    async def amend_waiting(self, changes: Sequence[WaitingChange], note: AuditNote) -> set[str]:
        """Apply changes to jobs that still wait as they were seen; returns their ids."""

    async def count_ahead(self, job_id: str, limit: int) -> int:
        """How many ready jobs of its lane are before a ready job, counted up to the limit."""

    async def now(self) -> float:
        """The database's clock."""

    async def due_schedules(self, limit: int) -> list[DueSchedule]:
        """Active schedules whose next fire has come, the longest overdue first."""

    async def see_schedule(self, name: str) -> DueSchedule | None:
        """One schedule, due or not, with the store's now and its jobs that have not ended."""

    async def next_fire(self) -> float | None:
        """Seconds until the next schedule is due."""

    async def fire_schedules(self, plans: Sequence[FirePlan]) -> set[str]:
        """Carry out the plans whose schedule is still what was seen, each as a whole; returns their names."""

    async def write_schedule(self, write: ScheduleWrite, note: AuditNote) -> bool:
        """Make or change a schedule with its fires; whether it was still what was seen."""

    async def remove_schedule(self, name: str, seen: int, note: AuditNote) -> bool:
        """Remove a schedule and the record of its fires; whether it was still what was seen."""

    async def read_schedules(self, names: Iterable[str]) -> list[Schedule]:
        """Those of the schedules that there are."""

    async def list_schedules(
        self, limit: int, after: str | None = None, owner: str | None = None, tenant: str | None = None
    ) -> list[Schedule]:
        """Schedules by name, beginning after one; of one owner or of all, of one tenant or of all."""

    async def read_fires(self, names: Iterable[str], most: int) -> list[FireRecord]:
        """The last fires of each schedule, newest first, with the states and the tenants of their jobs."""

    async def append_audit(self, note: AuditNote, jobs: Sequence[str] = ()) -> AuditEntry:
        """Write an entry about these jobs at the end of the chain."""

    async def read_audit(self, limit: int, cursor: int | None = None, job_id: str | None = None) -> list[AuditEntry]:
        """Entries before the cursor, newest first, of one job or of all."""

    async def audit_head(self) -> AuditHead:
        """Where the chain of the audit ends."""

    async def controls(self, since: int = 0) -> Changed:
        """The controls that were set or removed after a version, oldest change first, and the store's now."""

    async def change_controls(self, changes: Sequence[Change], note: AuditNote | None = None) -> list[Control]:
        """Apply the changes that were decided upon what is there, audited if noted; returns the controls they made."""

    async def count_runs(self, counts: Sequence[Count], flush: Flush | None = None) -> Counted:
        """Add runs to their subjects, unless this flush did, and read what these have in their spans."""

    async def health_counts(self) -> Counted:
        """What all subjects have that were counted within their spans."""

    async def forget_runs(self, subjects: Iterable[str]) -> None:
        """Count these subjects from nothing."""

    async def register_types(self, types: Sequence[JobType]) -> None:
        """Record types; an older version never replaces a newer one."""

    async def job_types(self) -> list[JobType]:
        """All registered types."""

    async def register_worker(self, info: WorkerInfo, lease: float) -> None:
        """Enter a worker with a lease of so many seconds; LeaseLost where it is there, and its lease is over."""

    async def report_worker(self, worker_id: str, report: Mapping[str, Any]) -> str | None:
        """Keep a worker's own figures for operators; returns the state that it is to be in."""

    async def direct_worker(self, worker_id: str, state: str, note: AuditNote) -> bool:
        """Write the state that a live worker is to take on; False where there is no such worker."""

    async def retire_worker(self, worker_id: str) -> None:
        """Remove a worker; whatever it still owns counts as lost."""

    async def workers(self) -> list[WorkerRecord]:
        """All registered workers."""

    async def lead(self, role: str, identity: str, lease: float) -> int:
        """The term in which this identity leads for the next `lease` seconds, taken if free or renewed; else 0."""

    async def leader(self, role: str) -> Leadership | None:
        """Who has led last, and for how much longer."""

    async def resign(self, role: str, identity: str) -> None:
        """Give up the lead, so that another can take it at once."""

    async def wake(self, pools: Iterable[str]) -> None:
        """Hint to listening workers that these pools may have work."""

    async def listen(self, on_wake: Callable[[str], None]) -> None:
        """Call back with the pool at each hint, until cancelled; heals itself."""

    async def facts(self) -> dict[str, Any]:
        """What an operator wants to know about this database."""


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
