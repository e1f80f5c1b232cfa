"""The application whose handlers the benchmark's workers run; its database is FAIRLEAD_DATABASE_URL."""

import asyncio
import mmap
import os
import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from fairlead.app import App
from fairlead.client.handler import Handler
from fairlead.core.jobs.retry import Retry
from fairlead.handlers.context import Context

COUNTERS_VARIABLE = "BENCH_COUNTERS"
COUNTER_SIZE = 8
FAIL_EVERY = 20
KINDS = ("result", "none", "await", "thread", "flaky")

_counting = threading.Lock()  # plain `def` handlers count from several threads

SHORTEST_PAYLOAD = len('{"number":1000000,"text":""}')


class BenchApp(App):
    """One handler for each kind of workload, and one that returns when it started."""

    def __init__(self, database_url: str | None = None) -> None:
        super().__init__(database_url)
        retry = Retry.fixed("50ms", attempts=3)
        self.kinds: dict[str, Handler[..., Any]] = {
            "result": self.handler("bench.result")(return_result),
            "none": self.handler("bench.none")(return_nothing),
            "await": self.handler("bench.await")(await_once),
            "thread": self.handler("bench.thread")(run_in_thread),
            "flaky": self.handler("bench.flaky", retry=retry)(fail_sometimes),
        }
        self.started: Handler[..., Any] = self.handler("bench.started")(return_start)


async def return_result(number: int, text: str) -> dict[str, bool]:
    """Return a result at once."""
    count_run()
    return {"ok": True}


async def return_nothing(number: int, text: str) -> None:
    """Return at once, without a result."""
    count_run()


async def await_once(number: int, text: str) -> dict[str, bool]:
    """Let the event loop run once before returning."""
    await asyncio.sleep(0)
    count_run()
    return {"ok": True}


def run_in_thread(number: int, text: str) -> dict[str, bool]:
    """Return a result from one of the worker's threads."""
    count_run()
    return {"ok": True}


async def fail_sometimes(context: Context, number: int, text: str) -> dict[str, bool]:
    """Fail the first attempt of every twentieth job."""
    if number % FAIL_EVERY == 0 and context.attempt == 1:
        raise RuntimeError("this attempt fails on purpose")
    count_run()
    return {"ok": True}


async def return_start() -> float:
    """Return the time at which the handler started."""
    return time.time()


def calls(count: int, payload: int, first: int = 1) -> list[dict[str, Any]]:
    """Arguments of so many jobs, numbered from `first`, each with about `payload` bytes."""
    text = "x" * max(0, payload - SHORTEST_PAYLOAD)
    return [{"number": number, "text": text} for number in range(first, first + count)]


def count_run() -> None:
    """Add one to this process's counter of successful runs; nothing where nobody counts."""
    counter = _own_counter()
    if counter is not None:
        with _counting:
            counter[0] += 1


def count_runs(folder: Path) -> int:
    """How many runs all worker processes have counted."""
    return sum(int.from_bytes(path.read_bytes(), "little") for path in folder.iterdir())


@lru_cache(maxsize=1)
def _own_counter() -> memoryview | None:
    """A number in a file that is mapped into memory, so that counting costs an addition."""
    folder = os.environ.get(COUNTERS_VARIABLE)
    if not folder:
        return None
    path = Path(folder) / str(os.getpid())
    path.write_bytes(bytes(COUNTER_SIZE))
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), COUNTER_SIZE)).cast("Q")


app = BenchApp()
