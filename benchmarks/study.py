"""What all studies share: a fresh database, folders for counters and notes, workers, and the time of a drain."""

import asyncio
import os
import re
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.app import APP, StudyApp
from benchmarks.journal import JOURNAL_VARIABLE, read_notes
from fairlead.bench.workers import POOL, running_workers, until_counted
from fairlead.runtime.operator import Operator, whoami
from tests.support.settings import pause, resume

PATIENCE = 60.0
OPERATOR = Operator(whoami(), "benchmark")


class Folders(NamedTuple):
    """Where workers count their runs, and where their handlers note."""

    counters: Path
    journal: Path


@contextmanager
def temporary_folders() -> Iterator[Folders]:
    """Empty folders, named to the workers by the environment."""
    with ExitStack() as stack:
        folders = Folders(
            *(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairlead-bench-"))) for _ in range(2))
        )
        os.environ[JOURNAL_VARIABLE] = str(folders.journal)
        stack.callback(os.environ.pop, JOURNAL_VARIABLE, None)
        yield folders


@asynccontextmanager
async def study_workers(app: StudyApp, processes: int, concurrency: int, folders: Folders) -> AsyncIterator[Process]:
    """Registered workers of the studies' application."""
    async with running_workers(app, processes, concurrency, folders.counters, APP) as worker:
        yield worker


class Cost(NamedTuple):
    """What jobs took: seconds, and processor seconds of workers and database."""

    seconds: float
    processor: float


async def timed_drain(app: StudyApp, jobs: int, processes: int, concurrency: int) -> Cost:
    """Run so many of the waiting jobs, from the moment at which their pool is resumed."""
    store = await app.store()
    await pause(store, "pool", POOL, OPERATOR)
    with temporary_folders() as folders:
        async with study_workers(app, processes, concurrency, folders) as worker:
            used, began = processor_seconds(worker.pid), time.monotonic()
            await resume(store, "pool", POOL, OPERATOR)
            await until_counted(folders.counters, jobs)
            return Cost(time.monotonic() - began, processor_seconds(worker.pid) - used)


async def notes_of(folder: Path, label: str, count: int) -> list[list[float]]:
    """So many notes with this label, once they are there; SystemExit where they do not come."""
    deadline = time.monotonic() + PATIENCE
    while len(found := read_notes(folder)[label]) < count:
        if time.monotonic() > deadline:
            raise SystemExit(f"only {len(found)} of {count} jobs `{label}` had started after {PATIENCE:.0f} s")
        await asyncio.sleep(0.05)
    return found


def process_tree(pid: int) -> list[int]:
    """A process and all below it."""
    children = []
    with suppress(OSError):
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [pid, *(found for child in children for found in process_tree(child))]


def processor_seconds(pid: int) -> float:
    """Processor time of a process, those below it, and all of PostgreSQL's on this machine."""
    return sum(_used(number) for number in {*process_tree(pid), *_postgres_processes()})


def resident_megabytes(pid: int) -> float:
    """Resident memory of a process and those below it; pages that they share count for each."""
    total = 0
    for number in process_tree(pid):
        with suppress(OSError):
            match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{number}/status").read_text())
            total += int(match.group(1)) if match else 0
    return round(total / 1024, 1)


def _postgres_processes() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            if path.read_text().startswith("postgres"):
                found.append(int(path.parent.name))
    return found


def _used(pid: int) -> float:
    """Seconds of all threads; 0 for a process that is gone."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, IndexError):
            total += int(path.read_text().split()[0])
    return total / 1e9
