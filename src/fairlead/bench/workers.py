"""Worker processes for a benchmark, started by the command that users run: `fairlead worker`."""

import asyncio
import os
import sys
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

from fairlead.bench.app import COUNTERS_VARIABLE, BenchApp, count_runs
from fairlead.core.jobs.states import LIVE
from fairlead.errors import StoreUnavailable

APP = "fairlead.bench.app:app"
POOL = "short"
START_SECONDS = 30.0
LOOK_EVERY = 0.002
STALL_SECONDS = 120.0


@asynccontextmanager
async def running_workers(
    app: BenchApp, processes: int, concurrency: int, counters: Path | None = None, path: str = APP
) -> AsyncIterator[Process]:
    """`fairlead worker` with its processes registered; it is drained at the end."""
    with tempfile.TemporaryFile() as log:
        worker = await start_workers(app.settings.database_url, processes, concurrency, counters, path, log)
        try:
            await _until_registered(app, processes, worker, log)
            yield worker
        finally:
            await stop(worker)


async def start_workers(
    url: str, processes: int, concurrency: int, counters: Path | None, path: str = APP, log: IO[bytes] | int = DEVNULL
) -> Process:
    """Start `fairlead worker` on this database, with a folder in which its processes count their runs."""
    options = ["--pool", POOL, "--concurrency", str(concurrency), "--processes", str(processes)]
    own = {"FAIRLEAD_DATABASE_URL": url, COUNTERS_VARIABLE: str(counters or "")}
    return await asyncio.create_subprocess_exec(
        *command("worker", path, *options), stdout=DEVNULL, stderr=log, env={**os.environ, **own}
    )


def command(*arguments: str) -> Sequence[str]:
    """The command line of this installation."""
    return (sys.executable, "-m", "fairlead", *arguments)


async def stop(process: Process) -> None:
    """Let it drain and wait for its end."""
    with suppress(ProcessLookupError):
        process.terminate()
    await process.wait()


async def until_counted(folder: Path, jobs: int) -> None:
    """Wait until so many runs have succeeded; StoreUnavailable where none does for two minutes."""
    loop = asyncio.get_running_loop()
    seen, since = 0, loop.time()
    while (counted := count_runs(folder)) < jobs:
        if counted > seen:
            seen, since = counted, loop.time()
        elif loop.time() - since > STALL_SECONDS:
            raise StoreUnavailable(f"only {counted} of {jobs} jobs ran, and none for {STALL_SECONDS:.0f} s")
        await asyncio.sleep(LOOK_EVERY)


async def until_settled(app: BenchApp) -> None:
    """Wait until no job is live."""
    while (await app.jobs(states=tuple(LIVE), limit=1)).jobs:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_EVERY)


async def _until_registered(app: BenchApp, processes: int, worker: Process, log: IO[bytes]) -> None:
    store = await app.store()
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while worker.returncode is None and len(await store.workers.all()) < processes:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    if worker.returncode is None and len(await store.workers.all()) >= processes:
        return
    log.seek(0)
    said = log.read().decode(errors="replace")[-2000:]
    raise StoreUnavailable(f"{processes} workers did not start within {START_SECONDS:.0f} s; they said: {said}")
