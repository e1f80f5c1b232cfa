"""Real worker processes for a benchmark: supervised, with the services beside them, as `fairlead worker` runs them."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from fairlead.bench.app import TYPES_VARIABLE
from fairlead.bench.counters import FOLDER_VARIABLE
from fairlead.cli.run import child_command
from fairlead.config import load_settings
from fairlead.errors import StoreUnavailable
from fairlead.records.store import Store
from fairlead.scheduler.host import hosted_services
from fairlead.telemetry.events import Telemetry
from fairlead.wiring import make_lease_book, make_store
from fairlead.worker.supervisor import Supervisor

APP = "fairlead.bench.app:app"
POOL = "short"
START_SECONDS = 30.0


@contextlib.asynccontextmanager
async def running_workers(
    url: str, processes: int, concurrency: int, types: int = 1, counters: str = ""
) -> AsyncIterator[list[int]]:
    """Workers that are registered and waiting; gives their process ids, and drains them at the end."""
    settings, telemetry = load_settings(database_url=url), Telemetry()
    command = child_command(APP, (POOL,), concurrency, log_jobs=False)
    store = make_store(url)
    await store.open()
    supervisor = Supervisor(command, processes, make_lease_book(url), settings.heartbeat, telemetry)
    try:
        async with hosted_services(store, settings, telemetry):
            own = {TYPES_VARIABLE: str(types), FOLDER_VARIABLE: counters}
            with _environment(FAIRLEAD_DATABASE_URL=url, **own):
                task = asyncio.create_task(supervisor.run())
                try:
                    yield await _registered(store, processes)
                    supervisor.stop()
                    await task
                finally:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
    finally:
        await store.close()


def resident_megabytes(pids: list[int]) -> float | None:
    """The largest resident memory among processes, where the kernel tells."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
            found += [int(match.group(1)) / 1024] if match else []
    return round(max(found), 1) if found else None


async def _registered(store: Store, processes: int) -> list[int]:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while len(workers := await store.workers.all()) < processes:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            return [worker.info.pid for worker in workers]
    raise StoreUnavailable(f"no {processes} workers were registered within {START_SECONDS:.0f} s; see their log above")


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ[name] for name in values if name in os.environ}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]
        os.environ.update(before)
