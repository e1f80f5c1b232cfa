"""`fairlead bench enqueue`: how fast jobs are accepted, each durable when its caller goes on."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from fairlead.bench.app import BenchApp
from fairlead.bench.bulk import BULK, Part
from fairlead.bench.floor.measure import Measured, insert_rates, measure_floor
from fairlead.bench.hands import Hand, opened_hands, perform_together
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe, share
from fairlead.bench.supply import BATCH, Mix

CALLERS = 50
FLOOR_JOBS = 100_000
PROCESSES = (1, 2)

NOTES = [
    "one caller: awaits each enqueue before the next. concurrent callers: each does the same, on one event loop. "
    "one blocking caller: a thread without an event loop that calls delay again and again.",
    f"bulk: one caller in each of 1 and 2 processes, enqueue_many with {BULK:,} jobs at a time, which are stored in "
    f"batches of {BATCH:,}; jobs_per_s is the better rate.",
    "A rate is accepted jobs divided by the time until the last was durable; no worker runs.",
    "The floor is the bare insert loop with the best batch, measured directly before, best of 1 and 2 processes. "
    "bulk_share_of_floor_of_1_process compares one process with one. Callers are compared with a bare loop in one "
    "process that commits one job at a time, and as many as there are callers.",
]


async def enqueue(
    place: Place,
    seconds: float = 5.0,
    callers: int = CALLERS,
    mix: Mix = Mix(),  # noqa: B008
    floor_jobs: int = FLOOR_JOBS,
) -> Report:
    """Measure one caller, one that blocks, concurrent callers and bulk, each for so many seconds."""
    url = await fresh(place)
    setup = await describe(url, seconds=seconds, callers=callers, bulk=BULK, batch=BATCH, **mix.facts())
    floor = await measure_floor(url, "insert", floor_jobs, mix.stored())
    alone, together = await insert_rates(url, (1, callers), seconds / 2, mix.stored())
    setup["floor_batch"], setup["floor_processes"] = floor.batch, floor.processes
    rates = {
        "one_caller": await _rate(await fresh(place), mix.text(), 1, seconds),
        "one_blocking_caller": await asyncio.to_thread(_blocking_rate, await fresh(place), mix.text(), seconds),
        "concurrent_callers": await _rate(await fresh(place), mix.text(), callers, seconds),
    }
    async with opened_hands("fairlead.bench.bulk", max(PROCESSES)) as hands:
        bulk = [await _bulk_rate(hands[:count], await fresh(place), mix.text(), seconds) for count in PROCESSES]
    figures = _figures({**rates, "bulk": max(bulk)}, bulk[0], floor)
    floors = dict(zip(rates, (alone, alone, together), strict=True))
    figures |= {f"{name}_share_of_floor": share(rate, floors[name]) for name, rate in rates.items()}
    rows = [{"callers": name, "jobs_per_s": rate} for name, rate in rates.items()]
    rows += [{"callers": "floor, one at a time", "jobs_per_s": alone}]
    rows += [{"callers": f"floor, {callers} at a time", "jobs_per_s": together}]
    rows += [{"callers": f"bulk ({count})", "jobs_per_s": rate} for count, rate in zip(PROCESSES, bulk, strict=True)]
    rows.append({"callers": f"floor ({floor.processes} processes)", "jobs_per_s": round(floor.jobs_per_s)})
    return Report("enqueue", setup, figures, rows, list(NOTES))


def _figures(rates: dict[str, int], bulk_of_one: int, floor: Measured) -> dict[str, Any]:
    floor_of_one = max(one["jobs_per_s"] for one in floor.tried if one["processes"] == 1)
    return {
        "jobs_per_s": rates["bulk"],
        "floor_jobs_per_s": floor.jobs_per_s,
        "share_of_floor": share(rates["bulk"], floor.jobs_per_s),
        "bulk_share_of_floor_of_1_process": share(bulk_of_one, floor_of_one),
        **{f"{name}_per_s": rate for name, rate in rates.items()},
    }


async def _bulk_rate(hands: Sequence[Hand], url: str, text: str, seconds: float) -> int:
    return await perform_together(hands, Part(url, text, seconds))


async def _rate(url: str, text: str, callers: int, seconds: float) -> int:
    async with BenchApp(url) as app:
        await app.noops[0].enqueue(text)  # connect, prepare, enter the lane
        began = time.monotonic()
        counts = await asyncio.gather(*(_call(app, text, began + seconds) for _ in range(callers)))
        return round(sum(counts) / (time.monotonic() - began))


def _blocking_rate(url: str, text: str, seconds: float) -> int:
    app, count = BenchApp(url), 0
    try:
        app.noops[0].delay(text)  # connect, prepare, enter the lane
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            app.noops[0].delay(text)
            count += 1
        return round(count / (time.monotonic() - began))
    finally:
        app.shutdown()


async def _call(app: BenchApp, text: str, until: float) -> int:
    count = 0
    while time.monotonic() < until:
        await app.noops[0].enqueue(text)
        count += 1
    return count
