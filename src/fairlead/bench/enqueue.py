"""`fairlead bench enqueue`: how fast jobs are accepted, each durable when its caller goes on."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fairlead.bench.app import BenchApp
from fairlead.bench.floor.measure import measure_floor
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe, share
from fairlead.bench.supply import BATCH, Mix
from fairlead.client.handler import Handler

CALLERS = 50
FLOOR_JOBS = 100_000
BULK = 10 * BATCH

NOTES = [
    "one caller: awaits each enqueue before the next. concurrent callers: each does the same, on one event loop.",
    f"bulk: one caller, enqueue_many with {BULK:,} jobs at a time, which are stored in batches of {BATCH:,}; "
    "jobs_per_s is this rate.",
    "A rate is accepted jobs divided by the time until the last was durable; no worker runs.",
    "The floor is the bare insert loop with the best batch, measured directly before, best of 1 and 2 processes; "
    "one caller is best compared with the floor of 1 process, given as bulk_share_of_floor_of_1_process.",
]


async def enqueue(
    place: Place,
    seconds: float = 5.0,
    callers: int = CALLERS,
    mix: Mix = Mix(),  # noqa: B008
    floor_jobs: int = FLOOR_JOBS,
) -> Report:
    """Measure one caller, concurrent callers and bulk, each for so many seconds."""
    url = await fresh(place)
    setup = await describe(url, seconds=seconds, callers=callers, bulk=BULK, batch=BATCH, **mix.facts())
    floor = await measure_floor(url, "insert", floor_jobs, mix.stored())
    setup["floor_batch"], setup["floor_processes"] = floor.batch, floor.processes
    rates = {
        "one_caller": await _rate(await fresh(place), _singly(mix.text()), 1, seconds),
        "concurrent_callers": await _rate(await fresh(place), _singly(mix.text()), callers, seconds),
        "bulk": await _rate(await fresh(place), _in_bulk(mix.text()), 1, seconds),
    }
    figures = _figures(rates, floor.jobs_per_s, floor.tried)
    rows = [{"callers": name, "jobs_per_s": rate} for name, rate in rates.items()]
    rows.append({"callers": f"floor ({floor.processes} processes)", "jobs_per_s": round(floor.jobs_per_s)})
    return Report("enqueue", setup, figures, rows, list(NOTES))


def _figures(rates: dict[str, int], floor: float, tried: list[dict[str, Any]]) -> dict[str, Any]:
    alone = max(one["jobs_per_s"] for one in tried if one["processes"] == 1)
    return {
        "jobs_per_s": rates["bulk"],
        "floor_jobs_per_s": floor,
        "share_of_floor": share(rates["bulk"], floor),
        "bulk_share_of_floor_of_1_process": share(rates["bulk"], alone),
        **{f"{name}_per_s": rate for name, rate in rates.items()},
    }


Submit = Callable[[Handler[..., Any]], Awaitable[int]]


def _singly(text: str) -> Submit:
    async def submit(handler: Handler[..., Any]) -> int:
        await handler.enqueue(text)
        return 1

    return submit


def _in_bulk(text: str) -> Submit:
    calls = [{"text": text}] * BULK

    async def submit(handler: Handler[..., Any]) -> int:
        return len(await handler.enqueue_many(calls))

    return submit


async def _rate(url: str, submit: Submit, callers: int, seconds: float) -> int:
    async with BenchApp(url) as app:
        await submit(app.noops[0])  # connect, prepare, enter the lane
        began = time.monotonic()
        counts = await asyncio.gather(*(_call(app, submit, began + seconds) for _ in range(callers)))
        return round(sum(counts) / (time.monotonic() - began))


async def _call(app: BenchApp, submit: Submit, until: float) -> int:
    count = 0
    while time.monotonic() < until:
        count += await submit(app.noops[0])
    return count
