"""Slot usage of one worker: the slot-seconds of claimed, running and ended jobs by lane.

The end of a job appends to a list, which is added up periodically. A large batch of ends is added up at once, while it
is in the processor's cache.

A tenant is to be charged the run time of each ended job, and for each claimed job its estimate, or its run time so far
if that is longer. `settle` returns the difference to what was charged. So an error in an estimate lasts as long as the
job, and a job that runs longer than its estimate is charged as it goes on.
"""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from fairlead.core.fairness.estimates import Estimates
from fairlead.core.fairness.run_times import SHORTEST, RunCount, bucket_of, thinned
from fairlead.core.insight.wait_times import Waits
from fairlead.core.jobs.model import Lane

SAMPLE = 250  # ended runs that are sorted into buckets; each stands for as many others
AT_ONCE = 25  # ended runs; larger batches are added up at once
BRIEF = bucket_of(SHORTEST)


class Usage(NamedTuple):
    """The usage of a lane since the last settlement, in slot-seconds."""

    lane: Lane
    charge: float  # to charge now; negative is a refund
    unearned: float  # the change of the charge for time that has not run yet
    delivered: float  # what ran


class LaneTally:
    """The usage of one lane in this worker."""

    __slots__ = ("charged", "count", "earned", "lane", "seconds", "unearned")

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.charged = 0.0  # for jobs that have not ended
        self.earned = 0.0  # the part of `charged` that had run at the last settlement
        self.unearned = 0.0
        self.count = 0  # jobs that have ended since the last settlement
        self.seconds = 0.0  # how long they ran

    def settle(self, due: float, earned: float) -> Usage:
        """Return the usage, given what is due for jobs that have not ended and what of it has run."""
        unearned = due - earned
        usage = Usage(
            self.lane,
            charge=self.seconds + due - self.charged,
            unearned=unearned - self.unearned,
            delivered=self.seconds + earned - self.earned,
        )
        self.charged, self.earned, self.unearned = due, earned, unearned
        self.count, self.seconds = 0, 0.0
        return usage


class SlotUsage:
    """The usage of all lanes with jobs in this worker."""

    def __init__(self, estimates: Estimates | None = None) -> None:
        self.estimates = Estimates() if estimates is None else estimates
        self._lanes: dict[int, LaneTally] = {}
        self._guessed: set[tuple[str, str]] = set()  # (type, tenant) with charged jobs of which none has ended
        self._over: list[tuple[Lane, float]] = []  # (lane, run time) of each ended job
        self._runs: dict[tuple[str, int], tuple[int, float]] = {}
        self._random = Random()
        self.waits = Waits()

    def started(self, lane: Lane, count: int, cost: float) -> None:
        """Record `count` claimed jobs, each charged `cost`."""
        tally = self._of(lane)
        tally.charged += count * cost
        tally.unearned += count * cost
        if count and self.estimates.is_guess(lane):
            self._guessed.add((lane.type, lane.tenant))

    def has_jobs(self, lane: Lane) -> bool:
        """Whether the worker had jobs of the lane at the last settlement, or claimed some since."""
        return lane.id in self._lanes

    def ended(self, runs: Sequence[tuple[Lane, float]]) -> None:
        """Record ended jobs as (lane, run time)."""
        if len(runs) < AT_ONCE:
            self._over += runs
        else:
            self._sort(runs)

    @property
    def knows_more(self) -> bool:
        """Whether jobs have ended since the last settlement while charges of some were guesses."""
        return bool(self._guessed) and (bool(self._over) or any(tally.count for tally in self._lanes.values()))

    def settle(self, running: Iterable[tuple[Lane, float]]) -> list[Usage]:
        """Return what to charge, given the claimed jobs and for how long each has run."""
        over, self._over = self._over, []
        self._sort(over)
        self.waits.sort()
        self._learn()
        due: dict[int, float] = {}
        earned: dict[int, float] = {}
        for lane, ran in running:
            key = self._of(lane).lane.id
            due[key] = due.get(key, 0.0) + max(ran, self.estimates.of(lane))
            earned[key] = earned.get(key, 0.0) + ran
        usages = [tally.settle(due.get(key, 0.0), earned.get(key, 0.0)) for key, tally in self._lanes.items()]
        self._lanes = {key: tally for key, tally in self._lanes.items() if key in due}
        return usages

    def take_runs(self) -> list[RunCount]:
        """Return the run times since the last call."""
        runs, self._runs = self._runs, {}
        return [RunCount(job_type, bucket, count, seconds) for (job_type, bucket), (count, seconds) in runs.items()]

    def _sort(self, ended: Sequence[tuple[Lane, float]]) -> None:
        """Add up run times by lane, and count them in buckets."""
        known: dict[int, list[Any]] = {}  # by object id, since jobs of many lanes alternate
        last, sums = None, list[Any]()
        for lane, ran in ended:
            if lane is not last:
                last, sums = lane, known.setdefault(id(lane), [lane, 0, 0.0])
            sums[1] += 1
            sums[2] += ran
        for lane, count, seconds in known.values():
            tally = self._of(lane)
            tally.count += count
            tally.seconds += seconds
        self._sort_lengths(known.values(), [run for run in ended if run[1] > SHORTEST])

    def _sort_lengths(self, lanes: Iterable[list[Any]], longer: Sequence[tuple[Lane, float]]) -> None:
        """Count run times in buckets: `longer` runs are sampled, all others are in the first bucket."""
        brief: dict[str, tuple[int, float]] = {}
        for lane, count, seconds in lanes:
            before = brief.get(lane.type, (0, 0.0))
            brief[lane.type] = (before[0] + count, before[1] + seconds)
        for lane, ran in longer:
            count, seconds = brief[lane.type]
            brief[lane.type] = (count - 1, seconds - ran)
        for job_type, (count, seconds) in brief.items():
            if count:
                self._count(job_type, BRIEF, count, max(0.0, seconds))
        for (lane, ran), stands_for in thinned(longer, SAMPLE, self._random):
            self._count(lane.type, bucket_of(ran), stands_for, ran * stands_for)

    def _count(self, job_type: str, bucket: int, count: int, seconds: float) -> None:
        counted, before = self._runs.get((job_type, bucket), (0, 0.0))
        self._runs[job_type, bucket] = (counted + count, before + seconds)

    def _learn(self) -> None:
        for tally in self._lanes.values():
            if tally.count:
                self.estimates.learn(tally.lane, tally.count, tally.seconds)
                self._guessed.discard((tally.lane.type, tally.lane.tenant))

    def _of(self, lane: Lane) -> LaneTally:
        tally = self._lanes.get(lane.id)
        if tally is None:
            tally = self._lanes[lane.id] = LaneTally(lane)
        return tally
