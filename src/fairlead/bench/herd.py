"""`fairlead bench herd`: what a small tenant notices of very many jobs of another that are due at once."""

import asyncio
import time
from typing import Any, NamedTuple

from fairlead.bench.app import BenchApp
from fairlead.bench.database import Database, PostgresDatabase, open_database
from fairlead.bench.lateness import started_late
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe, percentiles
from fairlead.bench.supply import Mix
from fairlead.bench.workers import running_workers
from fairlead.client.handler import Handler
from fairlead.core.model import Lane
from fairlead.handlers.options import Options

SETTLE_DOWN = 1.0
AHEAD = 1.0

NOTES = [
    "A small tenant submits, at a steady interval, one job for now and one for a second later, while nothing else "
    "happens (quiet) and while the jobs of another tenant, all due at the same instant, are promoted and run (herd).",
    "new: from the transaction of the enqueue to the handler's first line. due: from the instant a job was scheduled "
    "for to the handler's first line. Both by the clock of this machine, which the database runs on too.",
    "The herd is made by SQL and is due when the workers start, as after an outage; the measuring ends after the given "
    "time, whatever is left of the herd. promoted_per_s is that of the herd over this time, its first burst included.",
]


class Herd(NamedTuple):
    """The lane of the herd, and how many there are."""

    lane: Lane
    jobs: int


async def herd(
    place: Place, jobs: int = 100_000, seconds: float = 30.0, interval: float = 0.05, concurrency: int = 50
) -> Report:
    """Measure the small tenant without the herd and with it."""
    url = await fresh(place)
    choices = {"jobs": jobs, "seconds": seconds, "interval_ms": interval * 1000}
    setup = await describe(url, **choices, processes=1, concurrency=concurrency)
    rows = [
        {"case": "quiet", **await _measure(url, 0, seconds, interval, concurrency)},
        {"case": "herd", **await _measure(await fresh(place), jobs, seconds, interval, concurrency)},
    ]
    figures = {f"{row['case']}_{name}": value for row in rows for name, value in row.items() if name != "case"}
    return Report("herd", setup, figures, rows, list(NOTES))


async def _measure(url: str, jobs: int, seconds: float, interval: float, concurrency: int) -> dict[str, Any]:
    database = open_database(url)
    try:
        async with BenchApp(url) as app:
            lane = _make_herd(database, await _herd_lane(app), jobs)
            async with running_workers(url, 1, concurrency):
                await asyncio.sleep(SETTLE_DOWN)
                before, began = _waiting(database, lane), time.monotonic()
                new, due = await _submit(app, seconds, interval)
                moved, took = before - _waiting(database, lane), time.monotonic() - began
                measured = {
                    **_named("new", await started_late(database, new)),
                    **_named("due", await started_late(database, due)),
                }
    finally:
        database.close()
    return {**measured, "promoted_per_s": round(moved / took)} if jobs else measured


async def _herd_lane(app: BenchApp) -> Lane:
    """The herd's lane, which the store learns from one job that is submitted."""
    (job,) = app.noop_jobs([{"text": Mix().text()}], Options(tenant="herd"))
    await (await app.client()).submit([job])
    return job.lane


def _make_herd(database: Database, lane: Lane, jobs: int) -> Herd:
    """Store the herd, all of it due now."""
    if jobs:
        now = database.now()
        database.rows("make_due", jobs=jobs, lane=lane.id, run_at=now, millis=int(now * 1000), payload=Mix().stored())
        if isinstance(database, PostgresDatabase):
            database.connection.execute("VACUUM (ANALYZE) job")
    return Herd(lane, jobs)


async def _submit(app: BenchApp, seconds: float, interval: float) -> tuple[set[str], set[str]]:
    """The ids of the small tenant's jobs: those for now, and those for later."""
    now: Handler[..., Any] = app.started.options(tenant="small")
    later = app.started.options(tenant="small", run_in=AHEAD)
    new, due = set(), set()
    began = time.monotonic()
    for number in range(max(1, int(seconds / interval))):
        await asyncio.sleep(max(0.0, began + number * interval - time.monotonic()))
        new.add((await now.enqueue()).id)
        due.add((await later.enqueue()).id)
    return new, due


def _waiting(database: Database, herd: Herd) -> int:
    return int(database.rows("scheduled", lane=herd.lane.id)[0][0]) if herd.jobs else 0


def _named(kind: str, waits: list[float]) -> dict[str, float]:
    return {f"{kind}_{name}": value for name, value in percentiles(waits).items()}
