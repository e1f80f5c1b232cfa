"""`fairlead bench lateness`: how late scheduled jobs start."""

import asyncio
import time
from datetime import UTC, datetime
from random import Random

from pydantic_core import from_json

from fairlead.bench.app import BenchApp
from fairlead.bench.database import Database, open_database
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe, percentiles
from fairlead.bench.workers import running_workers
from fairlead.client.client import build_jobs, template_of
from fairlead.core.jobs.model import NewJob
from fairlead.handlers.options import Options

AHEAD = 2.0
PATIENCE = 60.0
LOOK_EVERY = 0.2

NOTES = [
    "From the instant a job was scheduled for to the first line of its handler in the worker process, by the clock of "
    "this machine, which the database runs on too.",
    "The instants are drawn evenly at random, and all jobs are submitted through the client before the first is due.",
]


async def lateness(place: Place, seconds: float = 30.0, rate: float = 100.0, concurrency: int = 50) -> Report:
    """Schedule jobs over so many seconds and see when they start."""
    url = await fresh(place)
    setup = await describe(url, seconds=seconds, rate=rate, processes=1, concurrency=concurrency)
    database = open_database(url)
    try:
        async with BenchApp(url) as app, running_workers(url, 1, concurrency):
            jobs = _scattered(app, seconds, max(1, round(seconds * rate)))
            await (await app.client()).submit(jobs)
            if jobs:
                await asyncio.sleep(max(0.0, max(job.run_at or 0.0 for job in jobs) - time.time()))
            late = await started_late(database, {job.id for job in jobs})
    finally:
        database.close()
    figures = {"jobs": len(late), **percentiles(late)}
    return Report("lateness", setup, figures, [figures], list(NOTES))


async def started_late(database: Database, wanted: set[str]) -> list[float]:
    """How late each of these jobs started, once all have; SystemExit where they do not."""
    deadline = time.monotonic() + PATIENCE
    while True:
        rows = await asyncio.to_thread(database.rows, "starts")
        found = {row[0]: float(from_json(row[2])) - row[1] for row in rows if row[0] in wanted}
        if len(found) == len(wanted):
            return [max(0.0, late) for late in found.values()]
        if time.monotonic() > deadline:
            raise SystemExit(f"only {len(found)} of {len(wanted)} jobs have started after {PATIENCE:.0f} s")
        await asyncio.sleep(LOOK_EVERY)


def _scattered(app: BenchApp, seconds: float, count: int) -> list[NewJob]:
    """Jobs whose instants lie scattered over so many seconds, from a little ahead on."""
    rng, first, spec = Random(1), time.time() + AHEAD + count / 10_000, app.started.spec
    jobs: list[NewJob] = []
    for _ in range(count):
        moment = datetime.fromtimestamp(first + rng.uniform(0, seconds), UTC)
        options = Options(tenant=f"tenant-{rng.randrange(10)}", run_at=moment)
        jobs += build_jobs(spec, [{}], template_of(spec, options, app.settings), app.settings)
    return jobs
