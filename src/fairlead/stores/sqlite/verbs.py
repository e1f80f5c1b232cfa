"""The verbs as works: functions that a file's thread runs within a transaction.

The driver gives up the interpreter's lock while a statement makes a step, and has to wait for it after each. A
statement for many jobs is therefore one step: rows go in and come out as one JSON text. Thousands of small steps beside
a busy event loop would wait for it thousands of times.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import apsw
from pydantic_core import from_json, to_json

from fairlead.core.jobs.model import Enqueued, Lane, Lease, NewJob, Quota, Settlement
from fairlead.core.jobs.settle import is_followed
from fairlead.ports.database import Rows, Run, RunEach, Script, Settle, Statement
from fairlead.ports.jobs import DepthBound
from fairlead.records.enqueue import enqueue_script
from fairlead.records.following import follow_script
from fairlead.records.lanes import ensure_lanes
from fairlead.stores.migrations import needed_version
from fairlead.stores.settling import resumption_rows, settlement_row, split_succeeded
from fairlead.stores.sqlite.address import Address
from fairlead.stores.sqlite.connection import query
from fairlead.stores.sqlite.database import wal_bytes
from fairlead.stores.sqlite.migrate import MIGRATIONS
from fairlead.stores.within import drive

SHARD = 0
SYNCHRONOUS = ("off", "normal", "full", "extra")

Value = TypeVar("Value")
Work = Callable[[apsw.Connection, float], Value]


def json_text(values: Any) -> str:
    """Values as the JSON text that a statement takes."""
    return to_json(values).decode()


def perform(connection: apsw.Connection, statement: Statement, now: float) -> Rows:
    """Run a statement of a script within a transaction; many rows go to it as one JSON text, where it takes that."""
    if isinstance(statement, Settle):
        return [(job_id,) for job_id in run_script(connection, settle_script(statement.settlements), now)]
    text, given = query(statement.query), {"shard": SHARD, "now": now}
    if isinstance(statement, Run):
        return list(connection.execute(text, {**given, **_plain(statement.parameters)}))
    batch = [_plain(row) for row in statement.rows]
    if ":rows" in text:
        return list(connection.execute(text, {**given, "rows": json_text(batch)}))
    return list(connection.executemany(text, [{**given, **row} for row in batch]))


def run_script(connection: apsw.Connection, script: Script[Value], now: float) -> Value:
    """Run a script within a transaction."""
    return drive(script, lambda statement: perform(connection, statement, now))


def running(statement: Statement) -> Work[Rows]:
    """A work that runs one statement."""
    return lambda connection, now: perform(connection, statement, now)


def scripted(make_script: Callable[[], Script[Value]]) -> Work[Value]:
    """A work that runs a script; the script is made anew when the work is repeated."""
    return lambda connection, now: run_script(connection, make_script(), now)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with instants as this database keeps them: seconds since 1970."""
    return {name: value.timestamp() if isinstance(value, datetime) else value for name, value in row.items()}


def enqueue(
    jobs: Sequence[NewJob], lanes: Sequence[Lane], again: bool = False, bounds: Sequence[DepthBound] = ()
) -> Work[list[Enqueued]]:
    """A work that stores jobs, and before them the lanes that may be new."""
    is_plain = not again and not bounds and all(job.is_plain for job in jobs)
    plain = json_text([(job.id, job.lane.id, job.payload) for job in jobs]) if is_plain else ""

    def script() -> Script[list[Enqueued]]:
        if lanes:
            yield from ensure_lanes(lanes)
        if not is_plain:
            return (yield from enqueue_script(jobs, again, bounds))
        yield Run("insert_plain", {"rows": plain})
        return [Enqueued(job.id, False) for job in jobs]

    return scripted(script)


