"""What a worker has used: jobs handed out, running and ended, turned into slot-seconds.

The end of a job only appends to a list; the rest is done for all of them from time to time. Where many end at once, as
quick ones do, it is done at once: later they would have to be fetched from memory again.

The rule for what a tenant should have been charged: for each job that has ended, the time it ran; for each that has
not, its estimate, or the time it has run if that is longer. `settle` finds the difference to what it was charged, so
an error in an estimate lasts as long as the job, and a job that outlives its estimate is charged as it goes on.
"""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from fairlead.core.fairness.estimates import Estimates
from fairlead.core.fairness.run_times import SHORTEST, RunCount, bucket_of, thinned
from fairlead.core.insight.wait_times import Waits
from fairlead.core.jobs.model import Lane

SAMPLE = 250  # runs of which the buckets are counted, each for as many others, where more have ended
AT_ONCE = 25  # runs that are many for one call
BRIEF = bucket_of(SHORTEST)


class Usage(NamedTuple):
    """What became of a lane's jobs since the last time, in slot-seconds."""

    lane: Lane
    charge: float  # to be charged now; less than nothing is given back
    unearned: float  # the change of what was charged for time that has not run yet
    delivered: float  # what ran


class LaneTally:
    """The account of one lane's jobs in this worker."""

    __slots__ = ("charged", "count", "earned", "lane", "seconds", "unearned")

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.charged = 0.0  # for the jobs that have not ended
        self.earned = 0.0  # the part of it that had run at the last settlement
        self.unearned = 0.0
        self.count = 0  # jobs that have ended since the last settlement
        self.seconds = 0.0  # how long they ran

    def settle(self, due: float, earned: float) -> Usage:
        """Compare with what is due for the jobs that have not ended, and with what of it has run."""
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
    """The accounts of all lanes that this worker has jobs of."""

    def __init__(self, estimates: Estimates | None = None) -> None:
        self.estimates = Estimates() if estimates is None else estimates
        self._lanes: dict[int, LaneTally] = {}
        self.guessed: set[str] = set()  # types of which jobs were charged, and none has been seen to end
        self._over: list[tuple[Lane, float]] = []  # the lane of each job that has ended, and how long it ran
        self._runs: dict[tuple[str, int], tuple[int, float]] = {}
        self._random = Random()
        self.waits = Waits()

    def started(self, lane: Lane, count: int, cost: float) -> None:
        """So many jobs were handed out, each charged the cost."""
        tally = self._of(lane)
        tally.charged += count * cost
        tally.unearned += count * cost
        if count and self.estimates.is_guess(lane.type):
            self.guessed.add(lane.type)

    def ended(self, runs: Sequence[tuple[Lane, float]]) -> None:
        """Jobs of these lanes have run so long."""
        if len(runs) < AT_ONCE:
            self._over += runs
        else:
            self._sort(runs)

    @property
    def knows_more(self) -> bool:
        """Whether jobs have ended of a type that was guessed at, since the last settlement."""
        return bool(self.guessed) and (bool(self._over) or any(tally.count for tally in self._lanes.values()))

    def settle(self, running: Iterable[tuple[Lane, float]]) -> list[Usage]:
        """What to charge, given the jobs in this worker's hands and for how long each has run."""
        over, self._over = self._over, []
        self._sort(over)
        self.waits.sort()
        self._learn()
        due: dict[int, float] = {}
        earned: dict[int, float] = {}
        for lane, ran in running:
            key = self._of(lane).lane.id
            due[key] = due.get(key, 0.0) + max(ran, self.estimates.of(lane.pool, lane.type))
            earned[key] = earned.get(key, 0.0) + ran
        usages = [tally.settle(due.get(key, 0.0), earned.get(key, 0.0)) for key, tally in self._lanes.items()]
        self._lanes = {key: tally for key, tally in self._lanes.items() if key in due}
        return usages

    def take_runs(self) -> list[RunCount]:
        """How long jobs ran, since the last time."""
        runs, self._runs = self._runs, {}
        return [RunCount(job_type, bucket, count, seconds) for (job_type, bucket), (count, seconds) in runs.items()]

    def _sort(self, ended: Sequence[tuple[Lane, float]]) -> None:
        """Add up what ran by lane, and count the buckets."""
        known: dict[int, list[Any]] = {}  # by the object: the jobs of many lanes come in turns
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
        """Count the buckets of runs. All but the longer ones are in the first; what is left of the sums is theirs."""
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
        ended: dict[str, tuple[int, float]] = {}
        for tally in self._lanes.values():
            if tally.count:
                count, seconds = ended.get(tally.lane.type, (0, 0.0))
                ended[tally.lane.type] = (count + tally.count, seconds + tally.seconds)
        for job_type, (count, seconds) in ended.items():
            self.estimates.learn(job_type, count, seconds)
            self.guessed.discard(job_type)

    def _of(self, lane: Lane) -> LaneTally:
        tally = self._lanes.get(lane.id)
        if tally is None:
            tally = self._lanes[lane.id] = LaneTally(lane)
        return tally
