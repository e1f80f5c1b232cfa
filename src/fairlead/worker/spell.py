"""A spell: quick runs that take turns, and are settled and accounted for together when it is over."""

import asyncio

from fairlead.core.model import Claim
from fairlead.core.waits import Begun
from fairlead.handlers.spec import HandlerSpec
from fairlead.worker.running import Running

LONGEST = 0.005  # seconds, after which the rest of the worker has a turn


class Spell:
    """Whose turn it is, and what the runs before it have come to."""

    __slots__ = ("began", "is_left", "is_over", "now", "record", "spec", "task", "took", "until", "well")

    def __init__(self, now: float, task: asyncio.Task[None]) -> None:
        self.now = now  # when the last run ended, and the next one begins
        self.until = now + LONGEST
        self.task = task
        self.is_left = False  # its last run waits for something, and goes on without it
        self.is_over = False
        self.spec: HandlerSpec | None = None  # of the job whose turn it is, or was last
        self.record: Running | None = None  # of its run: one that knows of nothing but its arguments mostly needs none
        self.began: list[tuple[Claim, float]] = []
        self.well: list[tuple[Claim, str | None]] = []  # what has succeeded, with its result
        self.took: list[float] = []  # how long these ran

    def running(self) -> Running:
        """The record of the run whose turn it is, or was last."""
        if self.record is None:
            claim, started = self.began[-1]
            assert self.spec is not None
            self.record = Running(claim, self.spec, started, self.task)
        return self.record

    def take_well(self) -> tuple[list[tuple[Claim, str | None]], list[float]]:
        """What has succeeded since the last time, and how long each took."""
        well, took, self.well, self.took = self.well, self.took, [], []
        return well, took


def begun_of(began: tuple[Claim, float]) -> Begun:
    """What there is to know of a job that was started."""
    claim, started = began
    return claim.lane.pool, claim.ready_at, started
