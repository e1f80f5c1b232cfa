"""How late scheduled jobs start, and what a small tenant notices of a flood of another one."""

import asyncio
import time
from datetime import UTC, datetime
from random import Random
from typing import Any

from benchmarks.app import StudyApp
from benchmarks.study import notes_of, study_workers, temporary_folders
from fairlead.bench.app import calls
from fairlead.bench.report import Report, describe, percentiles
from fairlead.bench.scratch import Scratch

SETTLE_DOWN = 1.0
AHEAD = 1.0
BATCH = 10_000
SUBMITTED_PER_S = 30_000  # what any machine reaches; the herd must be stored before it is due

LATENESS_NOTES = ["From the instant for which a job is scheduled, chosen at random, to its handler's first line."]
HERD_NOTES = [
    "A small tenant submits, at a steady interval, one job for now and one for a second later: while nothing else "
    "happens (quiet), beside jobs of another tenant that are all due at one instant (herd), and beside as many "
    "ready ones (flood).",
    "new: from the enqueue to the first line of the handler. due: from the scheduled instant to the first line.",
    "A new job may have to wait for one of the others; allowed_ms is 1.1 times the quiet p99 and one of them.",
]


async def lateness(scratch: Scratch, seconds: float, rate: float) -> Report:
    """Schedule jobs over so many seconds and measure when they start."""
    url = await scratch.fresh()
    setup = await describe(url, seconds=seconds, rate=rate, processes=1, concurrency=50)
    count, rng = max(1, round(seconds * rate)), Random(1)
    with temporary_folders() as folders:
        async with StudyApp(url) as app, study_workers(app, 1, 50, folders):
            first = time.time() + AHEAD + count / 1000
            for _ in range(count):
                moment = first + rng.uniform(0, seconds)
                handler = app.due.options(run_at=datetime.fromtimestamp(moment, UTC))
                await handler.enqueue(label="late", due=moment)
            await asyncio.sleep(max(0.0, first + seconds - time.time()))
            late = [max(0.0, value[0]) for value in await notes_of(folders.journal, "late", count)]
    figures = {"jobs": len(late), **percentiles(late)}
    return Report("lateness", setup, figures, [figures], LATENESS_NOTES)


async def herd(scratch: Scratch, jobs: int, takes: float, seconds: float, interval: float) -> Report:
    """Measure the small tenant alone, beside a herd of due jobs and beside a flood of ready ones."""
    setup = await describe(
        await scratch.fresh(),
        jobs=jobs,
        takes_s=takes,
        seconds=seconds,
        interval_s=interval,
        processes=1,
        concurrency=50,
    )
    rows = []
    for case in ("quiet", "herd", "flood"):
        others = 0 if case == "quiet" else jobs
        found = await _measure(await scratch.fresh(), others, takes, case == "herd", seconds, interval)
        rows.append({"case": case, **found})
    figures = {f"{row['case']}_{name}": value for row in rows for name, value in row.items() if name != "case"}
    figures["allowed_ms"] = round(float(figures["quiet_new_p99_ms"]) * 1.1 + takes * 1000, 1)
    return Report("herd", setup, figures, rows, HERD_NOTES)


async def _measure(
    url: str, others: int, takes: float, later: bool, seconds: float, interval: float
) -> dict[str, float]:
    with temporary_folders() as folders:
        async with StudyApp(url) as app:
            due = time.time() + AHEAD + others / SUBMITTED_PER_S
            await _submit_others(app, others, takes, due if later else None)
            await asyncio.sleep(max(0.0, due - time.time()) if others and later else 0.0)
            async with study_workers(app, 1, 50, folders):
                await asyncio.sleep(SETTLE_DOWN)
                count = await _submit_small(app, seconds, interval)
                found = {label: await notes_of(folders.journal, label, count) for label in ("new", "due")}
    return {
        f"{label}_{name}": value
        for label, notes in found.items()
        for name, value in percentiles([max(0.0, one[0]) for one in notes]).items()
    }


async def _submit_others(app: StudyApp, jobs: int, takes: float, due: float | None) -> None:
    options: dict[str, Any] = {} if due is None else {"run_at": datetime.fromtimestamp(due, UTC)}
    handler = (app.sleeping if takes else app.kinds["none"]).options(tenant="herd", **options)
    for start in range(0, jobs, BATCH):
        count = min(BATCH, jobs - start)
        await handler.enqueue_many([{"seconds": takes}] * count if takes else calls(count, 64))


async def _submit_small(app: StudyApp, seconds: float, interval: float) -> int:
    """Submit pairs of jobs, one for now and one for later; returns how many pairs."""
    handler, began, count = app.due.options(tenant="small"), time.monotonic(), max(1, int(seconds / interval))
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number * interval - time.monotonic()))
        await handler.enqueue(label="new", due=time.time())
        moment = time.time() + AHEAD
        await handler.options(run_at=datetime.fromtimestamp(moment, UTC)).enqueue(label="due", due=moment)
    return count
