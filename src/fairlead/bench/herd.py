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
from fairlead.client.client import build_jobs, template_of
from fairlead.client.handler import Handler
from fairlead.core.jobs.model import Lane
from fairlead.handlers.options import Options

SETTLE_DOWN = 1.0
AHEAD = 1.0

NOTES = [
    "A small tenant submits, at a steady interval, one job for now and one for a second later, while nothing else "
    "happens (quiet), while the jobs of another tenant, all due at the same instant, are promoted and run (herd), and "
    "while as many jobs of another tenant are ready at once and run (flood).",
    "new: from the transaction of the enqueue to the handler's first line. due: from the instant a job was scheduled "
    "for to the handler's first line. Both by the clock of this machine, which the database runs on too.",
    "The herd is made by SQL and is due when the workers start, as after an outage; so is the flood, and is ready. The "
    "measuring ends after the given time, whatever is left of them. promoted_per_s is that of the herd over this time, "
    "its first burst included.",
    "Where the jobs of the others take no time they use all the processor that they get, and what the small tenant "
    "notices is that. Where they take time, a new job may have to wait for the end of one of them: flood_allowed_ms is "
    "1.1 times the p99 of the quiet case and one such job.",
]


class Herd(NamedTuple):
    """The others: how many they are, how long each takes, and whether they are ready rather than due."""

    jobs: int
    takes: float = 0.0
    ready: bool = False

    @property
    def payload(self) -> str:
        """What is stored with each."""
        return f'{{"seconds":{self.takes}}}' if self.takes else Mix().stored()


class Pace(NamedTuple):
    """For how long the small tenant submits, how often, and to a worker of how many slots."""

    seconds: float = 30.0
    interval: float = 0.05
    concurrency: int = 50


async def herd(place: Place, jobs: int = 100_000, takes: float = 0.0, pace: Pace | None = None) -> Report:
    """Measure the small tenant without the others, with those that are due and with those that are ready."""
    pace = pace or Pace()
    url = await fresh(place)
    choices = {"jobs": jobs, "takes_ms": takes * 1000, "seconds": pace.seconds, "interval_ms": pace.interval * 1000}
    setup = await describe(url, **choices, processes=1, concurrency=pace.concurrency)
    cases = {"quiet": Herd(0), "herd": Herd(jobs, takes), "flood": Herd(jobs, takes, ready=True)}
    rows = [{"case": name, **await _measure(await fresh(place), others, pace)} for name, others in cases.items()]
    figures = {f"{row['case']}_{name}": value for row in rows for name, value in row.items() if name != "case"}
    figures["flood_allowed_ms"] = round(figures["quiet_new_p99_ms"] * 1.1 + takes * 1000, 1)
    return Report("herd", setup, figures, rows, list(NOTES))


async def _measure(url: str, others: Herd, pace: Pace) -> dict[str, Any]:
    database = open_database(url)
    try:
        async with BenchApp(url) as app:
            lane = await _herd_lane(app, others)
            _make_herd(database, lane, others)
            async with running_workers(url, 1, pace.concurrency):
                await asyncio.sleep(SETTLE_DOWN)
                before, began = _waiting(database, lane), time.monotonic()
                new, due = await _submit(app, pace.seconds, pace.interval)
                moved, took = before - _waiting(database, lane), time.monotonic() - began
                measured = {
                    **_named("new", await started_late(database, new)),
                    **_named("due", await started_late(database, due)),
                }
    finally:
        database.close()
    return {**measured, "promoted_per_s": round(moved / took)} if moved else measured


async def _herd_lane(app: BenchApp, others: Herd) -> Lane:
    """The others' lane, which the store learns from one job that is submitted."""
    handler = app.sleeps[0] if others.takes else app.noops[0]
    call = {"seconds": others.takes} if others.takes else {"text": Mix().text()}
    template = template_of(handler.spec, Options(tenant="herd"), app.settings)
    (job,) = build_jobs(handler.spec, [call], template, app.settings)
    await (await app.client()).submit([job])
    return job.lane


def _make_herd(database: Database, lane: Lane, others: Herd) -> None:
    """Store the others, all of them due or ready now."""
    if not others.jobs:
        return
    now = database.now()
    values = {"millis": int(now * 1000), "payload": others.payload}
    if others.ready:
        clock = {} if isinstance(database, PostgresDatabase) else {"now": now}
        database.rows("create_lane_list")
        database.rows("list_lanes", ids=f"[{lane.id}]")
        database.rows("make_jobs", **values, **clock, first=1, last=others.jobs, lanes=1)
    else:
        database.rows("make_due", **values, jobs=others.jobs, lane=lane.id, run_at=now)
    if isinstance(database, PostgresDatabase):
        database.connection.execute("VACUUM (ANALYZE) job")


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


def _waiting(database: Database, lane: Lane) -> int:
    return int(database.rows("scheduled", lane=lane.id)[0][0])


def _named(kind: str, waits: list[float]) -> dict[str, float]:
    return {f"{kind}_{name}": value for name, value in percentiles(waits).items()}
