"""The application that the benchmark's workers run; its database is FAIRLEAD_DATABASE_URL."""

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.app import App
from fairlead.bench.counters import count_one
from fairlead.client.client import build_jobs, template_of
from fairlead.client.handler import Handler
from fairlead.core.jobs.model import NewJob
from fairlead.core.jobs.retry import Retry
from fairlead.core.protection.breaker import Breaker
from fairlead.core.protection.quarantine import Quarantine
from fairlead.handlers.options import Options

TYPES_VARIABLE = "FAIRLEAD_BENCH_TYPES"


class BenchApp(App):
    """Job types that do nothing, one that counts its runs, two that fail, and one that tells when it started."""

    def __init__(self, database_url: str | None = None, types: int = 1) -> None:
        super().__init__(database_url)
        self.noops: list[Handler[..., Any]] = [self.handler(f"bench.noop.{number}")(noop) for number in range(types)]
        self.counted: Handler[..., Any] = self.handler("bench.counted")(counted)
        self.sleeps: list[Handler[..., Any]] = [self.handler(f"bench.sleep.{number}")(sleep) for number in range(types)]
        self.failing: Handler[..., Any] = self.handler(
            "bench.failing", retry=Retry(attempts=1), breaker=Breaker.off(), quarantine=Quarantine.off()
        )(fail)
        self.poison: Handler[..., Any] = self.handler("bench.poison")(fail)
        self.started: Handler[..., Any] = self.handler("bench.started")(tell_time)

    def noop_jobs(self, calls: Sequence[Mapping[str, Any]], options: Options | None = None) -> list[NewJob]:
        """Jobs of the first type, built as the client builds them."""
        spec = self.noops[0].spec
        return build_jobs(spec, calls, template_of(spec, options or Options(), self.settings), self.settings)


async def noop(text: str) -> None:
    """Do nothing."""


async def counted(text: str) -> None:
    """Do nothing, and count it."""
    count_one()


async def sleep(seconds: float) -> list[float]:
    """Take up a slot; returns from when to when."""
    began = time.time()
    await asyncio.sleep(seconds)
    return [began, time.time()]


async def fail(text: str) -> None:
    """Fail, as a part of all jobs does."""
    raise RuntimeError("this job fails on purpose")


async def tell_time() -> float:
    """The instant at which the handler started."""
    return time.time()


app = BenchApp(types=int(os.environ.get(TYPES_VARIABLE, "1")))