def claim_script(quotas: Sequence[Quota], lease: Lease) -> Script[Rows]:
    """Take jobs from lanes; returns what rows.claims_of takes."""
    by_most: dict[int, list[int]] = {}  # since a statement has one limit
    for quota in quotas:
        by_most.setdefault(quota.most, []).append(quota.lane)
    places: list[int] = []
    for most, lanes in by_most.items():
        ((found,),) = yield Run("pick", {"most": most, "lanes": json_text(lanes)})
        places += {place for own in from_json(f"[{found or ''}]") for place in own}
    if not places:
        return []
    given = {"places": json_text(places)}
    yield Run("claim", {**given, "owner": lease.owner, "lease": lease.token})
    ((claimed,),) = yield Run("read_claimed", given)
    found_rows: Rows = from_json(claimed)
    return found_rows


def settle_script(settlements: Sequence[Settlement], expired_only: bool = False) -> Script[set[str]]:
    """Apply settlements whose hold still holds, and store what follows from them; returns their ids."""
    by_claim, others = ({}, settlements) if expired_only else split_succeeded(settlements)
    settled: set[str] = set()
    for lease, items in by_claim.items():
        settled |= yield from _succeed(lease, items)
    if others:
        settled |= yield from _end(others, expired_only)
    return settled


def _succeed(lease: Lease, items: Sequence[Settlement]) -> Script[set[str]]:
    """End jobs of one claim that succeeded; which ones they were is read only where it was not all of them."""
    given = {
        "rows": json_text([(item.id, item.hold.fence, item.result) for item in items]),
        "owner": lease.owner,
        "lease": lease.token,
    }
    yield Run("succeed", given)
    ((count,),) = yield Run("changes", {})
    ids = [item.id for item in items]
    if count < len(ids):
        ((found,),) = yield Run("succeeded", given)
        ids = from_json(found)
    if count:
        yield Run("remove_finished", {"ids": json_text(ids)})
    return set(ids)


def _end(settlements: Sequence[Settlement], expired_only: bool) -> Script[set[str]]:
    """End runs and waits in any other way."""
    batch = [settlement_row(item) for item in settlements]
    ((found,),) = yield Run("settle_held", {"rows": json_text(batch), "expired_only": expired_only})
    held = [settlements[at] for at in sorted(set(from_json(found)))]
    given = {"rows": json_text([settlement_row(item) for item in held])}
    ended = [item.id for item in held if settlement_row(item)["final"]]
    if any(item.recorded for item in held):
        yield Run("settle_noted", given)
    if len(ended) < len(held):
        yield Run("settle_returned", given)
    if ended:
        yield Run("settle_finished", given)
        yield Run("remove_finished", {"ids": json_text(ended)})
        yield from follow_script([item.id for item in held if is_followed(item)])
    if resumed := resumption_rows(held):
        yield RunEach("count_resumptions", resumed)
    return {item.id for item in held}


def prune_history(types: Iterable[str], after: float, before: float, limit: int) -> Work[tuple[int, float | None]]:
    """A work that removes finished jobs of these types that ended in this time, with what is kept beside them."""

    def script() -> Script[tuple[int, float | None]]:
        given = {"types": json_text(list(types)), "after": after, "before": before, "limit": limit}
        ((found, count, last),) = yield Run("prune_history", given)
        if count:
            for name in ("purge_attempts", "purge_effects", "purge_progress", "purge_checkpoints", "remove_history"):
                yield Run(name, {"rows": found})
        return count, last

    return scripted(script)


def facts(address: Address) -> Work[dict[str, Any]]:
    """A work that tells about the database file."""

    def work(connection: apsw.Connection, now: float) -> dict[str, Any]:
        synchronous = SYNCHRONOUS[connection.pragma("synchronous")]
        return {
            "store": "sqlite",
            "version": apsw.sqlite_lib_version(),
            "database": address.path,
            "journal_mode": connection.pragma("journal_mode"),
            "synchronous": synchronous,
            "durable": synchronous in ("full", "extra") and not address.in_memory,
            "read_only": connection.readonly("main"),
            "schema": needed_version(MIGRATIONS),
            "clock": now,
            "file_bytes": 0 if address.in_memory else os.path.getsize(address.path),
            "wal_bytes": 0 if address.in_memory else wal_bytes(address.path),
        }

    return work
