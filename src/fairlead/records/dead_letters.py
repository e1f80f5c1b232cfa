"""Dead letters: groups of dead jobs, and reviving, editing, cancelling and removing them.

A revival takes the job's idempotency key with the same statements as a submission, after the job's own key was
released. A concurrent submission that has just read the key as free fails its compare-and-swap, reads again, and finds
the revived job. Whoever commits first has the key.

Each action and its audit entry are one transaction. The entry is written last, so that the audit's lock is held
briefly.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.dead_letters import DeadEdit, DeadGroup, DeadHold, Refusal, Revival, Revived
from fairlead.core.jobs.idempotency import split_repeats
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import Lane, NewJob, Scope, Unique
from fairlead.core.jobs.states import State
from fairlead.ports.database import Database, Run, RunEach, Script
from fairlead.records import rows
from fairlead.records.audit import append_script
from fairlead.records.enqueue import claim_keys
from fairlead.records.lanes import ensure_lanes


class DeadLetters:
    """Groups, revives, edits, cancels and removes dead jobs; each write is a compare-and-swap on fence and end."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def groups(self, wanted: JobFilter, limit: int) -> list[DeadGroup]:
        """Return dead jobs grouped by type and fingerprint, the largest group first."""
        found = await self._database.ask("dead_groups", limit=limit, **rows.filter_row(wanted))
        return [rows.group_of(row) for row in found]

    async def trend(self, wanted: JobFilter, width: float, parts: int) -> dict[tuple[str | None, str], list[int]]:
        """Return deaths in each of the last `parts` intervals, oldest first, by (fingerprint, type)."""
        found: dict[tuple[str | None, str], list[int]] = {}
        for row in await self._database.ask("dead_trend", width=width, parts=parts, **rows.filter_row(wanted)):
            found.setdefault((row[0], row[1]), [0] * parts)[parts - 1 - row[2]] = row[3]
        return found

    async def revive(self, revivals: Sequence[Revival], note: AuditNote) -> Revived:
        """Make dead jobs ready again if they are unchanged and no other job holds their key."""
        return await self._database.transact(lambda: revive_script(revivals, note))

    async def amend(self, amendments: Sequence[DeadEdit], note: AuditNote) -> set[str]:
        """Replace the payload of unchanged dead jobs; returns their ids."""
        return await self._database.transact(lambda: _amend(amendments, note))

    async def cancel(self, holds: Sequence[DeadHold], note: AuditNote) -> set[str]:
        """Cancel unchanged dead jobs; returns their ids."""
        return await self._database.transact(lambda: _cancel(holds, note))

    async def purge(self, wanted: JobFilter, older_than: float, limit: int, note: AuditNote) -> int:
        """Remove up to `limit` jobs that died over `older_than` seconds ago, with their attempts; returns how many."""
        return await self._database.transact(lambda: _purge(wanted, older_than, limit, note))

    async def remove(self, holds: Sequence[DeadHold], note: AuditNote) -> set[str]:
        """Remove unchanged dead jobs with their attempts; returns their ids."""
        return await self._database.transact(lambda: _remove(holds, note))


def revive_script(revivals: Sequence[Revival], note: AuditNote) -> Script[Revived]:
    """Lock the jobs that are still dead, take their keys, make them ready, and append the audit entry."""
    once = list({item.hold: item for item in revivals}.values())
    timely, refused = yield from _still_dead(once)
    taken = yield from _take_keys([_keyed(item) for item in timely if item.key is not None])
    refused |= dict.fromkeys(taken, Refusal.KEY_TAKEN)
    free = [item for item in timely if item.id not in taken]
    ids: set[str] = set()
    if free:
        yield from _insert_lanes(item.lane for item in free if item.payload is not None)
        ids = {row[0] for row in (yield RunEach("revive", [_revival_row(item) for item in free]))}
        yield RunEach("remove_revived", [{"id": job_id} for job_id in sorted(ids)])
        yield from append_script(_counted(note, ids), sorted(ids))
    return Revived(frozenset(ids), refused)


