"""`fairlead bench drain`: how fast workers empty a backlog."""

import tempfile
import time
from itertools import cycle, islice, product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from fairlead.bench.app import BenchApp, calls
from fairlead.bench.report import Report, describe
from fairlead.bench.scratch import Scratch
from fairlead.bench.workers import POOL, running_workers, until_counted, until_settled
from fairlead.operate.settings import remove_setting, set_setting
from fairlead.runtime.operator import Operator, whoami

BATCH = 1000
PRIORITIES = ("high", "default", "low")

NOTES = [
    "jobs_per_s: jobs divided by the time from the moment at which the pool is resumed to the end of the last handler; "
    "settled_jobs_per_s: to the moment at which no job is live.",
    "`fairlead worker` runs as a process of its own; its pool is paused until all worker processes are registered. "
    "Enqueueing is not timed.",
    "The figures are the median of the rounds; each round has a new database.",
]


class Drain(NamedTuple):
    """The backlog and the workers."""

    jobs: int = 200_000
    processes: int = 1
    concurrency: int = 50
    handler: str = "result"
    tenants: int = 1
    priorities: int = 1
    payload: int = 64


async def drain(scratch: Scratch, wanted: Drain, rounds: int = 3) -> Report:
    """Enqueue jobs, then time the workers; the median of the rounds counts."""
    setup = await describe(await scratch.fresh(), **wanted._asdict(), rounds=rounds)
    rows = [await drain_once(await scratch.fresh(), wanted) for _ in range(rounds)]
    figures = {name: round(median(row[name] for row in rows)) for name in ("jobs_per_s", "settled_jobs_per_s")}
    return Report("drain", setup, {"jobs": wanted.jobs, **figures}, rows, list(NOTES))


async def drain_once(url: str, wanted: Drain) -> dict[str, Any]:
    """The rates of one drain."""
    operator = Operator(whoami(), "bench")
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        async with BenchApp(url) as app:
            await submit(app, wanted)
            await set_setting(await app.store(), "pause", f"pool:{POOL}", {}, operator)
            async with running_workers(app, wanted.processes, wanted.concurrency, Path(folder)):
                began = time.monotonic()
                await remove_setting(await app.store(), "pause", f"pool:{POOL}", operator)
                await until_counted(Path(folder), wanted.jobs)
                ran = time.monotonic()
                await until_settled(app)
                settled = time.monotonic()
    return {
        "seconds": round(ran - began, 5),
        "jobs_per_s": round(wanted.jobs / (ran - began)),
        "settled_jobs_per_s": round(wanted.jobs / (settled - began)),
    }


async def submit(app: BenchApp, wanted: Drain) -> None:
    """Enqueue the backlog in batches that go to each tenant and priority in turn."""
    lanes = wanted.tenants * wanted.priorities
    batch = max(1, min(BATCH, wanted.jobs // lanes))
    pairs = product((f"tenant-{number}" for number in range(wanted.tenants)), PRIORITIES[: wanted.priorities])
    handlers = (
        [app.kinds[wanted.handler].options(tenant=tenant, priority=priority) for tenant, priority in pairs]
        if lanes > 1
        else [app.kinds[wanted.handler]]
    )
    starts = range(0, wanted.jobs, batch)
    for start, handler in zip(starts, islice(cycle(handlers), len(starts)), strict=True):
        await handler.enqueue_many(calls(min(batch, wanted.jobs - start), wanted.payload, start + 1))
