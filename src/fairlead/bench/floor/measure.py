"""The floor of a store: the best batch is looked for, then one and two processes run; the best counts."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from fairlead.bench.floor.phases import Part
from fairlead.bench.hands import Hand, opened_hands, perform_together

BATCHES = (200, 500, 1000, 2000)
PROCESSES = (1, 2)
TRIAL_SHARE = 10
SMALLEST_TRIAL = 4_000
TRIAL_COMMITS = 200
FILL_BATCH = 1000


class Measured(NamedTuple):
    """The rate of one phase with the batch that won, and all that was tried."""

    phase: str
    jobs_per_s: float
    batch: int
    processes: int
    tried: list[dict[str, Any]]
    short_jobs_per_s: float | None = None  # before it went on, where it did


async def measure_floor(url: str, phase: str, jobs: int, payload: str) -> Measured:
    """The fastest bare loop over so many jobs; phases are insert, drain (claim and settle) and flow (all three)."""
    async with floor_hands() as hands:
        return await measure_with(hands, Part(url, phase, jobs, FILL_BATCH, payload))


async def insert_rates(url: str, sizes: Sequence[int], seconds: float, payload: str) -> list[int]:
    """How many jobs a second one bare process inserts, for each size of its commits."""
    rates = []
    async with floor_hands() as hands:
        for size in sizes:
            trial = Part(url, "insert", size * TRIAL_COMMITS, size, payload)
            found = await _try(hands[:1], trial)
            commits = max(TRIAL_COMMITS, int(found["jobs_per_s"] / size * seconds))
            rates.append((await _try(hands[:1], trial._replace(jobs=size * commits)))["jobs_per_s"])
    return rates


async def sustain_floor(url: str, jobs: int, payload: str, seconds: float) -> Measured:
    """The bare loop of all three steps that is the fastest over so many jobs, run for about so many seconds.

    A database that is written to without a pause cleans up and flushes meanwhile, which a short run does not see.
    """
    async with floor_hands() as hands:
        part = Part(url, "flow", jobs, FILL_BATCH, payload)
        best = await measure_with(hands, part)
        long = part._replace(jobs=max(jobs, int(best.jobs_per_s * seconds)), batch=best.batch)
        found = await _try(hands[: best.processes], long)
    return best._replace(jobs_per_s=found["jobs_per_s"], tried=[*best.tried, found], short_jobs_per_s=best.jobs_per_s)


def floor_hands() -> AbstractAsyncContextManager[list[Hand]]:
    """As many processes as the largest run needs."""
    return opened_hands("fairlead.bench.floor.phases", max(PROCESSES))


async def measure_with(hands: list[Hand], part: Part) -> Measured:
    """The same, with processes that are there."""
    trial = part._replace(jobs=min(part.jobs, max(SMALLEST_TRIAL, part.jobs // TRIAL_SHARE)))
    tried = [await _try(hands[:1], trial._replace(batch=batch)) for batch in BATCHES]
    batch = max(tried, key=lambda one: one["jobs_per_s"])["batch"]
    full = [await _try(hands[:count], part._replace(batch=batch)) for count in PROCESSES]
    best = max(full, key=lambda one: one["jobs_per_s"])
    return Measured(part.phase, best["jobs_per_s"], batch, best["processes"], [*tried, *full])


async def _try(hands: Sequence[Hand], part: Part) -> dict[str, Any]:
    """The rate of some processes together, on new tables; each has prepared them once, so that all are awake."""
    filled = part.jobs if part.phase == "drain" else 0
    for hand in hands:
        await hand.perform(part._replace(phase="prepare", jobs=0))
    await hands[0].perform(part._replace(phase="prepare", jobs=filled, batch=FILL_BATCH))
    rate = await perform_together(hands, part._replace(jobs=part.jobs // len(hands)))
    return {**_facts(part), "processes": len(hands), "jobs_per_s": rate}


def _facts(part: Part) -> dict[str, Any]:
    return {"phase": part.phase, "jobs": part.jobs, "batch": part.batch}
