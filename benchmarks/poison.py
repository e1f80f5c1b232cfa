"""How much a job type that always fails slows a healthy one."""

import time
from statistics import median

from benchmarks.app import StudyApp
from benchmarks.journal import read_notes
from benchmarks.study import OPERATOR, study_workers, temporary_folders
from fairlead.bench.app import calls
from fairlead.bench.report import Report, describe
from fairlead.bench.scratch import Scratch
from fairlead.bench.workers import POOL, until_counted
from tests.support.settings import pause, resume

BATCH = 10_000

NOTES = [
    "jobs_per_s: jobs of the healthy type divided by the time from the resumption of the pool to their last handler; "
    "alone, and beside a backlog of another tenant whose type fails every time. The two take turns; medians count.",
    "poison_runs: how often the failing type ran meanwhile; its breaker has the defaults.",
]


async def poison(scratch: Scratch, jobs: int, poison_jobs: int, rounds: int) -> Report:
    """Drain healthy jobs alone, and then beside failing ones, by turns."""
    setup = await describe(await scratch.fresh(), jobs=jobs, poison_jobs=poison_jobs, rounds=rounds, concurrency=50)
    rows = [await _drain(await scratch.fresh(), jobs, count) for count in (0, poison_jobs) * rounds]
    alone, beside = (median(row["jobs_per_s"] for row in rows[first::2]) for first in (0, 1))
    figures = {"alone_jobs_per_s": alone, "jobs_per_s": beside, "share_of_alone": round(beside / alone, 3)}
    return Report("poison", setup, figures, rows, list(NOTES))


async def _drain(url: str, jobs: int, poison_jobs: int) -> dict[str, int]:
    with temporary_folders() as folders:
        async with StudyApp(url) as app:
            for start in range(0, poison_jobs, BATCH):
                await app.poison.options(tenant="poison").enqueue_many([{}] * min(BATCH, poison_jobs - start))
            for start in range(0, jobs, BATCH):
                await app.kinds["none"].options(tenant="healthy").enqueue_many(calls(min(BATCH, jobs - start), 64))
            await pause(await app.store(), "pool", POOL, OPERATOR)
            async with study_workers(app, 1, 50, folders):
                began = time.monotonic()
                await resume(await app.store(), "pool", POOL, OPERATOR)
                await until_counted(folders.counters, jobs)
                seconds = time.monotonic() - began
                runs = len(read_notes(folders.journal)["poison"])
    return {"poison_jobs": poison_jobs, "poison_runs": runs, "jobs": jobs, "jobs_per_s": round(jobs / seconds)}
