"""What is well and what is not about a database and the workers on it, with what to do."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fairlead.core.durations import humanize
from fairlead.core.jobs.states import State
from fairlead.core.jobs.workers import WorkerRecord
from fairlead.core.protection.backpressure import EACH, TENANT, rule_name
from fairlead.core.schedule.promotion import DueJobs
from fairlead.core.web.callbacks import TYPE as DELIVERY
from fairlead.core.web.callbacks import Endpoint
from fairlead.errors import FairleadError, SchemaMismatch
from fairlead.insight.protection import Bounds, bounds
from fairlead.records.store import Store
from fairlead.records.workers import SERVICES_ROLE, Leader
from fairlead.version import __version__

CLOCK_TOLERANCE = 1.0
PROMOTER_TOLERANCE = 5.0
MOST_CALLBACKS = 1_000
EVERYBODY = rule_name(TENANT, EACH)
AGE = "oldest_due_unpromoted_age"
SCHEMA_ADVICE = "run `fairlead migrate` for tables that are missing or older; upgrade Fairlead here for newer ones"
# SQLite before this release can damage a database in WAL mode that several connections use.
WAL_RESET_FIXED = (3, 51, 3)


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    level: Level
    topic: str
    message: str
    advice: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict)


async def examine(make_store: Callable[[], Store], where: str) -> list[Finding]:
    """Look at a database that may not be reachable or usable at all; `where` is its address as it may be shown."""
    try:
        store = make_store()
        await store.open()
    except SchemaMismatch as error:
        return [_problem("schema", f"{where}: {error}", SCHEMA_ADVICE)]
    except FairleadError as error:
        return [_problem("store", str(error), f"check the database URL ({where}) and that the database is running")]
    try:
        return await _examine_open(store, where)
    except FairleadError as error:
        return [_problem("store", str(error), "the database answered at first and then no more; look at its log")]
    finally:
        await store.close()


async def _examine_open(store: Store, where: str) -> list[Finding]:
    facts = await store.jobs.facts()
    counts, workers = await store.reader.count_jobs(), await store.workers.all()
    return [
        _ok("store", f"{_name(facts)} at {where}"),
        *check_library(facts),
        check_writable(facts),
        check_durability(facts),
        *check_pooler(facts),
        _ok("schema", f"version {facts['schema']}, which this version of Fairlead needs"),
        await _check_clock(store, facts),
        check_jobs(counts),
        check_bounds(await bounds(store)),
        check_schedule(await store.promotion.due(1), await store.leadership.current(SERVICES_ROLE)),
        *check_workers(counts, workers),
        *check_callbacks(await store.callbacks.page(MOST_CALLBACKS), workers),
    ]


def check_library(facts: Mapping[str, Any]) -> list[Finding]:
    """Whether this process has a SQLite without the WAL-reset defect."""
    if facts["store"] != "sqlite":
        return []
    version = str(facts["version"])
    if tuple(int(part) for part in version.split(".")) >= WAL_RESET_FIXED:
        return [_ok("library", f"SQLite {version} has the fix of the WAL-reset defect")]
    needed = ".".join(map(str, WAL_RESET_FIXED))
    return [
        _problem(
            "library",
            f"SQLite {version} can damage a database that several connections use (the WAL-reset defect)",
            f"install a newer apsw, with SQLite {needed} or later: pip install --upgrade apsw",
        )
    ]


def check_writable(facts: Mapping[str, Any]) -> Finding:
    """Whether the database takes writes."""
    if not facts["read_only"]:
        return _ok("writing", "the database takes writes")
    if facts["store"] == "sqlite":
        return _problem("writing", "the file is read-only", "give this user the right to write the file and its folder")
    return _problem("writing", "the server is a replica or in recovery", "name the primary in the database URL")


def check_durability(facts: Mapping[str, Any]) -> Finding:
    """Whether a commit survives a power cut, in words."""
    names = ("journal_mode", "synchronous") if facts["store"] == "sqlite" else ("fsync", "synchronous_commit")
    settings = ", ".join(f"{name} {facts[name]}" for name in names)
    if not facts["durable"]:
        advice = (
            "leave ?synchronous=normal out of the database URL, and use a file rather than memory"
            if facts["store"] == "sqlite"
            else "set fsync = on and synchronous_commit = on on the server"
        )
        return _warning("durability", f"a power cut may lose jobs that were accepted ({settings})", advice)
    if facts.get("full_page_writes") == "off":
        advice = "set full_page_writes = on, unless the file system never writes half a page"
        return _warning("durability", "a power cut may damage tables (full_page_writes off)", advice)
    return _ok("durability", f"what was accepted survives a power cut ({settings})")


def check_pooler(facts: Mapping[str, Any]) -> list[Finding]:
    """Whether hints arrive where a pooler stands before PostgreSQL."""
    if not facts.get("pooled"):
        return []
    if not facts["deaf"]:
        return [_ok("pooler", "a pooler stands before PostgreSQL, and hints have an address of their own")]
    return [
        _warning(
            "pooler",
            "a pooler stands before PostgreSQL, so no hints arrive: jobs are found by polling",
            "set listen_url to the address of the server itself, or to the pooler's if that is in session mode",
        )
    ]


def check_clock(difference: float, uncertainty: float) -> Finding:
    """Whether this machine and the database agree about the time; `difference` is how far the database is ahead."""
    amount = f"{humanize(abs(difference))} {'ahead of' if difference > 0 else 'behind'} this machine"
    if abs(difference) - uncertainty <= CLOCK_TOLERANCE:
        return _ok("clock", f"the database's clock is {amount} (measured to {humanize(uncertainty)})")
    return _warning(
        "clock",
        f"the database's clock is {amount}",
        "jobs run by the database's clock: run_at and not_after made here are off by as much; synchronise with NTP",
    )


def check_jobs(counts: Mapping[tuple[str, str], int]) -> Finding:
    """How many jobs wait or run."""
    listed = ", ".join(f"{count} {state} in {pool}" for (pool, state), count in sorted(counts.items()))
    return _ok("jobs", listed or "no job waits or runs")


def check_bounds(found: Bounds) -> Finding:
    """Whether a tenant may have any number of jobs waiting; many want that, so it is not called a defect."""
    if EVERYBODY in found.depths:
        return _ok("bounds", f"at most {found.depths[EVERYBODY]} jobs of a tenant wait, unless it has its own bound")
    some = ", except for those with a bound of their own" if found.depths else ""
    return Finding(
        Level.OK,
        "bounds",
        f"nothing bounds how many jobs of a tenant may wait{some}",
        "in production set a bound: `fairlead settings set depth 'tenant:*' waiting=1000000`",
    )


def check_schedule(due: DueJobs, leader: Leader | None) -> Finding:
    """Whether due jobs become ready in time, and who sees to that."""
    age = due.overdue or 0.0
    leads = leader is not None and leader.lease_left > 0
    who = f"process {leader.identity[:8]} leads in term {leader.term}" if leader and leads else "no process leads now"
    waits = f"a due job has waited {humanize(age)} to become ready" if age else "no due job waits to become ready"
    if age < PROMOTER_TOLERANCE:
        return Finding(Level.OK, "schedule", f"{waits}; {who}", figures={AGE: age})
    advice = (
        "more is due than promote_rate and promote_tenant_rate allow: wait, or raise them"
        if leads
        else "start a worker, or `fairlead scheduler MODULE:APP`"
    )
    return Finding(Level.WARNING, "schedule", f"{waits}; {who}", advice, {AGE: age})


def check_workers(counts: Mapping[tuple[str, str], int], workers: Sequence[WorkerRecord]) -> list[Finding]:
    """Whether workers are there for the pools that have work."""
    live = [worker for worker in workers if worker.live]
    findings = [_ok("workers", f"{len(live)} live, with {sum(worker.info.slots for worker in live)} slots")]
    if len(live) < len(workers):
        findings.append(_lost(workers))
    served = {pool for worker in live for pool in worker.info.pools}
    findings += [_unserved(pool, count) for pool, count in sorted(_ready(counts).items()) if pool not in served]
    others = sorted({worker.info.version for worker in live} - {__version__})
    if others:
        message = f"live workers run Fairlead {', '.join(others)}; this is {__version__}"
        findings.append(_warning("versions", message, "finish the upgrade: one version everywhere"))
    return findings


def check_callbacks(endpoints: Sequence[Endpoint], workers: Sequence[WorkerRecord]) -> list[Finding]:
    """Whether somebody delivers to the callback endpoints, and which of them are gone."""
    serving = [worker.info for worker in workers if worker.live and DELIVERY in worker.info.types]
    served = {pool for info in serving for pool in info.pools}
    findings = [
        _warning(
            "callbacks",
            f"callbacks are delivered in the pool {pool}, and no live worker there can",
            f"start one for the pool {pool} where `pip install 'fairlead[callbacks]'` was run",
        )
        for pool in sorted({endpoint.pool for endpoint in endpoints if endpoint.enabled} - served)
    ]
    gone = sorted(endpoint.name for endpoint in endpoints if not endpoint.enabled and endpoint.why_disabled)
    if gone:
        advice = "mend the receiver or its URL, then run `fairlead callbacks enable`"
        findings.append(_warning("callbacks", f"disabled, since they answered 410 Gone: {', '.join(gone)}", advice))
    return findings


async def _check_clock(store: Store, facts: Mapping[str, Any]) -> Finding:
    if facts["store"] == "sqlite":
        return _ok("clock", "SQLite uses the clock of this machine")
    sent_at = time.time()
    clock = (await store.jobs.facts())["clock"]
    received_at = time.time()
    return check_clock(clock - (sent_at + received_at) / 2, (received_at - sent_at) / 2)


def _ready(counts: Mapping[tuple[str, str], int]) -> dict[str, int]:
    waiting = (State.READY, State.ENQUEUED)
    ready: dict[str, int] = {}
    for (pool, state), count in counts.items():
        if state in waiting:
            ready[pool] = ready.get(pool, 0) + count
    return ready


def _lost(workers: Sequence[WorkerRecord]) -> Finding:
    names = ", ".join(f"{worker.info.id[:8]} on {worker.info.host}" for worker in workers if not worker.live)
    return _warning(
        "workers",
        f"lost without a goodbye: {names}",
        "their jobs go to other workers as long as a worker or scheduler runs; find out why the processes ended",
    )


def _unserved(pool: str, count: int) -> Finding:
    return _warning(
        "workers",
        f"ready jobs ({count}) wait in the pool {pool}, which no live worker serves",
        f"start one: fairlead worker MODULE:APP --pool {pool}",
    )


def _name(facts: Mapping[str, Any]) -> str:
    return f"SQLite {facts['version']}" if facts["store"] == "sqlite" else str(facts["version"])


def _ok(topic: str, message: str) -> Finding:
    return Finding(Level.OK, topic, message)


def _warning(topic: str, message: str, advice: str) -> Finding:
    return Finding(Level.WARNING, topic, message, advice)


def _problem(topic: str, message: str, advice: str) -> Finding:
    return Finding(Level.PROBLEM, topic, message, advice)
