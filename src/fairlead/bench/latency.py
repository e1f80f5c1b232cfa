"""`fairlead bench latency`: how soon a job starts on an idle system."""

import asyncio
import time

from fairlead.bench.app import BenchApp
from fairlead.bench.report import Report, describe, percentiles
from fairlead.bench.scratch import Scratch
from fairlead.bench.workers import running_workers
from fairlead.client.job import Job

SETTLE_DOWN = 1.0
PATIENCE = 60.0

NOTES = [
    "From the return of enqueue, when the job is durable, to the first line of the handler in the worker, by the "
    "clock of this machine. A job that starts before its enqueue returned counts as 0.",
    "One worker process with nothing else to do; one job at a time, at a steady interval.",
]


async def latency(scratch: Scratch, seconds: float = 10.0, interval: float = 0.02, concurrency: int = 50) -> Report:
    """Submit a job at each interval and measure when it starts."""
    url = await scratch.fresh()
    setup = await describe(url, seconds=seconds, interval_ms=interval * 1000, processes=1, concurrency=concurrency)
    async with BenchApp(url) as app, running_workers(app, 1, concurrency):
        await asyncio.sleep(SETTLE_DOWN)
        submitted = await _submit(app, seconds, interval)
        waits = [max(0.0, await job.wait(PATIENCE) - returned) for job, returned in submitted]
    figures = {"jobs": len(waits), **percentiles(waits)}
    return Report("latency", setup, figures, [figures], list(NOTES))


async def _submit(app: BenchApp, seconds: float, interval: float) -> list[tuple[Job, float]]:
    """Each job, and when its enqueue returned."""
    submitted = []
    began = time.monotonic()
    for number in range(max(1, int(seconds / interval))):
        await asyncio.sleep(max(0.0, began + number * interval - time.monotonic()))
        job = await app.started.enqueue()
        submitted.append((job, time.time()))
    return submitted
