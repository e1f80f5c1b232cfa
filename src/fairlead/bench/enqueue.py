"""`fairlead bench enqueue`: how fast jobs are accepted, each durable when its caller goes on."""

import asyncio
import time

from fairlead.bench.app import BenchApp, calls
from fairlead.bench.report import Report, describe
from fairlead.bench.scratch import Scratch

BULK = 10_000

NOTES = [
    "one_caller: awaits each enqueue before the next. one_blocking_caller: a thread that calls delay again and again. "
    "concurrent_callers: each does as one caller, on one event loop.",
    f"bulk: one caller that submits {BULK:,} jobs with each enqueue_many.",
    "A rate is the accepted jobs divided by the time until the last was durable; no worker runs.",
]


async def enqueue(scratch: Scratch, seconds: float = 5.0, callers: int = 50, payload: int = 64) -> Report:
    """Measure one caller, one that blocks, concurrent callers and bulk, each for so many seconds."""
    setup = await describe(await scratch.fresh(), seconds=seconds, callers=callers, bulk=BULK, payload=payload)
    rates = {
        "one_caller": await _concurrent_rate(await scratch.fresh(), 1, seconds, payload),
        "one_blocking_caller": await asyncio.to_thread(_blocking_rate, await scratch.fresh(), seconds, payload),
        "concurrent_callers": await _concurrent_rate(await scratch.fresh(), callers, seconds, payload),
        "bulk": await bulk_rate(await scratch.fresh(), seconds, payload),
    }
    rows = [{"callers": name, "jobs_per_s": rate} for name, rate in rates.items()]
    return Report("enqueue", setup, {f"{name}_per_s": rate for name, rate in rates.items()}, rows, list(NOTES))


async def bulk_rate(url: str, seconds: float, payload: int) -> int:
    """Jobs a second of one caller that submits them in bulk."""
    jobs = calls(BULK, payload)
    async with BenchApp(url) as app:
        handler = app.kinds["none"]
        await handler.enqueue_many(jobs[:1])  # connect and prepare
        began, count = time.monotonic(), 0
        while time.monotonic() < began + seconds:
            count += len(await handler.enqueue_many(jobs))
        return round(count / (time.monotonic() - began))


async def _concurrent_rate(url: str, callers: int, seconds: float, payload: int) -> int:
    call = calls(1, payload)[0]
    async with BenchApp(url) as app:
        await app.kinds["none"].enqueue(**call)  # connect and prepare
        began = time.monotonic()
        counts = await asyncio.gather(*(_submit_until(app, call, began + seconds) for _ in range(callers)))
        return round(sum(counts) / (time.monotonic() - began))


async def _submit_until(app: BenchApp, call: dict[str, object], until: float) -> int:
    count = 0
    while time.monotonic() < until:
        await app.kinds["none"].enqueue(**call)
        count += 1
    return count


def _blocking_rate(url: str, seconds: float, payload: int) -> int:
    app, call, count = BenchApp(url), calls(1, payload)[0], 0
    try:
        app.kinds["none"].delay(**call)  # connect and prepare
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            app.kinds["none"].delay(**call)
            count += 1
        return round(count / (time.monotonic() - began))
    finally:
        app.shutdown()
