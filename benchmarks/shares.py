"""How near Fairlead comes to the bare SQL loop on the same machine and store."""

from statistics import median_low
from typing import Any

from benchmarks.floor.measure import measure_floor
from benchmarks.floor.starts import measure_starts
from fairlead.bench.drain import Drain, drain_once
from fairlead.bench.enqueue import bulk_rate
from fairlead.bench.latency import latency
from fairlead.bench.report import Report, describe, percentiles
from fairlead.bench.scratch import Scratch

PAYLOAD = 64
INTERVAL = 0.02

NOTES = [
    "drain: the bare claim and settle loop, then workers with as many jobs; of several rounds the median share counts.",
    "bulk: the bare insert loop, then enqueue_many by one caller. latency: a bare worker that is woken in the same way "
    "and claims with the floor's statement, then `fairlead bench latency`; p50 in milliseconds.",
]


async def shares(scratch: Scratch, jobs: int, processes: int, concurrency: int, rounds: int, seconds: float) -> Report:
    """Measure the floor and Fairlead one after the other."""
    url = await scratch.fresh()
    setup = await describe(url, jobs=jobs, processes=processes, concurrency=concurrency, rounds=rounds)
    wanted = Drain(jobs, processes, concurrency, "none", payload=PAYLOAD)
    drains = []
    for _ in range(rounds):
        bare = (await measure_floor(await scratch.fresh(), "drain", jobs)).jobs_per_s
        drains.append(_row("drain, jobs/s", (await drain_once(await scratch.fresh(), wanted))["jobs_per_s"], bare))
    inserted = (await measure_floor(await scratch.fresh(), "insert", jobs)).jobs_per_s
    bulk = _row("bulk, jobs/s", await bulk_rate(await scratch.fresh(), seconds, PAYLOAD), inserted)
    starts = percentiles(await measure_starts(await scratch.fresh(), seconds, INTERVAL, 1.0))
    ours = (await latency(scratch, seconds, INTERVAL)).figures
    rows = [*drains, bulk, _row("latency, ms", ours["p50_ms"], starts["p50_ms"])]
    figures = {"drain_share": median_low([row["share"] for row in drains]), "bulk_share": bulk["share"]}
    return Report("shares", setup, figures, rows, list(NOTES))


def _row(what: str, ours: float, floor: float) -> dict[str, Any]:
    return {"what": what, "fairlead": ours, "floor": floor, "share": round(ours / floor, 3)}
