"""A spell: quick runs that take turns, and are settled and accounted for together when it is over."""

import asyncio

from fairlead.core.model import Claim
from fairlead.core.waits import Begun
from fairlead.handlers.spec import HandlerSpec
from fairlead.worker.running import Running

LONGEST = 0.005  # seconds, after which the rest of the worker has a turn


class Spell:
    """Whose turn it is, and what the runs before it have come to."""

    __slots__ = ("_running", "_spec", "began", "is_left", "now", "task", "took", "until", "well")

    def __init__(self, now: float, task: asyncio.Task[None]) -> None:
        self.now = now  # when the last run ended, and the next one begins
        self.until = now + LONGEST
        self.task = task
        self.is_left = False  # its last run waits for something, and goes on without it
        self.began: list[tuple[Claim, float]] = []
        self.well: list[tuple[Claim, str | None]] = []  # what has succeeded, with its result
        self.took: list[float] = []  # how long these ran

    def begin(self, claim: Claim, spec: HandlerSpec) -> Running | None:
        """It is this job's turn; a run that knows of nothing but its arguments needs no record until it waits."""
        self.began.append((claim, self.now))
        self._spec = spec
        self._running: Running | None = None
        return None if spec.is_bare else self.running()

    def running(self) -> Running:
        """The record of the run whose turn it is, or was last."""
        if self._running is None:
            claim, started = self.began[-1]
            self._running = Running(claim, self._spec, started, self.task)
        return self._running

    def ended(self, now: float) -> float:
        """A run has ended; returns how long it took."""
        took, self.now = now - self.now, now
        return took

    def take_well(self) -> tuple[list[tuple[Claim, str | None]], list[float]]:
        """What has succeeded since the last time, and how long each took."""
        well, took, self.well, self.took = self.well, self.took, [], []
        return well, took


def begun_of(began: tuple[Claim, float]) -> Begun:
    """What there is to know of a job that was started."""
    claim, started = began
    return claim.lane.pool, claim.ready_at, started
