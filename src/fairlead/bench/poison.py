"""`fairlead bench poison`: how much a job type that always fails slows the others."""

import asyncio
from statistics import median
from typing import Any

from fairlead.bench.app import BenchApp
from fairlead.bench.database import Database, open_database
from fairlead.bench.place import Place, fresh
from fairlead.bench.report import Report, describe, share
from fairlead.bench.supply import BATCH, LOOK_EVERY, Mix
from fairlead.bench.workers import running_workers
from fairlead.client.handler import Handler
from fairlead.records.store import Store

NOTES = [
    "jobs_per_s: jobs of the healthy type divided by the time from their first claim to their last settlement, by the "
    "database's clock; alone, and beside a backlog of another tenant whose type fails at once, every time. The two "
    "take turns, and the medians are compared.",
    "Everything is as it is by default: the failing type's breaker opens when it was counted for half a second, and "
    "then it is probed now and then. The time until it opens is in the figure: the longer the run, the less it counts.",
    "poison_runs: how often the failing type was run meanwhile.",
]


async def poison(
    place: Place,
    jobs: int = 300_000,
    poison_jobs: int = 100_000,
    processes: int = 1,
    concurrency: int = 500,
    rounds: int = 3,
    mix: Mix = Mix(),  # noqa: B008
) -> Report:
    """Drain healthy jobs alone, and then beside poison, in turn; the medians are compared."""
    url = await fresh(place)
    choices = {"jobs": jobs, "poison_jobs": poison_jobs, "processes": processes, "concurrency": concurrency}
    setup = await describe(url, **choices, rounds=rounds, payload_bytes=mix.facts()["payload_bytes"])
    found = [await _drain(place, jobs, count, processes, concurrency, mix) for count in (0, poison_jobs) * rounds]
    alone, beside = (round(median(row["jobs_per_s"] for row in found[first::2])) for first in (0, 1))
    figures = {"alone_jobs_per_s": alone, "jobs_per_s": beside, "share_of_alone": share(beside, alone)}
    return Report("poison", setup, figures, found, list(NOTES))


async def _drain(
    place: Place, jobs: int, poison_jobs: int, processes: int, concurrency: int, mix: Mix
) -> dict[str, Any]:
    url = await fresh(place)
    database = open_database(url)
    try:
        async with BenchApp(url) as app:
            healthy, poisonous = app.noops[0].options(tenant="healthy"), app.poison.options(tenant="poison")
            await _submit(poisonous, poison_jobs, mix)
            await _submit(healthy, jobs, mix)
            async with running_workers(url, processes, concurrency):
                await _until_done(await app.store(), database, healthy.spec.name)
                runs = database.rows("failures")[0][0]
        count, began, ended = database.rows("span_of", type=healthy.spec.name)[0]
    finally:
        database.close()
    seconds = max(ended - began, 1e-6)
    return {
        "poison_jobs": poison_jobs, "poison_runs": runs, "jobs": count, "seconds": round(seconds, 3),
        "jobs_per_s": round(count / seconds),
    }  # fmt: skip


async def _submit(handler: Handler[..., Any], jobs: int, mix: Mix) -> None:
    for start in range(0, jobs, BATCH):
        await handler.enqueue_many([{"text": mix.text()}] * min(BATCH, jobs - start))


async def _until_done(store: Store, database: Database, type_: str) -> None:
    """Wait until no job of the type is live; the looks are rare and cheap while there is a backlog."""
    while any(active.lane.type == type_ for active in await store.reader.active_lanes()):  # noqa: ASYNC110
        await asyncio.sleep(LOOK_EVERY)
    while (await asyncio.to_thread(database.rows, "live_of", type=type_))[0][0]:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_EVERY / 5)
