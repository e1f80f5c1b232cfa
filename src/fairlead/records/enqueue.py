"""The enqueue script: inserts jobs and reserves their idempotency keys, the same on every database.

A store runs the script on its own connection, or on the caller's for a job enqueued in the caller's transaction.

A key is reserved by inserting it. On a conflict a later statement reads the holder, and replaces a holder that has
ended by a compare-and-swap on its job id, so two submissions cannot both take over a key.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.core.jobs.idempotency import answers, split_repeats
from fairlead.core.jobs.model import Enqueued, NewJob, Unique
from fairlead.errors import StoreUnavailable
from fairlead.ports.database import Run, RunEach, Script
from fairlead.ports.jobs import DepthBound

ROUNDS = 5


def enqueue_script(
    jobs: Sequence[NewJob], again: bool = False, bounds: Sequence[DepthBound] = (), lock: str | None = None
) -> Script[list[Enqueued]]:
    """Store the jobs whose key is free; returns the result of each submission.

    A repeated submission is not counted again. `lock` names the statement that keeps others from counting jobs of the
    same tenant until this transaction ends.
    """
    kept, stands_for = split_repeats(jobs)
    existing = yield from claim_keys([job for job in kept if job.unique])
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


def waking(script: Script[list[Enqueued]], pools: Iterable[str]) -> Script[list[Enqueued]]:
    """Run the script, then send hints with its commit."""
    answers = yield from script
    for pool in pools:
        yield Run("hint", {"pool": pool})
    return answers


def claim_keys(keyed: Sequence[NewJob]) -> Script[dict[str, str]]:
    """Reserve the keys for the jobs; returns by job id the earlier job that holds its key."""
    existing: dict[str, str] = {}
    waiting = {(job.lane.tenant, job.unique.key): job for job in keyed if job.unique}
    for _ in range(ROUNDS):
        if not waiting:
            return existing
        for row in (yield RunEach("reserve_keys", [_key_row(job) for job in waiting.values()])):
            del waiting[row[0], row[1]]
        if not waiting:
            return existing
        free = []
        for tenant, key, holder, is_free in (
            yield RunEach("read_keys", [{"tenant": tenant, "key": key} for tenant, key in waiting])
        ):
            job = waiting[tenant, key]
            if holder == job.id:
                del waiting[tenant, key]
            elif is_free:
                free.append({**_key_row(job), "seen": holder})
            else:
                existing[job.id] = holder
                del waiting[tenant, key]
        if free:
            for row in (yield RunEach("take_over_keys", free)):
                del waiting[row[0], row[1]]
    raise StoreUnavailable(
        f"{len(waiting)} idempotency keys changed hands {ROUNDS} times while this submission tried to take them; "
        "nothing was stored: submit again"
    )


def _key_row(job: NewJob) -> dict[str, Any]:
    unique = job.unique
    assert isinstance(unique, Unique)
    return {
        "tenant": job.lane.tenant,
        "key": unique.key,
        "job_id": job.id,
        "scope": unique.scope.value,
        "expires_in": unique.window,
    }
