"""The application of the studies: the handlers of `fairlead bench`, and those that only a study needs."""

import asyncio
import time
from typing import Any

from benchmarks.journal import note
from fairlead.bench.app import BenchApp, count_run
from fairlead.client.handler import Handler
from fairlead.handlers.context import Context

APP = "benchmarks.app:app"
SAMPLE_EVERY = 100


class StudyApp(BenchApp):
    """Adds handlers that note when they ran, and one that always fails."""

    def __init__(self, database_url: str | None = None) -> None:
        super().__init__(database_url)
        self.due: Handler[..., Any] = self.handler("study.due")(note_lateness)
        self.sent: Handler[..., Any] = self.handler("study.sent")(sample_wait)
        self.sleeps: dict[float, Handler[..., Any]] = {}
        self.poison: Handler[..., Any] = self.handler("study.poison")(fail)
        self.sleeping: Handler[..., Any] = self.handler("study.sleep")(sleep)
        for number in range(len(SLEEPS)):
            self.sleeps[SLEEPS[number]] = self.handler(f"study.sleep.{number}")(sleep)


SLEEPS = (0.01, 0.1, 1.0)


async def note_lateness(label: str, due: float) -> None:
    """Note how long after an instant the handler started."""
    note(label, time.time() - due)


async def sample_wait(number: int, sent: float) -> None:
    """Count the run; every hundredth notes how long ago it was submitted."""
    if number % SAMPLE_EVERY == 0:
        note("wait", time.time() - sent)
    count_run()


async def sleep(context: Context, seconds: float) -> None:
    """Occupy a slot, and note for which tenant and from when to when."""
    began = time.time()
    await asyncio.sleep(seconds)
    note(context.tenant, began, time.time())


async def fail() -> None:
    """Fail, and note it."""
    note("poison")
    raise RuntimeError("this job fails on purpose")


app = StudyApp()
