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
WINDOW = 10  # seconds
UNPROVEN = 15.0  # seconds

NOTES = [
    "Every tenant has more jobs than it can get done. Jobs sleep; each notes when it began and ended, and what lies "
    "within the measured time counts as delivered.",
    "entitled_s: the weight's part of all that was delivered. share_error: how far delivered_s is off.",
    f"The first {WARM_UP:.0f} s are not measured: workers start and learn how long the types take.",
]

WINDOW_NOTES = [
    "Every tenant has more jobs than it can get done, all of one type; each tenant's take as long as `takes` says.",
    f"due_s: the weight's part of all that was delivered in a window of {WINDOW} s. least_ratio, most_ratio: what "
    "was delivered over that, in the worst windows. The headline counts tenants whose due is at least one job.",
    f"The first {UNPROVEN:.0f} s are not measured: each worker starts a job of a type that never ran.",
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


async def windows(
    scratch: Scratch,
    seconds: float,
    takes: Sequence[float],
    weights: Sequence[float],
    processes: int,
    concurrency: int,
) -> Report:
    """One type whose jobs take longer for one tenant than for another: what each gets in every window of 10 s."""
    url = await scratch.fresh()
    parties = [Party(f"tenant-{number}", *pair) for number, pair in enumerate(zip(weights, takes, strict=True))]
    setup = await describe(url, seconds=seconds, processes=processes, concurrency=concurrency)
    runs = await _runs(url, parties, seconds + UNPROVEN - WARM_UP, processes, concurrency, is_one_type=True)
    per_second = _per_second(parties, runs, int(seconds))
    rows = [_window_row(party, parties, per_second) for party in parties]
    judged = [row for row in rows if row["due_s"] >= row["takes"]]
    figures = {
        "least_ratio": min((row["least_ratio"] for row in judged), default=1.0),
        "most_ratio": max((row["most_ratio"] for row in judged), default=1.0),
        "total_ratios": " ".join(f"{row['total_ratio']:.3f}" for row in rows),
    }
    return Report("windows", setup, figures, rows, list(WINDOW_NOTES))


def _window_row(party: Party, parties: list[Party], per_second: dict[str, list[float]]) -> dict[str, Any]:
    """What a tenant got, against its due, in all windows and in the worst ones; a window begins every second."""
    part = party.weight / sum(other.weight for other in parties)
    got = _window_sums(per_second[party.tenant])
    due = [part * sum(all_got) for all_got in zip(*map(_window_sums, per_second.values()), strict=True)]
    ratios = [own / entitled if entitled else 0.0 for own, entitled in zip(got, due, strict=True)]
    total = sum(map(sum, per_second.values())) * part
    return {
        **party._asdict(),
        "due_s": round(sum(due) / len(due), 2),
        "least_ratio": round(min(ratios), 2),
        "most_ratio": round(max(ratios), 2),
        "total_ratio": round(sum(per_second[party.tenant]) / total, 3) if total else 0.0,
    }


def _window_sums(seconds: list[float]) -> list[float]:
    return [sum(seconds[start : start + WINDOW]) for start in range(max(1, len(seconds) - WINDOW + 1))]


def _per_second(parties: list[Party], runs: Runs, seconds: int) -> dict[str, list[float]]:
    """The slot-seconds of each tenant in each measured second."""
    first = min((began for own in runs.values() for began, _ in own), default=0.0) + UNPROVEN
    found = {party.tenant: [0.0] * seconds for party in parties}
    for tenant, own in runs.items():
        for began, ended in own:
            for second in range(max(0, int(began - first)), min(seconds, int(ended - first) + 1)):
                found[tenant][second] += max(0.0, min(ended - first, second + 1) - max(began - first, second))
    return found


async def _runs(
    url: str, parties: list[Party], seconds: float, processes: int, concurrency: int, is_one_type: bool = False
) -> Runs:
    """From when to when each tenant's jobs ran."""
    slot_seconds = (WARM_UP + seconds) * processes * concurrency
    total = sum(party.weight for party in parties)
    with temporary_folders() as folders:
        async with StudyApp(url) as app:
            for party in parties:
                await add_tenant(await app.store(), party.tenant, OPERATOR, weight=party.weight)
                jobs = math.ceil(SPARE * slot_seconds * party.weight / total / party.takes) + 100
                kind = app.sleeping if is_one_type else app.sleeps[party.takes]
                handler = kind.options(tenant=party.tenant)
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
