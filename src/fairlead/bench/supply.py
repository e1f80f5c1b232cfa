"""Submitting a benchmark's jobs through the public client, and waiting until they are done."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairlead.bench.app import BenchApp
from fairlead.bench.database import Database
from fairlead.client.handler import Handler
from fairlead.records.store import Store

BATCH = 1000
LOOK_EVERY = 0.25


@dataclass(frozen=True)
class Mix:
    """What the jobs are: how large, whose, of which types, and which share of them fails."""

    payload: int = 64
    tenants: int = 1
    types: int = 1
    failing: float = 0.0

    def text(self) -> str:
        """The argument that makes the payload as large as wanted."""
        return "x" * max(0, self.payload - len('{"text":""}'))

    def stored(self) -> str:
        """The payload as it is stored."""
        return f'{{"text":"{self.text()}"}}'

    def facts(self) -> dict[str, Any]:
        """For the setup."""
        return {
            "payload_bytes": len(self.stored()),
            "tenants": self.tenants,
            "types": self.types,
            "failing_share": self.failing,
        }


async def submit(app: BenchApp, mix: Mix, jobs: int) -> None:
    """Enqueue so many jobs, spread over tenants and types, batch after batch."""
    lanes = mix.tenants * mix.types
    handlers = _handlers(app, mix)
    batch = max(1, min(BATCH, jobs // lanes))
    for start in range(0, jobs, batch):
        handler, failing = next(handlers)
        count = min(batch, jobs - start)
        failures = round(count * mix.failing)
        await handler.enqueue_many([{"text": mix.text()}] * (count - failures))
        if failures:
            await failing.enqueue_many([{"text": mix.text()}] * failures)


async def until_done(store: Store, database: Database) -> None:
    """Wait until no job is live; the looks are rare and cheap while there is a backlog."""
    while await store.reader.active_lanes():  # noqa: ASYNC110
        await asyncio.sleep(LOOK_EVERY)
    while (await asyncio.to_thread(database.rows, "live"))[0][0]:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_EVERY / 5)


def _handlers(app: BenchApp, mix: Mix) -> Iterator[tuple[Handler[..., Any], Handler[..., Any]]]:
    """Lane after lane, without end: the handler to use, and the failing one of the same tenant."""
    tenants = [f"tenant-{number}" for number in range(mix.tenants)]
    lanes = [
        (noop.options(tenant=tenant), app.failing.options(tenant=tenant)) for noop in app.noops for tenant in tenants
    ]
    while True:
        yield from lanes
