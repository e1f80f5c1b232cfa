"""What the doctor finds."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fairlead.core.jobs.workers import WorkerInfo, WorkerRecord
from fairlead.core.schedule.promotion import DueJobs
from fairlead.core.web.callbacks import OF_JOBS, TYPE, Endpoint
from fairlead.insight.doctor import (
    Finding,
    Level,
    check_bounds,
    check_callbacks,
    check_clock,
    check_durability,
    check_library,
    check_schedule,
    check_workers,
    check_writable,
    examine,
)
from fairlead.insight.protection import bounds
from fairlead.records.workers import Leader
from fairlead.runtime.operator import Operator
from fairlead.version import __version__
from fairlead.wiring import make_store
from tests.support.settings import set_depth


def levels(findings: list[Finding]) -> dict[str, Level]:
    return {finding.topic: finding.level for finding in findings}


def worker(lease_left: float, pools: tuple[str, ...] = ("short",), version: str = __version__) -> WorkerRecord:
    info = WorkerInfo("0" * 36, "host", 1, pools, (), 10, version)
    return WorkerRecord(info, datetime.now(UTC), lease_left, "active", {})


async def test_a_new_store(store_url: str) -> None:
    found = levels(await examine(lambda: make_store(store_url), store_url))
    usual = {"store", "writing", "durability", "schema", "clock", "jobs", "bounds", "schedule", "workers"}
    assert found.keys() >= usual
    assert "pooler" not in found
    assert Level.PROBLEM not in found.values()


async def test_whether_a_tenant_may_fill_the_disk(store_url: str) -> None:
    store = make_store(store_url)
    await store.open()
    try:
        free = check_bounds(await bounds(store))
        assert (free.level, "settings set depth" in str(free.advice)) == (Level.OK, True)
        await set_depth(store, "tenant", "acme", 5, Operator("tests"))
        assert "except for those" in check_bounds(await bounds(store)).message
        await set_depth(store, "tenant", "*", 100, Operator("tests"))
        bound = check_bounds(await bounds(store))
        assert ("at most 100 jobs" in bound.message, bound.advice) == (True, None)
    finally:
        await store.close()


async def test_a_missing_schema(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    (finding,) = await examine(lambda: make_store(url), url)
    assert (finding.level, finding.topic) == (Level.PROBLEM, "schema")
    assert "fairlead migrate" in (finding.advice or "")


@pytest.mark.parametrize(
    "url", ["mysql://host/x", "postgresql://postgres@127.0.0.1:1/none", "sqlite:///no/such/folder/x"]
)
async def test_a_wrong_address(url: str) -> None:
    (finding,) = await examine(lambda: make_store(url), "there")
    assert finding.level is Level.PROBLEM
    assert finding.advice


def test_durability_in_words() -> None:
    sqlite = {"store": "sqlite", "journal_mode": "wal", "synchronous": "full", "durable": True}
    assert check_durability(sqlite).level is Level.OK
    assert "synchronous normal" in check_durability({**sqlite, "synchronous": "normal", "durable": False}).message
    postgres = {"store": "postgresql", "fsync": "on", "synchronous_commit": "on", "durable": True}
    assert "fsync on, synchronous_commit on" in check_durability(postgres).message
    assert check_durability({**postgres, "fsync": "off", "durable": False}).level is Level.WARNING
    assert check_durability({**postgres, "full_page_writes": "off"}).level is Level.WARNING


def test_a_read_only_database_is_a_problem() -> None:
    for store in ("sqlite", "postgresql"):
        assert check_writable({"store": store, "read_only": True}).level is Level.PROBLEM


def test_the_sqlite_library() -> None:
    (old,) = check_library({"store": "sqlite", "version": "3.51.2"})
    (fixed,) = check_library({"store": "sqlite", "version": "3.51.3"})
    assert (old.level, fixed.level) == (Level.PROBLEM, Level.OK)
    assert check_library({"store": "postgresql", "version": "PostgreSQL 17"}) == []


@pytest.mark.parametrize(
    ("difference", "uncertainty", "level"),
    [
        (0.2, 0.01, Level.OK),
        (-0.2, 0.01, Level.OK),
        (5, 0.01, Level.WARNING),
        (-5, 0.01, Level.WARNING),
        (5, 9, Level.OK),
    ],
)
def test_clocks(difference: float, uncertainty: float, level: Level) -> None:
    assert check_clock(difference, uncertainty).level is level


def test_ready_jobs_without_a_worker() -> None:
    counts = {("short", "ready"): 3, ("long", "ready"): 2, ("gpu", "scheduled"): 1}
    findings = check_workers(counts, [worker(10, ("short",)), worker(-1, ("long",))])
    messages = [finding.message for finding in findings if finding.level is Level.WARNING]
    assert len(messages) == 2
    assert "lost" in messages[0]
    assert "(2) wait in the pool long" in messages[1]


def test_workers_of_another_version() -> None:
    assert levels(check_workers({}, [worker(10, version="0.0.1")]))["versions"] is Level.WARNING
    assert "versions" not in levels(check_workers({}, [worker(10), worker(-1, version="0.0.1")]))


LED = Leader("abcdefgh-0", 3, 5.0)
OVER = LED._replace(lease_left=-1.0)


@pytest.mark.parametrize(
    ("overdue", "leader", "level", "words"),
    [
        (None, LED, Level.OK, "no due job waits to become ready; process abcdefgh leads in term 3"),
        (None, None, Level.OK, "no due job waits to become ready; no process leads now"),
        (2.0, LED, Level.OK, "a due job has waited 2s to become ready; process abcdefgh leads in term 3"),
        (90.0, LED, Level.WARNING, "a due job has waited 1m30s to become ready; process abcdefgh leads in term 3"),
        (90.0, OVER, Level.WARNING, "a due job has waited 1m30s to become ready; no process leads now"),
    ],
)
def test_the_schedule(overdue: float | None, leader: Leader | None, level: Level, words: str) -> None:
    found = check_schedule(DueJobs((), True, overdue, None), leader)
    assert (found.level, found.message) == (level, words)
    assert found.figures == {"oldest_due_unpromoted_age": overdue or 0.0}


def test_what_to_do_about_a_schedule_that_is_behind() -> None:
    behind = DueJobs((), True, 90.0, None)
    assert "promote_rate" in (check_schedule(behind, LED).advice or "")
    assert "fairlead scheduler" in (check_schedule(behind, None).advice or "")


def test_callbacks_that_nobody_delivers_and_receivers_that_are_gone() -> None:
    orders = Endpoint("acme", "orders", "https://example.org", OF_JOBS, "short", ())
    gone = replace(orders, name="bills", enabled=False, why_disabled="it answered 410 Gone", pool="calls")
    able = worker(30.0)
    able = replace(able, info=replace(able.info, types=(TYPE,)))
    assert check_callbacks([], []) == []
    assert check_callbacks([orders], [able]) == []
    assert check_callbacks([replace(gone, why_disabled=None)], []) == []
    for workers in ([], [worker(30.0)], [replace(able, lease_left=-1.0)]):
        (finding,) = check_callbacks([orders], workers)
        assert "pool short" in finding.message
        assert "fairlead[callbacks]" in (finding.advice or "")
    (finding,) = check_callbacks([orders, gone], [able])
    assert (finding.level, finding.message) == (Level.WARNING, "disabled, since they answered 410 Gone: bills")
