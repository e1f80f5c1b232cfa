"""The verbs as works: functions that a Database runs within a transaction.

The driver gives up the interpreter's lock while a statement makes a step, and has to wait for it after each. A
statement for many jobs is therefore one step: rows go in and come out as one JSON text. Thousands of small steps beside
a busy event loop would wait for it thousands of times.
"""

import os
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple, TypeVar, cast

import apsw
from pydantic_core import from_json, to_json

from fairlead.core.jobs.model import Enqueued, Lane, Lease, NewJob, Quota, Settlement
from fairlead.core.jobs.settle import is_followed
from fairlead.core.jobs.states import FINAL
from fairlead.ports.database import Run, RunEach, Script, Settle, Statement
from fairlead.ports.jobs import DepthBound
from fairlead.records import rows
from fairlead.records.enqueue import enqueue_script
from fairlead.records.following import follow_script
from fairlead.records.lanes import ensure_lanes
from fairlead.stores.migrations import needed_version
from fairlead.stores.sqlite.address import Address
from fairlead.stores.sqlite.connection import query, values_for
from fairlead.stores.sqlite.database import wal_bytes
from fairlead.stores.sqlite.migrate import MIGRATIONS
from fairlead.stores.sqlite.places import is_wide, only_run, parts
from fairlead.stores.sqlite.telling import Lanes, Telling, Told, told
from fairlead.stores.sqlite.transactions import Afterwards
from fairlead.stores.within import drive

SHARD = 0
LONG_RUN = 8  # jobs side by side, for which a statement of their own pays
SYNCHRONOUS = ("off", "normal", "full", "extra")

Rows = list[tuple[Any, ...]]
Value = TypeVar("Value")


def execute(connection: apsw.Connection, name: str, batch: Sequence[dict[str, Any]], now: float) -> Rows:
    """Run a statement once for each row; returns what all of them returned."""
    values = values_for(name)
    for row in batch:
        row.update(shard=SHARD, now=now)
    return list(connection.executemany(query(name), [values(row) for row in batch]))


def performing(connection: apsw.Connection, now: float) -> Callable[[Statement], Rows]:
    """A function that runs a statement of a script within a work."""

    def perform(step: Statement) -> Rows:
        if isinstance(step, Settle):
            return [(job_id,) for job_id in settle(step.settlements, expired_only=False)(connection, now)]
        batch = [step.parameters] if isinstance(step, Run) else step.rows
        return execute(connection, step.query, [_plain(row) for row in batch], now)

    return perform


