"""Producers and workers at the same time, in a steady state, beside the bare SQL loop."""

import asyncio
import time
from pathlib import Path
from typing import Any

from benchmarks.app import SAMPLE_EVERY, StudyApp
from benchmarks.floor.measure import sustain_floor
from benchmarks.journal import read_notes
from benchmarks.study import study_workers, temporary_folders
from fairlead.bench.app import count_runs
from fairlead.bench.report import Report, describe, percentiles
from fairlead.bench.scratch import Scratch
from fairlead.bench.workers import until_counted

PAUSE = 0.002
BATCH = 1000
PRODUCERS = 2
BACKLOG = 4  # batches that may wait, for each worker process
WARM_UP_SHARE = 0.1
FLOOR_JOBS = 100_000

NOTES = [
    "jobs_per_s: runs within the measured window divided by its length; the first tenth is a warm-up.",
    "Producers submit batches while only a few wait, so the backlog is bounded and the rate is that of a steady state.",
    f"The percentiles are from the submission to the first line of the handler, for one job in {SAMPLE_EVERY}.",
    "floor_jobs_per_s: the bare insert, claim and settle loop, measured directly before and as long.",
]


async def flow(scratch: Scratch, seconds: float, processes: int, concurrency: int) -> Report:
    """Sustain production and work for so many seconds."""
    url = await scratch.fresh()
    setup = await describe(url, seconds=seconds, processes=processes, concurrency=concurrency, batch=BATCH)
    floor = await sustain_floor(url, FLOOR_JOBS, seconds)
    figures = await _sustain(await scratch.fresh(), seconds, processes, concurrency)
    share = round(figures["jobs_per_s"] / floor.jobs_per_s, 3)
    figures |= {"floor_jobs_per_s": floor.jobs_per_s, "share_of_floor": share}
    return Report("flow", setup, figures, [figures], list(NOTES))


async def _sustain(url: str, seconds: float, processes: int, concurrency: int) -> dict[str, Any]:
    with temporary_folders() as folders:
        async with StudyApp(url) as app, study_workers(app, processes, concurrency, folders):
            producers = Producers(app, folders.counters, BACKLOG * BATCH * processes)
            until = time.monotonic() + seconds
            async with asyncio.TaskGroup() as group:
                for _ in range(PRODUCERS):
                    group.create_task(producers.produce(until))
                await asyncio.sleep(seconds * WARM_UP_SHARE)
                before, began = count_runs(folders.counters), time.monotonic()
                await asyncio.sleep(until - time.monotonic())
                jobs, took = count_runs(folders.counters) - before, time.monotonic() - began
            await until_counted(folders.counters, producers.submitted)
        waits = [wait for (wait,) in read_notes(folders.journal)["wait"]]
    return {"jobs": jobs, "jobs_per_s": round(jobs / took), **percentiles(waits)}


class Producers:
    """Submit batches while the backlog is short."""

    def __init__(self, app: StudyApp, counters: Path, most: int) -> None:
        self._app = app
        self._counters = counters
        self._most = most
        self.submitted = 0

    async def produce(self, until: float) -> None:
        """Go on until then."""
        while time.monotonic() < until:
            if self.submitted - count_runs(self._counters) < self._most:
                self.submitted += BATCH
                now = time.time()
                await self._app.sent.enqueue_many([{"number": number, "sent": now} for number in range(BATCH)])
            else:
                await asyncio.sleep(PAUSE)
