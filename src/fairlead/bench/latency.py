"""`fairlead bench latency`: how soon a job starts on an idle system."""

import asyncio
import time

from pydantic_core import from_json

from fairlead.bench.app import BenchApp
from fairlead.bench.database import Database, open_database
from fairlead.bench.floor.starts import measure_starts
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe, percentiles
from fairlead.bench.supply import Mix, until_done
from fairlead.bench.workers import running_workers

SETTLE_DOWN = 1.0

NOTES = [
    "From the return of enqueue, when the job is durable, to the first line of the handler in the worker process, by "
    "the clock of this machine. A job that starts before its enqueue returned counts as 0.",
    "One worker process with nothing else to do; one job at a time, at a steady interval.",
    "The floor is a bare worker, measured directly before in the same way: it waits for a hint of the same kind, "
    "claims with the floor's statement and has the job when its claim is durable.",
]


async def latency(place: Place, seconds: float = 10.0, interval: float = 0.02, concurrency: int = 50) -> Report:
    """Submit a job at each interval and see when it starts."""
    url = await fresh(place)
    setup = await describe(url, seconds=seconds, interval_ms=interval * 1000, processes=1, concurrency=concurrency)
    bare = percentiles(await measure_starts(url, seconds, interval, SETTLE_DOWN, Mix().stored()))
    database = open_database(url)
    try:
        async with BenchApp(url) as app, running_workers(url, 1, concurrency):
            await asyncio.sleep(SETTLE_DOWN)
            returned = await _submit(app, seconds, interval)
            await until_done(await app.store(), database)
        waits = _waits(database, returned)
    finally:
        database.close()
    ours = percentiles(waits)
    rows = [{"start": "worker", **ours}, {"start": "floor", **bare}]
    figures = {"jobs": len(waits), **ours, **{f"floor_{name}": value for name, value in bare.items()}}
    return Report("latency", setup, figures, rows, list(NOTES))


async def _submit(app: BenchApp, seconds: float, interval: float) -> dict[str, float]:
    """When the enqueue of each job returned."""
    returned: dict[str, float] = {}
    began = time.monotonic()
    for number in range(max(1, int(seconds / interval))):
        await asyncio.sleep(max(0.0, began + number * interval - time.monotonic()))
        job = await app.started.enqueue()
        returned[job.id] = time.time()
    return returned


def _waits(database: Database, returned: dict[str, float]) -> list[float]:
    started = {row[0]: float(from_json(row[1])) for row in database.rows("results")}
    return [max(0.0, started[job_id] - moment) for job_id, moment in returned.items()]