def _amend(amendments: Sequence[DeadEdit], note: AuditNote) -> Script[set[str]]:
    yield from _insert_lanes(item.lane for item in amendments)
    batch = [{**_hold_row(item.hold), "lane": item.lane.id, "payload": item.payload} for item in amendments]
    return (yield from _change("amend_dead", batch, note))


def _cancel(holds: Sequence[DeadHold], note: AuditNote) -> Script[set[str]]:
    batch = [{**_hold_row(hold), "state": State.CANCELLED.value} for hold in holds]
    return (yield from _change("cancel_dead", batch, note))


def _purge(wanted: JobFilter, older_than: float, limit: int, note: AuditNote) -> Script[int]:
    found = yield Run("purge_dead", {**rows.filter_row(wanted), "older_than": older_than, "limit": limit})
    if found:
        yield from _purge_remains({row[0] for row in found})
        yield from append_script(note.about(count=len(found)))
    return len(found)


def _remove(holds: Sequence[DeadHold], note: AuditNote) -> Script[set[str]]:
    batch = [_hold_row(hold) for hold in holds]
    ids = {row[0] for row in (yield RunEach("remove_dead", batch))} if batch else set()
    if ids:
        yield from _purge_remains(ids)
        yield from append_script(_counted(note, ids), sorted(ids))
    return ids


def _purge_remains(ids: set[str]) -> Script[None]:
    """Remove attempts, effects, progress and checkpoints of these jobs."""
    gone = [{"id": job_id} for job_id in sorted(ids)]
    for query in ("purge_attempts", "purge_effects", "purge_progress", "purge_checkpoints"):
        yield RunEach(query, gone)


def _change(query: str, batch: list[dict[str, Any]], note: AuditNote) -> Script[set[str]]:
    ids = {row[0] for row in (yield RunEach(query, batch))} if batch else set()
    if ids:
        yield from append_script(_counted(note, ids), sorted(ids))
    return ids


def _still_dead(revivals: Sequence[Revival]) -> Script[tuple[list[Revival], dict[str, Refusal]]]:
    """Return the revivals that are possible, and the refusals of the others by id."""
    found = (yield RunEach("lock_dead", [_hold_row(item.hold) for item in revivals])) if revivals else []
    late = {(row[0], row[1]): bool(row[2]) for row in found}
    current = [item for item in revivals if (item.id, item.hold.fence) in late]
    known = {item.id for item in current}
    refused = {item.id: Refusal.CHANGED for item in revivals if item.id not in known}
    refused |= {item.id: Refusal.TOO_LATE for item in current if late[item.id, item.hold.fence]}
    return [item for item in current if item.id not in refused], refused


def _take_keys(keyed: Sequence[NewJob]) -> Script[set[str]]:
    """Reserve the keys for the jobs; returns the ids of jobs whose key another job holds, also in this batch."""
    first, repeats = split_repeats(keyed)
    if first:
        yield RunEach("release_keys", [_own_key(job) for job in first])
    existing = yield from claim_keys(first)
    return existing.keys() | repeats.keys()


def _insert_lanes(lanes: Iterable[Lane]) -> Script[None]:
    known = set(lanes)
    if known:
        yield from ensure_lanes(known)


def _counted(note: AuditNote, ids: set[str]) -> AuditNote:
    return note.about(count=len(ids), jobs=sorted(ids))


def _keyed(revival: Revival) -> NewJob:
    """Return a submission with the revival's key, in the scope that lasts while the job is live."""
    assert revival.key is not None
    return NewJob(revival.id, revival.lane, "", unique=Unique(revival.key, Scope.ACTIVE))


def _own_key(job: NewJob) -> dict[str, Any]:
    assert job.unique is not None
    return {"tenant": job.lane.tenant, "type": job.lane.type, "key": job.unique.key, "job_id": job.id}


def _hold_row(hold: DeadHold) -> dict[str, Any]:
    return {"id": hold.id, "held_state": State.DEAD.value, "fence": hold.fence, "finished_at": hold.finished_at}


def _revival_row(revival: Revival) -> dict[str, Any]:
    return {
        **_hold_row(revival.hold),
        "lane": revival.lane.id,
        "state": revival.state.value,
        "payload": revival.payload,
    }
