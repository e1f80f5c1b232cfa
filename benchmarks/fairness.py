"""What tenants get of the workers' slots when all of them want all of them."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.app import SLEEPS, StudyApp
from benchmarks.journal import read_notes
from benchmarks.study import OPERATOR, study_workers, temporary_folders
from fairlead.bench.report import Report, describe
from fairlead.bench.scratch import Scratch
from tests.support.settings import add_tenant

WARM_UP = 5.0
SPARE = 1.5  # times the jobs that a tenant can get done
BATCH = 10_000

NOTES = [
    "Every tenant has more jobs than it can get done. Jobs sleep; each notes when it began and ended, and what lies "
    "within the measured time counts as delivered.",
    "entitled_s: the weight's part of all that was delivered. share_error: how far delivered_s is off.",
    f"The first {WARM_UP:.0f} s are not measured: workers start and learn how long the types take.",
]


class Party(NamedTuple):
    """A tenant, its weight, and how long its jobs take."""

    tenant: str
    weight: float
    takes: float


async def fairness(
    scratch: Scratch, seconds: float, tenants: int, weights: Sequence[float], processes: int, concurrency: int
) -> Report:
    """Give every tenant more jobs than it can get done, and measure what each gets."""
    url = await scratch.fresh()
    setup = await describe(url, seconds=seconds, tenants=tenants, processes=processes, concurrency=concurrency)
    parties = [
        Party(f"tenant-{number}", weights[number // len(SLEEPS) % len(weights)], SLEEPS[number % len(SLEEPS)])
        for number in range(tenants)
    ]
    delivered = _delivered(await _runs(url, parties, seconds, processes, concurrency), seconds)
    rows = _rows(parties, delivered)
    figures = {
        "jain": round(jain([row["delivered_s"] / row["entitled_s"] for row in rows]), 5),
        "worst_share_error": max(abs(row["share_error"]) for row in rows),
        "busy_share": round(sum(delivered.values()) / (seconds * processes * concurrency), 3),
    }
    return Report("fairness", setup, figures, rows, list(NOTES))


def jain(ratios: Sequence[float]) -> float:
    """Jain's index: 1 where all are equal, 1/n where one has everything."""
    squares = sum(ratio * ratio for ratio in ratios)
    return sum(ratios) ** 2 / (len(ratios) * squares) if squares else 1.0


Runs = dict[str, list[list[float]]]


async def _runs(url: str, parties: list[Party], seconds: float, processes: int, concurrency: int) -> Runs:
    """From when to when each tenant's jobs ran."""
    slot_seconds = (WARM_UP + seconds) * processes * concurrency
    total = sum(party.weight for party in parties)
    with temporary_folders() as folders:
        async with StudyApp(url) as app:
            for party in parties:
                await add_tenant(await app.store(), party.tenant, OPERATOR, weight=party.weight)
                jobs = math.ceil(SPARE * slot_seconds * party.weight / total / party.takes) + 100
                handler = app.sleeps[party.takes].options(tenant=party.tenant)
                for start in range(0, jobs, BATCH):
                    await handler.enqueue_many([{"seconds": party.takes}] * min(BATCH, jobs - start))
            async with study_workers(app, processes, concurrency, folders):
                await asyncio.sleep(WARM_UP + seconds)
            return read_notes(folders.journal)


def _delivered(runs: Runs, seconds: float) -> dict[str, float]:
    """The slot-seconds of each tenant within the measured time."""
    begin = min((began for own in runs.values() for began, _ in own), default=0.0) + WARM_UP
    end = begin + seconds
    return {
        tenant: sum(max(0.0, min(ended, end) - max(began, begin)) for began, ended in own)
        for tenant, own in runs.items()
    }


def _rows(parties: list[Party], delivered: dict[str, float]) -> list[dict[str, Any]]:
    """A row for each tenant, the largest errors first."""
    total, weights = sum(delivered.values()), sum(party.weight for party in parties)
    rows = []
    for party in parties:
        due, got = total * party.weight / weights, delivered.get(party.tenant, 0.0)
        rows.append(
            {**party._asdict(), "entitled_s": round(due, 2), "delivered_s": round(got, 2),
             "share_error": round(got / due - 1, 4) if due else 0.0}
        )  # fmt: skip
    return sorted(rows, key=lambda row: -abs(row["share_error"]))
