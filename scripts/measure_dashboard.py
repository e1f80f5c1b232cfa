"""Measures how long the requests of the dashboard's pages take on a store with many jobs.

    python scripts/measure_dashboard.py sqlite:////tmp/measure.db
    python scripts/measure_dashboard.py postgresql://... --jobs 100000

The database must be an empty one of its own. Of the jobs two fifths run, one fifth fails now and then, one fifth waits
for a pool that nobody serves, and one fifth for tomorrow.
"""

import argparse
import asyncio
import statistics
import sys
import time
from typing import Any

import httpx2

from fairlead import App, Retry
from fairlead.api import create_app
from fairlead.core.web.api_keys import Grant
from fairlead.handlers.options import Options
from fairlead.operate.api_keys import create_key
from fairlead.operate.settings import KINDS as SETTINGS
from fairlead.runtime.operator import Operator

BATCH = 1_000
ROUNDS = 5
KINDS = ("good", "bad", "unserved", "good", "tomorrow")
PATHS = (
    "me", "status", "status/history", "status/waits", "jobs?limit=50", "jobs?limit=50&states=ready",
    "jobs?limit=50&states=dead", "jobs?limit=50&fields=payload", "jobs?limit=50&type=unserved",
    "jobs?limit=50&tenant=t3",
    "jobs?limit=50&pool=nobody", "jobs?limit=50&tenant=absent", "jobs?limit=50&idempotency_key=absent",
    "jobs?limit=50&error_type=ValueError", "jobs?limit=50&key_contains=absent",
    "jobs?limit=50&states=ready&states=dead&priority=default", "jobs?limit=50&finished_after=2020-01-01T00:00:00Z",
    "jobs/count?type=unserved", "jobs/count?tenant=t3", "jobs/count?states=scheduled", "dead-letters/count",
    "dead-letters/count?tenant=t1", "dead-letters/groups?limit=100", "dead-letters/groups?tenant=t1",
    "jobs?states=dead&limit=50&type=bad", "tenants", "tenants/t3?window=3600", "tiers", "shares",
    "shares?window=2592000", "schedules", "fires?expression=0%206%20*%20*%20*", "workers", "types", "types/good",
    "audit", "audit/verification", "keys", "settings", *(f"settings/{kind}" for kind in SETTINGS),
)  # fmt: skip


def make_app(url: str) -> App:
    """An app with a type for each kind of job."""
    app = App(url)

    @app.handler("good")
    async def good(number: int) -> int:
        return number

    @app.handler("bad", retry=Retry(attempts=1))
    async def bad(number: int) -> None:
        if number % 4 == 0:
            raise ValueError(f"no {number % 7}")

    for name in ("unserved", "tomorrow"):

        @app.handler(name, pool="nobody")
        async def waits(number: int) -> None: ...

    return app


async def fill(app: App, jobs: int) -> None:
    """Submit the jobs, and let a worker do what can be done."""
    client, store = await app.client(), await app.store()
    for number in range(jobs // BATCH):
        kind = KINDS[number % len(KINDS)]
        options = Options(tenant=f"t{number % 20}", run_in="1d" if kind == "tomorrow" else None)
        await client.enqueue(app.registry[kind], [{"number": item} for item in range(BATCH)], options)
    async with app.worker(concurrency=200):
        while left := sum(count for (pool, _), count in (await store.reader.count_jobs()).items() if pool != "nobody"):
            print(f"{left:,} jobs to do before it begins", file=sys.stderr)
            await asyncio.sleep(1)


async def measure(http: httpx2.AsyncClient, path: str) -> float:
    """Print a line about one request; returns what it takes."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        (await http.get(f"/v1/{path}")).raise_for_status()
        taken.append((time.perf_counter() - began) * 1000)
    print(f"{statistics.median(taken):8.1f} ms, at most {max(taken):8.1f} ms  /v1/{path}", flush=True)
    return statistics.median(taken)


async def run(url: str, jobs: int) -> None:
    """Fill the store, ask, and tell."""
    app = make_app(url)
    await app.migrate()
    async with app:
        await fill(app, jobs)
        api: Any = create_app(app)
        await api.state.service.open()
        key = (await create_key(await app.store(), Operator("measure"), "measure", [Grant.ADMIN])).text
        headers = {"Authorization": f"Bearer {key}"}
        transport = httpx2.ASGITransport(app=api)
        async with httpx2.AsyncClient(transport=transport, base_url="http://api", headers=headers) as http:
            taken = {path: await measure(http, path) for path in PATHS}
            slowest = max(taken, key=lambda path: taken[path])
            print(f"the slowest: {taken[slowest]:.1f} ms for /v1/{slowest}")
        await api.state.service.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="the address of an empty database")
    parser.add_argument("--jobs", type=int, default=100_000)
    wanted = parser.parse_args()
    asyncio.run(run(wanted.url, wanted.jobs))