def scripted(make_script: Callable[[], Script[Value]]) -> Callable[[apsw.Connection, float], Value]:
    """A work that runs a script; the script is made anew when the work is repeated."""
    return lambda connection, now: drive(make_script(), performing(connection, now))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with instants as this database keeps them: seconds since 1970."""
    return {name: value.timestamp() if isinstance(value, datetime) else value for name, value in row.items()}


def each(name: str, batch: Sequence[dict[str, Any]]) -> Callable[[apsw.Connection, float], Rows]:
    """A work that runs one statement for each row."""
    return lambda connection, now: execute(connection, name, batch, now)


def enqueue(
    jobs: Sequence[NewJob], lanes: Sequence[Lane], again: bool = False, bounds: Sequence[DepthBound] = ()
) -> Callable[[apsw.Connection, float], list[Enqueued]]:
    """A work that stores jobs, and before them the lanes that may be new.

    One that was stored before is left as it is, live or finished: no statement has to take it back.
    """
    if not bounds and all(job.is_plain for job in jobs):
        insert = _insert_plain([(job.id, job.lane.id, job.payload) for job in jobs], lanes)
        answers = [Enqueued(job.id, False) for job in jobs]
        return lambda connection, now: insert(connection, now) or answers

    def work(connection: apsw.Connection, now: float) -> list[Enqueued]:
        perform = performing(connection, now)
        if lanes:
            drive(ensure_lanes(lanes), perform)
        return drive(enqueue_script(jobs, bounds=() if again else bounds), perform)

    return work


def _insert_plain(
    jobs: Sequence[tuple[str, int, str]], lanes: Sequence[Lane]
) -> Callable[[apsw.Connection, float], None]:
    statement, batch = _plain_rows(jobs)

    def work(connection: apsw.Connection, now: float) -> None:
        if lanes:
            drive(ensure_lanes(lanes), performing(connection, now))
        execute(connection, statement, batch, now)

    return work


def _plain_rows(jobs: Sequence[tuple[str, int, str]]) -> tuple[str, list[dict[str, Any]]]:
    """The statement for so many, and what it takes."""
    if len(jobs) == 1:
        ((job_id, lane, payload),) = jobs
        return "insert_one", [{"id": job_id, "lane": lane, "payload": payload}]
    return "insert_plain", [{"rows": to_json(jobs).decode()}]


def claim(quotas: Sequence[Quota], lease: Lease) -> Callable[[apsw.Connection, float], Told | Afterwards[Told]]:
    """A work that takes jobs from lanes; what there is to know about them is read while others may write."""

    def work(connection: apsw.Connection, now: float) -> Told | Afterwards[Told]:
        perform = performing(connection, now)
        telling = drive(claim_script(quotas, lease), perform)
        return Afterwards(lambda: drive(told(telling), perform)) if telling else []

    return work


def claim_script(quotas: Sequence[Quota], lease: Lease) -> Generator[RunEach, list[Any], Telling | None]:
    """The same as a script: it takes the jobs, and returns what tells about them; None if there are none."""
    alike = _alike(quotas)
    picked = yield RunEach("pick", [{"most": most, "lanes": apsw.carray(lanes)} for most, lanes in alike.items()])
    lists = from_json(f"[{','.join(text for (text,) in picked)}]")
    places = list(chain.from_iterable(lists))
    if not places:
        return None
    lying, lanes = set(places), _lanes_of(list(chain.from_iterable(alike.values())), lists)
    runs = parts(lying)
    given = {"owner": lease.owner, "lease": lease.token, "jobs": len(lying), "parts": to_json(runs).decode()}
    ((number, jobs),) = yield RunEach("begin_claim", [given])
    telling = Telling(lease, len(lying), lanes, runs)
    if len(runs) <= max(1, len(lying) // LONG_RUN):
        yield RunEach("claim_run", [{"first": first, "last": last, "claim": number} for first, last in runs])
    else:
        telling = telling._replace(places=to_json(places).decode())
        yield RunEach("claim", [{"places": telling.places, "claim": number}])
    if jobs > len(lying):  # one of its jobs may have come back, and be claimed once more
        yield RunEach("narrow_claims", [{"claims": f"[{number}]"}])
    return telling


def _alike(quotas: Sequence[Quota]) -> "dict[int, array[int]]":
    """The lanes of which as many jobs may be taken, since a statement has one limit."""
    lanes: dict[int, array[int]] = {}
    for quota in quotas:
        lanes.setdefault(quota.most, array("q")).append(quota.lane)
    return lanes


def _lanes_of(lanes: Sequence[int], places: Sequence[Sequence[int]]) -> Lanes:
    """The lane of each place that was picked, or that of all."""
    if len(lanes) == 1:
        return lanes[0]
    return {place: lane for lane, own in zip(lanes, places, strict=True) for place in own}


def claimed(whole: Rows) -> list[Any]:
    """The rows of jobs, from the texts that tell about each."""
    return [row for (text,) in whole for row in from_json(text)]


def settle(settlements: Sequence[Settlement], expired_only: bool) -> Callable[[apsw.Connection, float], list[str]]:
    """A work that applies settlements, successes claim by claim, all others one by one; returns the ids."""
    succeeded, others = rows.split_succeeded(settlements) if not expired_only else ([], settlements)
    batches = [_success(found) for found in succeeded]
    followed = {item.id for item in others if is_followed(item)}
    batch = [(_statement(item), rows.settlement_row(item)) for item in others]

    def work(connection: apsw.Connection, now: float) -> list[str]:
        def changes(name: str, row: dict[str, Any]) -> bool:
            connection.execute(query(name), values_for(name)(row))
            return bool(connection.changes())

        ended: Counter[tuple[str, str]] = Counter()
        settled = _settle_succeeded(connection, batches, now, ended)
        for _, row in batch:
            row.update(shard=SHARD, now=now, expired_only=expired_only)
        applied = [row for name, row in batch if _apply(changes, name, row)]
        _follow(connection, [row["id"] for row in applied if row["id"] in followed], now)
        ended.update((row["held_owner"], row["held_lease"]) for row in applied if row["held_lease"] is not None)
        _end_claims(connection, ended, now)
        return settled + [row["id"] for row in applied]

    return work


def _follow(connection: apsw.Connection, ended: Sequence[str], now: float) -> None:
    """Store what follows from jobs that have just ended."""
    drive(follow_script(ended), performing(connection, now))


class Success(NamedTuple):
    """Jobs of one claim that succeeded: what the statements take, and which they are."""

    kind: str
    given: dict[str, Any]
    ids: Sequence[str]


def _success(found: rows.Successes) -> Success:
    """Where all have a place and nothing else to tell, the places are enough."""
    given: dict[str, Any] = {"owner": found.lease.owner, "lease": found.lease.token}
    if None not in found.places and found.are_alike:
        given["fence"] = found.fences[0]
        places = cast(Sequence[int], found.places)
        if (only := only_run(places)) is not None:
            return Success("run", {**given, "first": only[0], "last": only[1]}, found.ids)
        return Success("plain", {**given, "places": apsw.carray(array("q", places))}, found.ids)
    told = list(zip(found.ids, found.fences, found.results, strict=True))
    return Success("succeeded", {**given, "rows": to_json(told).decode()}, found.ids)


def _end_claims(connection: apsw.Connection, ended: Mapping[tuple[str, str], int], now: float) -> None:
    """So many jobs of each claim run no more: forget claims that are over, and narrow those with few jobs left."""
    if not ended or (len(ended) == 1 and _is_over_at_once(connection, *next(iter(ended.items())), now)):
        return
    told = to_json([(*claim, count) for claim, count in ended.items()]).decode()
    found = execute(connection, "count_down", [{"claims": told}], now)
    over = [number for number, jobs, _ in found if jobs <= 0]
    wide = [number for number, jobs, wide in found if jobs > 0 and is_wide(jobs, wide)]
    for name, numbers in (("forget_claims", over), ("narrow_claims", wide)):
        if numbers:
            execute(connection, name, [{"claims": to_json(numbers).decode()}], now)


def _is_over_at_once(connection: apsw.Connection, claim: tuple[str, str], count: int, now: float) -> bool:
    """The common case: all jobs of a claim have ended together, so that none has to be looked for."""
    owner, lease = claim
    execute(connection, "end_claim", [{"owner": owner, "lease": lease, "jobs": count}], now)
    return bool(connection.changes())


def _settle_succeeded(
    connection: apsw.Connection, batches: Sequence[Success], now: float, ended: Counter[tuple[str, str]]
) -> list[str]:
    """End what is still held, and count it by claims; returns the ids.

    What another work of this transaction has ended under the same hold counts as settled for both who said so.
    """
    settled: list[str] = []
    for kind, given, ids in batches:
        number = execute(connection, "claim_number", [given], now)
        if not number:
            continue
        execute(connection, f"settle_{kind}", [{**given, "claim": number[0][0]}], now)
        changed = connection.changes()
        if not changed:
            continue
        if changed < len(ids):
            ((found,),) = execute(connection, f"settled_{kind}", [given], now)
            ids = from_json(found)
        ended[given["owner"], given["lease"]] += changed
        settled += ids
    return settled


def _statement(settlement: Settlement) -> str:
    return "settle_finish" if settlement.state in FINAL else "settle_return"


def _apply(changes: Callable[[str, dict[str, Any]], bool], name: str, row: dict[str, Any]) -> bool:
    """End a job, or let it wait again, unless its hold is gone; the attempt is written down while it holds."""
    if row["recorded"]:
        changes("settle_note", row)
    return changes(name, row)


def prune(prunable: Rows) -> Callable[[apsw.Connection, float], int]:
    """A work that deletes finished jobs with their attempts."""
    batch = [{"id": job_id, "finished_at": finished_at} for _, job_id, finished_at in prunable]

    def work(connection: apsw.Connection, now: float) -> int:
        removed = execute(connection, "prune_history", batch, now)
        execute(connection, "prune_attempts", batch, now)
        execute(connection, "prune_effects", batch, now)
        execute(connection, "prune_progress", batch, now)
        return len(removed)

    return work


def forget_keys(free: Rows) -> Callable[[apsw.Connection, float], Rows]:
    """A work that deletes keys that are still as free as they were when they were looked for."""
    return each("forget_keys", [{"tenant": row[0], "key": row[1], "job_id": row[2]} for row in free])


def facts(address: Address) -> Callable[[apsw.Connection, float], dict[str, Any]]:
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
