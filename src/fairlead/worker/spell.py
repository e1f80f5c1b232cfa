"""A spell: quick runs that take turns, and are settled and accounted for together when it is over."""

import asyncio
from collections.abc import Sequence
from operator import sub

from fairlead.core.insight.wait_times import Begun
from fairlead.core.jobs.model import Claim, Lane
from fairlead.handlers.spec import HandlerSpec
from fairlead.worker.running import Running

LONGEST = 0.005  # seconds, after which the rest of the worker has a turn


class Spell:
    """Whose turn it is, and what the runs before it have come to, in columns: that takes least for each run."""

    __slots__ = (
        "claims", "instants", "is_left", "is_mixed", "is_over", "lane", "record", "results", "spec", "taken", "task",
        "until",
    )  # fmt: skip

    def __init__(self, now: float, task: asyncio.Task[None]) -> None:
        self.claims: list[Claim] = []
        self.instants = [now]  # when each run began, which is when the one before it ended; and the end of the last
        self.until = now + LONGEST
        self.task = task
        self.is_left = False  # its last run waits for something, and goes on without it
        self.is_over = False
        self.lane: Lane | None = None  # of the job whose turn it is, or was last
        self.is_mixed = False  # there were jobs of several lanes
        self.spec: HandlerSpec | None = None  # of the job whose turn it is, or was last
        self.record: Running | None = None  # of its run: one that knows of nothing but its arguments mostly needs none
        self.results: list[str | None] = []  # of the runs that succeeded and were not taken yet
        self.taken = 0  # how many runs were taken, or ended in another way: those that succeeded come after them

    def running(self) -> Running:
        """The record of the run whose turn it is, or was last."""
        if self.record is None:
            assert self.spec is not None
            self.record = Running(self.claims[-1], self.spec, self.instants[len(self.claims) - 1], self.task)
        return self.record

    def take_well(self) -> tuple[list[Claim], list[str | None], list[float]]:
        """What has succeeded since the last time, with its results, and how long each run took."""
        first, results, last = self.taken, self.results[:], self.taken + len(self.results)
        self.results.clear()
        self.taken = last
        took = list(map(sub, self.instants[first + 1 : last + 1], self.instants[first:last]))
        return self.claims[first:last], results, took

    @property
    def only_lane(self) -> Lane | None:
        """The lane of all its runs, if there is only one."""
        return None if self.is_mixed else self.lane

    def turn_to(self, lane: Lane) -> None:
        """The next runs are of this lane."""
        self.is_mixed = self.is_mixed or self.lane not in (None, lane)
        self.lane = lane

    def begun(self, run: int) -> Begun:
        """What there is to know of a run's beginning."""
        return begun_of(self.claims[run], self.instants[run])

    @property
    def runs(self) -> Sequence[int]:
        """The numbers of all its runs."""
        return range(len(self.claims))


def begun_of(claim: Claim, started: float) -> Begun:
    """What there is to know of a job that was started."""
    return claim.lane.pool, claim.ready_at, started
