"""How a transaction that somebody forgot to end slows a busy system: nothing that dies meanwhile is cleaned away."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import psycopg

from fairlead.bench.app import BenchApp
from fairlead.bench.database import postgres_query
from fairlead.bench.supply import Mix
from fairlead.core.jobs.model import Ending, Outcome
from fairlead.core.jobs.retry import Retry
from fairlead.core.jobs.settle import settle
from fairlead.stores.postgres.connection import conninfo
from fairlead.worker.claimer import Claimer

OWNER = "00000000-0000-7000-8000-000000000002"
LONGEST_BEFORE = 15.0


async def measure_hold(url: str, seconds: float, batch: int) -> dict[str, Any]:
    """The rate of the whole cycle before and during the hold, and in the last quarter of it."""
    async with BenchApp(url) as app:
        cycle = Cycle(app, Claimer(await app.store(), OWNER, frozenset({"short"}), app.registry), batch)
        await cycle.rate(min(seconds, LONGEST_BEFORE) / 3)
        before = await cycle.rate(min(seconds, LONGEST_BEFORE))
        with _held_open(url):
            first = await cycle.rate(seconds * 0.75)
            last = await cycle.rate(seconds * 0.25)
    during = first * 0.75 + last * 0.25
    return {
        "hold_before_per_s": round(before),
        "hold_during_per_s": round(during),
        "hold_last_quarter_per_s": round(last),
        "hold_share": round(during / before, 3),
        "hold_last_quarter_share": round(last / before, 3),
    }


class Cycle:
    """Enqueue, claim and settle, batch after batch, with the store's own verbs."""

    def __init__(self, app: BenchApp, claimer: Claimer, batch: int) -> None:
        self._app = app
        self._claimer = claimer
        self._batch = batch
        self._calls = [{"text": Mix().text()}] * batch
        self._random = Random(1)

    async def rate(self, seconds: float) -> float:
        """Jobs a second over so many seconds."""
        began, count = time.monotonic(), 0
        while time.monotonic() < began + seconds or not count:
            count += await self._once()
        return count / (time.monotonic() - began)

    async def _once(self) -> int:
        store = await self._app.store()
        await store.enqueue(self._app.noop_jobs(self._calls))
        claims = await self._claimer.take(self._batch)
        decided = [settle(claim, Outcome(Ending.SUCCEEDED), Retry(), self._random) for claim in claims]
        return len(await store.settle(decided))


@contextmanager
def _held_open(url: str) -> Iterator[None]:
    with psycopg.connect(conninfo(url)) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute(postgres_query("hold"))
        yield
        connection.rollback()
