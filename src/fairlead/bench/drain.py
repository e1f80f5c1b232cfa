"""`fairlead bench drain`: how fast workers empty a backlog."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairlead.bench.app import BenchApp
from fairlead.bench.database import Database, open_database
from fairlead.bench.floor.measure import Measured, measure_floor
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe, share
from fairlead.bench.supply import BATCH, Mix, submit, until_done
from fairlead.bench.workers import POOL, resident_megabytes, running_workers
from fairlead.operate.audit import Operator, whoami
from fairlead.operate.limits import set_limit
from fairlead.operate.pauses import pause, resume
from fairlead.worker.pace import MOST
from fairlead.worker.settler import GROUP

FOREVER = 1e11
IDLE_SECONDS = 1.0
SAMPLE_EVERY = 0.25

NOTES = [
    "jobs_per_s: finished jobs divided by the time from the first claim to the last settlement, by the database's "
    "clock (min(started_at) to max(finished_at) in the history; finished_at is when the last settlement began).",
    "The workers are real processes under a supervisor with the services beside them; enqueueing is not timed. Their "
    "pool is paused until all of them are there, as the floor's processes are.",
    "The floor is the bare claim + settle loop over as many jobs, measured directly before, best of 1 and 2 processes.",
    "A shared machine changes its speed from second to second: of several rounds, each of which measures the floor and "
    "then the workers, the one with the median share counts.",
]


@dataclass
class Memory:
    """Resident megabytes of the largest worker: idle, early in the run, at the end, and the most seen."""

    idle: float | None = None
    samples: list[float] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """For the report."""
        first, last = (self.samples[0], self.samples[-1]) if self.samples else (None, None)
        growth = None if first is None or last is None else round(last - first, 1)
        return {
            "memory_idle_mb": self.idle,
            "memory_first_mb": first,
            "memory_last_mb": last,
            "memory_most_mb": max(self.samples, default=None),
            "memory_growth_mb": growth,
        }


async def drain(
    place: Place,
    jobs: int = 200_000,
    processes: Sequence[int] = (1,),
    concurrency: int = 500,
    mix: Mix = Mix(),  # noqa: B008
    memory: bool = False,
    limit: int | None = None,
    rounds: int = 1,
) -> Report:
    """Enqueue jobs, then time workers from the first claim to the last settlement; the best process count wins."""
    url = await fresh(place)
    choices = {"jobs": jobs, "processes": list(processes), "concurrency": concurrency, "limit": limit, **mix.facts()}
    most = concurrency * (1 + MOST) // 2
    sizes = {"enqueue_batch": BATCH, "claim_batch": f"up to {most}", "settle_batch": f"up to {GROUP}", "rounds": rounds}
    setup = await describe(url, **choices, **sizes)
    found: list[Round] = []
    for _ in range(rounds):
        floor = await measure_floor(await fresh(place), "drain", jobs, mix.stored())
        runs = [await _drain_with(place, count, jobs, concurrency, mix, memory, limit) for count in processes]
        found.append(Round(floor, runs))
    median = sorted(found, key=lambda one: one.share)[(rounds - 1) // 2]
    setup["floor_batch"], setup["floor_processes"] = median.floor.batch, median.floor.processes
    floor_rate = {"floor_jobs_per_s": median.floor.jobs_per_s, "share_of_floor": median.share}
    shares = {"shares_of_floor": [one.share for one in found]} if rounds > 1 else {}
    rows = [{**row, **_mark(one is median, rounds)} for one in found for row in one.rows()]
    return Report("drain", setup, {**median.best, **floor_rate, **shares}, rows, list(NOTES))


def _mark(counts: bool, rounds: int) -> dict[str, str]:
    """Which round counts, where there are several."""
    return {} if rounds == 1 else {"counts": "*" if counts else ""}


class Round(NamedTuple):
    """The floor, and directly after it the workers, by how many processes there were."""

    floor: Measured
    runs: list[dict[str, Any]]

    @property
    def best(self) -> dict[str, Any]:
        """The fastest run."""
        return max(self.runs, key=lambda one: one["jobs_per_s"])

    @property
    def share(self) -> float:
        """What it reached of the floor."""
        return share(self.best["jobs_per_s"], self.floor.jobs_per_s)

    def rows(self) -> list[dict[str, Any]]:
        """For the table."""
        rate, jobs = self.floor.jobs_per_s, self.runs[0]["jobs"]
        floor = {"processes": f"floor ({self.floor.processes})", "jobs": jobs, "jobs_per_s": rate}
        return [*({**one, "share_of_floor": share(one["jobs_per_s"], rate)} for one in self.runs), floor]


async def _drain_with(
    place: Place, processes: int, jobs: int, concurrency: int, mix: Mix, memory: bool, limit: int | None
) -> dict[str, Any]:
    url = await fresh(place)
    database = open_database(url)
    seen = Memory(await _idle_memory(url, concurrency) if memory else None)
    try:
        async with BenchApp(url, mix.types) as app:
            await submit(app, mix, jobs)
            store, operator = await app.store(), Operator(whoami(), "bench")
            if limit is not None:
                await set_limit(store, "type", "*", operator, concurrent=limit)
            await pause(store, "pool", POOL, operator)
            async with running_workers(url, processes, concurrency, mix.types) as pids, _sampled(pids, seen, memory):
                await resume(store, "pool", POOL, operator)
                await until_done(store, database)
        found = {"processes": processes, **_rate(database)}
    finally:
        database.close()
    return {**found, **seen.facts()} if memory else found


def _rate(database: Database) -> dict[str, Any]:
    count, began, ended = database.rows("span", since=0.0, until=FOREVER)[0]
    seconds = max(ended - began, 1e-6)
    return {"jobs": count, "seconds": round(seconds, 3), "jobs_per_s": round(count / seconds)}


async def _idle_memory(url: str, concurrency: int) -> float | None:
    async with running_workers(url, 1, concurrency) as pids:
        await asyncio.sleep(IDLE_SECONDS)
        return resident_megabytes(pids)


@contextlib.asynccontextmanager
async def _sampled(pids: list[int], seen: Memory, wanted: bool) -> AsyncIterator[None]:
    """Look at the workers' memory now and then while the body runs."""

    async def look() -> None:
        while wanted:
            await asyncio.sleep(SAMPLE_EVERY)
            if (megabytes := resident_megabytes(pids)) is not None:
                seen.samples.append(megabytes)

    task = asyncio.create_task(look())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
