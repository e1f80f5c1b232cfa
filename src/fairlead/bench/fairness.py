"""`fairlead bench fairness`: who got which part of the slots when everybody wanted all of them."""

import asyncio
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json

from fairlead.bench.app import BenchApp
from fairlead.bench.database import Database, open_database
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe
from fairlead.bench.workers import running_workers
from fairlead.core.durations import words
from fairlead.core.fairness.entitlement import entitled, jain
from fairlead.core.fairness.tenancy import TENANT, Tenant
from fairlead.core.protection.controls import Change
from fairlead.ports.store import Store

WARM_UP = 5.0
SPARE = 1.5  # times the jobs that a tenant can get done; the others are left over
BATCH = 1000
LISTED = 50

NOTES = [
    "Every tenant has more jobs than it can get done. Jobs sleep; each tells when it began and ended, and what lies "
    "within the measured time counts as delivered, also of jobs that were running at its edges.",
    "entitled: the weight's part of all that was delivered (core.entitlement). share_error: how far delivered is off.",
    f"The first {WARM_UP:.0f} s are not measured: the workers start, and learn how long the types take.",
]


class Party(NamedTuple):
    """A tenant of the benchmark: its weight, and which of the durations its jobs have."""

    tenant: Tenant
    duration: int


async def fairness(
    place: Place,
    seconds: float = 30.0,
    tenants: int = 12,
    durations: Sequence[float] = (0.01, 0.1, 1.0),
    weights: Sequence[float] = (1.0, 2.0, 3.0, 5.0),
    processes: int = 2,
    concurrency: int = 20,
) -> Report:
    """Give every tenant more jobs than it can get done, and see what each got of the workers' time."""
    url = await fresh(place)
    shapes = {"durations": [words(one) for one in durations], "weights": list(weights)}
    setup = await describe(
        url, seconds=seconds, tenants=tenants, processes=processes, concurrency=concurrency, **shapes
    )
    parties = _parties(tenants, len(durations), weights)
    runs, dry = await _measure(url, parties, durations, seconds, processes, concurrency)
    rows = _rows(parties, durations, _delivered(runs, seconds))
    figures = {
        "jain": round(jain([row["delivered_s"] / row["entitled_s"] for row in rows if row["entitled_s"]]), 5),
        "worst_share_error": max(abs(row["share_error"]) for row in rows),
        "jobs": sum(len(own) for own in runs.values()),
        "busy_share": round(sum(row["delivered_s"] for row in rows) / (seconds * processes * concurrency), 3),
        "tenants_without_work": dry,
    }
    return Report("fairness", setup, figures, rows[:LISTED], list(NOTES))


def _parties(tenants: int, durations: int, weights: Sequence[float]) -> list[Party]:
    """Every weight meets every duration."""
    return [
        Party(Tenant(f"tenant-{number}", weight=weights[number // durations % len(weights)]), number % durations)
        for number in range(tenants)
    ]


Runs = dict[str, list[tuple[float, float]]]


async def _measure(
    url: str, parties: list[Party], durations: Sequence[float], seconds: float, processes: int, concurrency: int
) -> tuple[Runs, int]:
    """Returns when each tenant's jobs ran, and how many tenants ran out of jobs."""
    database = open_database(url)
    try:
        async with BenchApp(url, len(durations)) as app:
            store = await app.store()
            await store.change_controls([Change(TENANT, one.tenant.name, one.tenant.to_value()) for one in parties])
            await _supply(app, parties, durations, (WARM_UP + seconds) * processes * concurrency)
            async with running_workers(url, processes, concurrency, len(durations)):
                await asyncio.sleep(WARM_UP + seconds)
            dry = len(parties) - len(await _waiting(store))
        return await asyncio.to_thread(_runs, database), dry
    finally:
        database.close()


async def _supply(app: BenchApp, parties: list[Party], durations: Sequence[float], slot_seconds: float) -> None:
    total = sum(one.tenant.standing.weight for one in parties)
    for tenant, duration in parties:
        part = slot_seconds * tenant.standing.weight / total
        jobs = math.ceil(SPARE * part / durations[duration]) + BATCH // 10
        handler = app.sleeps[duration].options(tenant=tenant.name)
        for start in range(0, jobs, BATCH):
            await handler.enqueue_many([{"seconds": durations[duration]}] * min(BATCH, jobs - start))


async def _waiting(store: Store) -> set[str]:
    return {active.lane.tenant for active in await store.active_lanes()}


def _runs(database: Database) -> Runs:
    runs: Runs = defaultdict(list)
    for tenant, result in database.rows("tenant_results"):
        began, ended = from_json(result)
        runs[tenant].append((began, ended))
    return runs


def _delivered(runs: Runs, seconds: float) -> dict[str, float]:
    """The slot-seconds of each tenant that lie within the measured time."""
    begin = min((began for own in runs.values() for began, _ in own), default=0.0) + WARM_UP
    end = begin + seconds
    return {
        tenant: sum(max(0.0, min(ended, end) - max(began, begin)) for began, ended in own)
        for tenant, own in runs.items()
    }


def _rows(parties: list[Party], durations: Sequence[float], delivered: dict[str, float]) -> list[dict[str, Any]]:
    """A row for each tenant, the largest errors first."""
    total = sum(delivered.values())
    tenants = {one.tenant.name: one.tenant for one in parties}
    due = entitled(total, dict.fromkeys(tenants, total), tenants)
    rows = [_row(one, durations, delivered.get(one.tenant.name, 0.0), due[one.tenant.name]) for one in parties]
    return sorted(rows, key=lambda row: -abs(row["share_error"]))


def _row(party: Party, durations: Sequence[float], got: float, due: float) -> dict[str, Any]:
    return {
        "tenant": party.tenant.name,
        "weight": party.tenant.standing.weight,
        "job_time": words(durations[party.duration]),
        "entitled_s": round(due, 2),
        "delivered_s": round(got, 2),
        "share_error": round(got / due - 1, 4) if due else 0.0,
    }
