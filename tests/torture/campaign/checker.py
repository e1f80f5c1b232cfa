"""Compares the journals with the store's history, and says each broken promise in a sentence."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from tests.torture.campaign.journal import Change, History, Run

FINAL = ("succeeded", "dead", "cancelled", "expired")
RUNNING, SUCCEEDED = "running", "succeeded"
ENDINGS_OF_RUNS = ("succeeded", "retrying", "dead")  # states that only the end of a run leads to


class Findings(NamedTuple):
    """What broke a promise, a sentence each, and how many further runs there were by recorded cause."""

    lost: list[str]
    doubled: list[str]
    unexplained: list[str]
    overlapping: list[str]
    late: list[str]
    causes: Counter[str]

    def broken(self) -> list[str]:
        """All sentences."""
        return [*self.lost, *self.doubled, *self.unexplained, *self.overlapping, *self.late]


def check(history: History, frozen: Collection[int] = ()) -> Findings:
    """Judge a campaign; runs of processes that were frozen may end beside a later one, since nobody can stop them."""
    moves = [finding for job, changes in history.changes.items() for finding in _follow(job, changes)]
    runs = list(_explain(history))
    return Findings(
        [*_lost(history)],
        [*_stored_twice(history), *(text for kind, text in moves if kind == "doubled")],
        [*_never_asked(history), *(text for explained, text in runs if not explained)],
        [*(text for kind, text in moves if kind == "overlapping"), *_side_by_side(history, frozen)],
        [*(text for kind, text in moves if kind == "late"), *_wrong_results(history)],
        Counter(text for explained, text in runs if explained),
    )


def _lost(history: History) -> Iterator[str]:
    """Accepted jobs that the store does not have, or that have not ended."""
    for number, job in history.accepted.items():
        changes = history.changes.get(job)
        if not changes:
            yield f"{job}: accepted as {number}, and the store does not know it"
        elif changes[-1].state not in FINAL:
            yield f"{job}: accepted as {number}, and still {changes[-1].state}"
        elif history.numbers.get(job) != number:
            yield f"{job}: accepted as {number}, and the store has {history.numbers.get(job)} under this id"


def _stored_twice(history: History) -> Iterator[str]:
    """Submissions that became two jobs."""
    ids = defaultdict(list)
    for job, number in history.numbers.items():
        ids[number].append(job)
    for number, jobs in ids.items():
        if len(jobs) > 1:
            yield f"{number}: stored {len(jobs)} times, as {', '.join(jobs)}"


def _never_asked(history: History) -> Iterator[str]:
    """Jobs that nobody submitted."""
    for job, number in history.numbers.items():
        if number not in history.asked:
            yield f"{job}: nobody has submitted {number}"


def _follow(job: str, changes: list[Change]) -> Iterator[tuple[str, str]]:
    """Walk through the changes of a job; each run is one claim and one end, and nothing follows a final state."""
    before = None
    for after in changes:
        if before is not None and before.state in FINAL:
            yield "doubled", f"{job}: {after.state} after it was {before.state}"
        elif after.state == RUNNING:
            yield from _claim(job, before, after)
        elif before is not None and after.fence != before.fence:
            yield "late", f"{job}: {after.state} with fence {after.fence}, while its fence was {before.fence}"
        elif before is not None and before.state != RUNNING and after.state in ENDINGS_OF_RUNS:
            yield "late", f"{job}: {after.state} with fence {after.fence}, while it was {before.state}"
        before = after


def _claim(job: str, before: Change | None, after: Change) -> Iterator[tuple[str, str]]:
    fence = 0 if before is None else before.fence
    if before is not None and before.state == RUNNING:
        yield "overlapping", f"{job}: claimed with fence {after.fence} under the lease of fence {fence}"
    elif after.fence != fence + 1:
        yield "overlapping", f"{job}: claimed with fence {after.fence} after fence {fence}"


def _explain(history: History) -> Iterator[tuple[bool, str]]:
    """The recorded cause of each run that was not its job's success, or what is wrong with a run."""
    claims = {
        (job, each.fence) for job, changes in history.changes.items() for each in changes if each.state == RUNNING
    }
    ends = {job: changes[-1] for job, changes in history.changes.items()}
    started = Counter((run.job, run.fence) for run in history.runs)
    for (job, fence), times in started.items():
        if times > 1:
            yield False, f"{job}: started {times} times under fence {fence}"
        if (job, fence) not in claims:
            yield False, f"{job}: ran under fence {fence}, which nobody claimed"
        elif ends[job] == Change(SUCCEEDED, fence):
            continue
        elif (job, fence) in history.endings:
            yield True, history.endings[job, fence]
        elif ends[job].state in FINAL:
            yield False, f"{job}: ran under fence {fence}, and no attempt says how that ended"


def _side_by_side(history: History, frozen: Collection[int]) -> Iterator[str]:
    """Runs that went on after a later run of the same job had started."""
    for job, several in _runs_by_job(history).items():
        for earlier, later in pairwise(several):
            if earlier.pid not in frozen and (earlier.end or earlier.start) > later.start:
                yield f"{job}: the run under fence {earlier.fence} went on beside that under fence {later.fence}"


def _wrong_results(history: History) -> Iterator[str]:
    """Handlers return their fence: a result of another run than the last one was accepted late."""
    for job, result in history.results.items():
        if result != (fence := history.changes[job][-1].fence):
            yield f"{job}: has the result of fence {result}, though it was claimed with fence {fence}"


class Hit(NamedTuple):
    """A fault as recovery is counted from it: from `since` on others can work; `pids` are those it hit, None is all."""

    begin: float
    since: float
    kind: str
    pids: frozenset[int] | None


class Recovery(NamedTuple):
    """How long a job that a fault cut off waited for its next run: from the fault, or from an outage's end."""

    kind: str
    seconds: float


def recoveries(history: History, hits: Iterable[Hit]) -> list[Recovery]:
    """One for each run that a fault cut off and that was followed by another."""
    ordered = sorted(hits, key=lambda hit: hit.begin)
    return [
        recovery
        for several in _runs_by_job(history).values()
        for earlier, later in pairwise(several)
        if history.endings.get((earlier.job, earlier.fence)) in ("lost", "released")
        and (recovery := _recovery(earlier, later, ordered)) is not None
    ]


def _recovery(earlier: Run, later: Run, hits: list[Hit]) -> Recovery | None:
    """Others could run the job after the first fault that hit its run, and after any outage that followed."""
    between = [hit for hit in hits if hit.since >= earlier.start and hit.begin <= later.start]
    first = next((hit for hit in between if hit.pids is None or earlier.pid in hit.pids), None)
    if first is None:
        return None
    last = max([first, *(hit for hit in between if hit.pids is None)], key=lambda hit: hit.since)
    return Recovery(last.kind, max(0.0, later.start - last.since))


def _runs_by_job(history: History) -> dict[str, list[Run]]:
    """The runs of each job in the order of their claims."""
    runs: dict[str, list[Run]] = defaultdict(list)
    for run in sorted(history.runs, key=lambda run: run.fence):
        runs[run.job].append(run)
    return runs
