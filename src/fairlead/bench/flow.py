"""`fairlead bench flow`: producers and workers at the same time, in a steady state."""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from fairlead.bench.app import BenchApp
from fairlead.bench.counters import total
from fairlead.bench.database import Database, open_database
from fairlead.bench.floor.measure import sustain_floor
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe, position, share
from fairlead.bench.supply import Mix, until_done
from fairlead.bench.workers import running_workers

PAUSE = 0.002
BACKLOG = 4  # batches that may wait, for each worker process
FLOOR_JOBS = 100_000
WARM_UP_SHARE = 0.1

NOTES = [
    "jobs_per_s: jobs that ended within the measured window divided by its length, by the database's clock; the first "
    "tenth of the time is a warm-up and not measured.",
    "The producers submit batches while only a few batches wait, so the backlog is bounded and the rate is that of a "
    "steady state; the workers tell how many jobs they ran through shared memory.",
    "The percentiles are from the enqueue's transaction to the claim's (created_at to started_at).",
    "The floor is the bare insert + claim + settle loop, measured directly before and about as long: the best batch "
    "and the better of 1 and 2 processes over floor_short_jobs jobs, at floor_short_jobs_per_s, go on for as long.",
]


async def flow(
    place: Place,
    seconds: float = 60.0,
    processes: int = 1,
    concurrency: int = 500,
    batch: int = 1000,
    producers: int = 2,
    mix: Mix = Mix(),  # noqa: B008
    floor_jobs: int = FLOOR_JOBS,
) -> Report:
    """Sustain production and work for so many seconds."""
    url = await fresh(place)
    choices = {"seconds": seconds, "processes": processes, "concurrency": concurrency, "producers": producers}
    setup = await describe(url, **choices, enqueue_batch=batch, **mix.facts())
    floor = await sustain_floor(url, floor_jobs, mix.stored(), seconds)
    url = await fresh(place)
    figures = await _sustain(url, seconds, processes, concurrency, batch, producers, mix)
    figures |= {
        "floor_jobs_per_s": floor.jobs_per_s,
        "share_of_floor": share(figures["jobs_per_s"], floor.jobs_per_s),
        "floor_short_jobs_per_s": floor.short_jobs_per_s,
    }
    setup |= {"floor_batch": floor.batch, "floor_processes": floor.processes, "floor_short_jobs": floor_jobs}
    return Report("flow", setup, figures, [figures], list(NOTES))


async def _sustain(
    url: str, seconds: float, processes: int, concurrency: int, batch: int, producers: int, mix: Mix
) -> dict[str, Any]:
    database = open_database(url)
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        try:
            async with BenchApp(url) as app, running_workers(url, processes, concurrency, counters=folder):
                supply = Supply(app, Path(folder), batch, BACKLOG * batch * processes, mix)
                until = time.monotonic() + seconds
                async with asyncio.TaskGroup() as group:
                    for number in range(producers):
                        group.create_task(supply.produce(until, number))
                    await asyncio.sleep(seconds * WARM_UP_SHARE)
                    since = database.now()
                    await asyncio.sleep(seconds * (1 - WARM_UP_SHARE))
                    ended = database.now()
                await until_done(await app.store(), database)
            return _figures(database, since, ended)
        finally:
            database.close()


class Supply:
    """Producers that keep a bounded backlog."""

    def __init__(self, app: BenchApp, folder: Path, batch: int, most: int, mix: Mix) -> None:
        self._app = app
        self._folder = folder
        self._calls = [{"text": mix.text()}] * batch
        self._most = most
        self._tenants = mix.tenants
        self._submitted = 0

    async def produce(self, until: float, number: int) -> None:
        """Submit batches while the backlog is short."""
        handler = self._app.counted.options(tenant=f"tenant-{number % self._tenants}")
        while time.monotonic() < until:
            if self._submitted - total(self._folder) < self._most:
                self._submitted += len(self._calls)
                await handler.enqueue_many(self._calls)
            else:
                await asyncio.sleep(PAUSE)


def _figures(database: Database, since: float, until: float) -> dict[str, Any]:
    count = database.rows("span", since=since, until=until)[0][0]
    figures: dict[str, Any] = {"jobs": count, "jobs_per_s": round(count / (until - since))}
    for percent in (50, 95, 99):
        if rows := database.rows("wait_at", since=since, until=until, position=position(count, percent)):
            figures[f"p{percent}_ms"] = round(rows[0][0] * 1000, 1)
    return figures
