"""What a worker costs before it works: time until the first handler, memory, and transactions while it is idle."""

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

import psycopg

from benchmarks.study import resident_megabytes
from fairlead.bench.app import BenchApp, calls
from fairlead.bench.report import Report, describe
from fairlead.bench.scratch import Scratch
from fairlead.bench.workers import command, running_workers, start_workers, stop, until_counted

SETTLE_DOWN = 5.0
COMMITTED = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"

NOTES = [
    "first_handler_ms: from the exec of `fairlead worker` to the end of the first handler; median.",
    "version_ms: `fairlead --version`, median.",
    "idle_mb: resident memory of supervisor and worker process together after some idle seconds.",
    "idle_transactions_per_s: of the whole database, its own reading included once, so let nothing else use it.",
]


async def footprint(scratch: Scratch, rounds: int, seconds: float) -> Report:
    """Measure start-up times, then an idle worker."""
    url = await scratch.fresh()
    setup = await describe(url, rounds=rounds, seconds=seconds, processes=1, concurrency=50)
    starts = [await _first_handler(await scratch.fresh()) for _ in range(rounds)]
    versions = [await _version() for _ in range(rounds)]
    figures = {
        "first_handler_ms": round(median(starts) * 1000),
        "version_ms": round(median(versions) * 1000),
        **await _idle(await scratch.fresh(), seconds),
    }
    return Report("footprint", setup, figures, [figures], list(NOTES))


async def _first_handler(url: str) -> float:
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        async with BenchApp(url) as app:
            await app.kinds["none"].enqueue(**calls(1, 64)[0])
        began = time.monotonic()
        worker = await start_workers(url, 1, 50, Path(folder))
        try:
            await until_counted(Path(folder), 1)
            return time.monotonic() - began
        finally:
            await stop(worker)


async def _version() -> float:
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(*command("--version"), stdout=asyncio.subprocess.DEVNULL)
    await process.wait()
    return time.monotonic() - began


async def _idle(url: str, seconds: float) -> dict[str, float]:
    async with BenchApp(url) as app, running_workers(app, 1, 50) as worker:
        await asyncio.sleep(SETTLE_DOWN)
        before = await asyncio.to_thread(_committed, url)
        await asyncio.sleep(seconds)
        after = await asyncio.to_thread(_committed, url)
        found = {"idle_mb": resident_megabytes(worker.pid)}
    if before is None or after is None:
        return found
    return {**found, "idle_transactions_per_s": round((after - before) / seconds, 2)}


def _committed(url: str) -> int | None:
    """Transactions of this database so far; None for SQLite, which does not count them."""
    if not url.startswith("postgres"):
        return None
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(COMMITTED).fetchone()
    return int(row[0]) if row else None
