"""The enqueue script: inserts jobs and reserves their idempotency keys, the same on every database.

A store runs the script on its own connection, or on the caller's for a job enqueued in the caller's transaction.

A key is reserved by inserting it. Where that conflicts, the holder is read by a later statement, which sees what was
committed meanwhile, and is replaced only by a compare-and-swap on the job id just read: two takers cannot both win.

A key belongs to a tenant and a type. A later submission with a stronger scope makes the key that strong.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.core.jobs.idempotency import answers, name_of, split_repeats
from fairlead.core.jobs.model import Enqueued, NewJob, Scope, Unique
from fairlead.errors import StoreUnavailable
from fairlead.ports.database import Run, RunEach, Script
from fairlead.ports.jobs import DepthBound

ROUNDS = 5
LOCK_PATIENCE = "100ms"
FOREVER = 1000 * 365.25 * 86400.0  # seconds that a key is kept for good


def enqueue_script(
    jobs: Sequence[NewJob], again: bool = False, bounds: Sequence[DepthBound] = (), lock: str | None = None
) -> Script[list[Enqueued]]:
    """Store the jobs whose key is free; returns the result of each submission.

    A repeated submission is not counted again. `lock` names the statement that keeps others from counting jobs of the
    same tenant until this transaction ends.
    """
    kept, stands_for = split_repeats(jobs)
    existing = yield from claim_keys([job for job in kept if job.unique])
    if stronger := _stronger_repeats(jobs, stands_for, existing):
        yield RunEach("strengthen_keys", stronger)
    fresh = [job for job in kept if job.id not in existing]
    if fresh and not again:
        yield from _keep_within(bounds, fresh, lock)
    if fresh:
        yield RunEach("insert_jobs", [job_row(job) for job in fresh])
    if again and fresh:
        yield RunEach("withdraw_finished", [{"id": job.id} for job in fresh])
    return answers(jobs, stands_for, existing)


def _keep_within(bounds: Sequence[DepthBound], jobs: Sequence[NewJob], lock: str | None) -> Script[None]:
    """Check each bound against the tenant's waiting jobs; ordered by tenant to avoid deadlocks."""
    added = Counter(job.lane.tenant for job in jobs)
    for bound in sorted(bounds, key=lambda item: item.tenant):
        if lock:
            yield Run(lock, {"tenant": bound.tenant})
        ((waiting,),) = yield Run("count_waiting_of", {"tenant": bound.tenant, "most": bound.most + 1})
        bound.admit(waiting, added[bound.tenant])


def job_row(job: NewJob) -> dict[str, Any]:
    """Return the parameters of insert_jobs."""
    return {
        "id": job.id,
        "lane": job.lane.id,
        "state": job.state.value,
        "run_at": job.run_at,
        "delay": job.delay,
        "not_after": job.not_after,
        "parent": job.parent,
        "unique_key": job.unique.key if job.unique else None,
        "options": job.options,
        "payload": job.payload,
    }


def brief_script(script: Script[list[Enqueued]]) -> Script[list[Enqueued]]:
    """The script, which waits for no lock for long."""
    yield Run("set_lock_timeout", {"patience": LOCK_PATIENCE})
    return (yield from script)


def key_is_held(jobs: Sequence[NewJob]) -> str:
    """Why a submission with keys waited in vain for a lock; the database does not say for which one."""
    keys = sorted({job.unique.key for job in jobs if job.unique})
    some = ", ".join(map(repr, keys[:3])) + (", ..." if len(keys) > 3 else "")
    return (
        f"this submission waited too long for a lock: its idempotency key ({some}) is held by a transaction that has "
        "not ended, in which somebody submitted with the same key, or the table of jobs is locked; nothing was "
        "stored: submit again when the lock is free"
    )


def waking(script: Script[list[Enqueued]], pools: Iterable[str]) -> Script[list[Enqueued]]:
    """Run the script, then send hints with its commit."""
    answers = yield from script
    for pool in pools:
        yield Run("hint", {"pool": pool})
    return answers


def claim_keys(keyed: Sequence[NewJob]) -> Script[dict[str, str]]:
    """Reserve the keys for the jobs; returns by job id the earlier job that holds its key."""
    existing: dict[str, str] = {}
    waiting = {name_of(job): job for job in keyed if job.unique}
    for _ in range(ROUNDS):
        if not waiting:
            return existing
        for row in (yield RunEach("reserve_keys", [_key_row(job) for job in waiting.values()])):
            del waiting[row[0], row[1], row[2]]
        if not waiting:
            return existing
        free, stronger = [], []
        names = [{"tenant": tenant, "type": type_, "key": key} for tenant, type_, key in waiting]
        for *name, holder, kept_for, is_free in (yield RunEach("read_keys", names)):
            job = waiting[name[0], name[1], name[2]]
            seen = {**_key_row(job), "seen": holder}
            if holder == job.id:
                del waiting[name_of(job)]
            elif is_free:
                free.append(seen)
            else:
                existing[job.id] = holder
                del waiting[name_of(job)]
                if _is_stronger(job, kept_for):
                    stronger.append(seen)
        if stronger:
            yield RunEach("strengthen_keys", stronger)
        if free:
            for row in (yield RunEach("take_over_keys", free)):
                del waiting[row[0], row[1], row[2]]
    raise StoreUnavailable(
        f"{len(waiting)} idempotency keys changed hands {ROUNDS} times while this submission tried to take them; "
        "nothing was stored: submit again"
    )


def _stronger_repeats(
    jobs: Sequence[NewJob], stands_for: dict[str, str], existing: dict[str, str]
) -> list[dict[str, Any]]:
    """Repeats of a key within a batch whose scope is stronger than that of the first."""
    first = {job.id: _key_row(job)["kept_for"] for job in jobs if job.id in stands_for.values()}
    return [
        {**_key_row(job), "seen": existing.get(stands_for[job.id], stands_for[job.id])}
        for job in jobs
        if job.id in stands_for and _is_stronger(job, first[stands_for[job.id]])
    ]


def _key_row(job: NewJob) -> dict[str, Any]:
    unique = job.unique
    assert isinstance(unique, Unique)
    return {
        "tenant": job.lane.tenant,
        "type": job.lane.type,
        "key": unique.key,
        "job_id": job.id,
        "while_live": unique.scope is Scope.ACTIVE,
        "kept_for": FOREVER if unique.scope is Scope.FOREVER else unique.window,
    }


def _is_stronger(job: NewJob, kept_for: float | None) -> bool:
    """Whether a submission asks for more than the key's holder: first `active`, then `window`, then `forever`."""
    scope = job.unique.scope if job.unique else Scope.ACTIVE
    if scope is Scope.WINDOW:
        return kept_for is None
    return scope is Scope.FOREVER and (kept_for is None or kept_for < FOREVER / 2)
