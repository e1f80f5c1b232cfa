"""Is it a backlog, a broken dependency, or too few workers: the state of the system in one sentence.

The sentence names the worst of what was found; hints say what to do about each. Thresholds are those of a person who
looks at the page at night: a minute of waiting with free slots is odd, without any it is a lack of workers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from fairlead.core.durations import humanize

WINDOW = 900.0  # seconds of samples that the trends need
SLOW_FOR = 120.0  # seconds that a pool may be slower than it should before that is worth a word
DEEP_FOR = 300.0  # the same for a queue that is deeper than it should be
RECENT = 300.0  # the time in which deaths are counted, against those of the time before
FEW_DEATHS = 10
GROWTH = 2.0


class Sample(NamedTuple):
    """The system at one instant: by pool how many were ready and how long the first had waited; what had just died."""

    at: float
    ready: Mapping[str, int]
    oldest: Mapping[str, float]
    dead: int


def lasts(samples: Sequence[Sample], seconds: float, holds: Callable[[Sample], bool]) -> bool:
    """Whether something was so in all samples of the last seconds, and these reach back so far."""
    if not samples:
        return False
    begin = samples[-1].at - seconds
    return samples[0].at <= begin and all(holds(sample) for sample in samples if sample.at >= begin)


def is_slow(samples: Sequence[Sample], pool: str, wait: float | None) -> bool:
    """Whether jobs of a pool have waited for longer than they should, for a while."""
    return wait is not None and lasts(samples, SLOW_FOR, lambda sample: sample.oldest.get(pool, 0.0) > wait)


def is_deep(samples: Sequence[Sample], pool: str, depth: int | None) -> bool:
    """Whether more jobs of a pool were ready than should be, for a while."""
    return depth is not None and lasts(samples, DEEP_FOR, lambda sample: sample.ready.get(pool, 0) > depth)


def growing_deaths(samples: Sequence[Sample]) -> int:
    """How many jobs died lately, if that is many and at least twice the pace of the time before; else 0."""
    if not samples:
        return 0
    begin = samples[-1].at - RECENT
    lately = sum(sample.dead for sample in samples if sample.at > begin)
    before = sum(sample.dead for sample in samples if sample.at <= begin)
    usual = before * RECENT / (WINDOW - RECENT)
    return lately if lately >= FEW_DEATHS and lately >= GROWTH * usual else 0


LONG = 60.0  # seconds that a ready job may wait before it is worth a word
FULL = 0.9  # the share of slots in use from which a pool counts as full
FAILING = 0.5  # the share of runs that fail from which failures are the topic
FEW = 10  # runs below which shares mean nothing
BEHIND = 5.0  # seconds that a due job may wait to become ready
LATELY = 600.0  # seconds for which a lost worker is worth a word
MOST_TOPICS = 6
MOST_NAMES = 3

CLOSED_BEFORE = "What is said above may be why."
UNEXPLAINED = "The type may be unknown to the workers that run, or limited; the page of a job says why it waits."


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Topic(NamedTuple):
    """Where to look further: `workers`, `guards`, `pauses`, `tenants`, `failures`, `retrying`, or a `pool` by name."""

    kind: str
    name: str | None = None


WORKERS, GUARDS, PAUSES, FAILURES = (Topic(kind) for kind in ("workers", "guards", "pauses", "failures"))


class ClosedGate(NamedTuple):
    """Something that keeps jobs from starting, in words, where it can be ended, and the code of its alert."""

    words: str
    topic: Topic
    code: str = "CLOSED"
    about: str = ""


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """One pool as it matters for the verdict."""

    pool: str
    ready: int
    oldest: float | None
    workers: int
    slots: int
    running: int  # slots in use, which its workers may use for other pools too
    runs: int = 0  # jobs of this pool that run
    wait: float | None = None  # the longest that its jobs should wait
    depth: int | None = None  # how many of them should be ready at most


@dataclass(frozen=True, slots=True)
class SystemSnapshot:
    """All that the verdict is about. `ended` counts what ended lately by state, `lost` names workers that were lost.

    `overdue` is how long the longest due job has waited to become ready; `is_led` whether somebody sees to that.
    """

    pools: Sequence[PoolSnapshot]
    ended: dict[str, int]
    closed: Sequence[ClosedGate]
    samples: Sequence[Sample] = ()
    lost: Sequence[str] = ()
    overdue: float = 0.0
    is_led: bool = True


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that somebody should know of; code and `about` are for programs and stay the same while it lasts."""

    level: Level
    code: str
    sentence: str
    hint: str
    topics: tuple[Topic, ...]
    about: str = field(default="")


@dataclass(frozen=True, slots=True)
class Health:
    """The verdict, and the alerts that it was made of."""

    level: Level
    sentence: str
    hints: tuple[str, ...]
    topics: tuple[Topic, ...] = ()
    alerts: tuple[Alert, ...] = ()


def diagnose(look: SystemSnapshot) -> Health:
    """The worst first; what else was found follows as hints."""
    found = [
        *_closed(look.closed),
        *_pools(look),
        *_failures(look.ended),
        *_promotion(look),
        *_lost(look.lost),
        *_deaths(look.samples),
    ]
    found.sort(key=lambda item: item.level is not Level.PROBLEM)
    if not found:
        return Health(Level.OK, _all_well(look), ())
    first, others = found[0], found[1:]
    hints = (first.hint, *(f"{item.sentence} {item.hint}" for item in others))
    topics = dict.fromkeys(topic for item in found for topic in item.topics)
    return Health(first.level, first.sentence, hints, tuple(topics)[:MOST_TOPICS], tuple(found))


def _all_well(look: SystemSnapshot) -> str:
    runs, ready = sum(pool.runs for pool in look.pools), sum(pool.ready for pool in look.pools)
    if not any(pool.workers for pool in look.pools):
        return "All is well: nothing waits, and no worker runs."
    verb = "job runs" if runs == 1 else "jobs run"
    return f"All is well: {runs:,} {verb} and {ready:,} wait, none for long."


def _closed(reasons: Iterable[ClosedGate]) -> Iterable[Alert]:
    for reason in reasons:
        sentence = f"{reason.words[:1].upper()}{reason.words[1:]}."
        hint = "Its jobs wait until that ends."
        yield Alert(Level.WARNING, reason.code, sentence, hint, (reason.topic,), reason.about)


def _pools(look: SystemSnapshot) -> Iterable[Alert]:
    for pool in look.pools:
        if pool.ready and not pool.workers:
            yield Alert(
                Level.PROBLEM,
                "NO_WORKER",
                f"No worker serves the pool {pool.pool}, where {_wait(pool.ready)}.",
                f"Start one: fairlead worker APP --pool {pool.pool}.",
                (WORKERS, Topic("pool", pool.pool)),
                pool.pool,
            )
        elif pool.oldest is not None and pool.oldest > max(LONG, pool.wait or 0.0):
            yield _waiting(pool, pool.oldest, bool(look.closed))
        else:
            yield from _lasting(pool, look.samples)


def _lasting(pool: PoolSnapshot, samples: Sequence[Sample]) -> Iterable[Alert]:
    """What no single look shows: a pool that is slow or deep for minutes."""
    topics = (WORKERS, Topic("pool", pool.pool))
    hint = "Start more workers, or look which tenant or type fills the slots."
    if is_slow(samples, pool.pool, pool.wait):
        sentence = (
            f"Jobs of the pool {pool.pool} have waited longer than {humanize(pool.wait or 0.0)}, as is the aim, "
            f"for {humanize(SLOW_FOR)}."
        )
        yield Alert(Level.WARNING, "SLOW_POOL", sentence, hint, topics, pool.pool)
    if is_deep(samples, pool.pool, pool.depth):
        sentence = f"More than {pool.depth:,} jobs of the pool {pool.pool} have been ready for {humanize(DEEP_FOR)}."
        yield Alert(Level.WARNING, "DEEP_POOL", sentence, hint, topics, pool.pool)


def _waiting(pool: PoolSnapshot, oldest: float, is_explained: bool) -> Alert:
    waits = f"{_wait(pool.ready)} in the pool {pool.pool}, the first for {humanize(round(oldest))}"
    if pool.slots and pool.running >= FULL * pool.slots:
        return Alert(
            Level.PROBLEM,
            "TOO_FEW_WORKERS",
            f"Too few workers: {waits}, and {pool.running:,} of {pool.slots:,} slots are busy.",
            "Start more workers, or look which tenant or type fills the slots.",
            (WORKERS, Topic("tenants"), Topic("pool", pool.pool)),
            pool.pool,
        )
    return Alert(
        Level.WARNING,
        "BACKLOG",
        f"A backlog: {waits}, though slots are free.",
        CLOSED_BEFORE if is_explained else UNEXPLAINED,
        (Topic("pool", pool.pool), GUARDS),
        pool.pool,
    )


def _wait(jobs: int) -> str:
    return "1 job waits" if jobs == 1 else f"{jobs:,} jobs wait"


def _failures(ended: dict[str, int]) -> Iterable[Alert]:
    failed = ended.get("retrying", 0) + ended.get("dead", 0)
    runs = failed + ended.get("succeeded", 0)
    if runs >= FEW and failed >= FAILING * runs:
        yield Alert(
            Level.PROBLEM,
            "MOST_JOBS_FAIL",
            f"Most jobs fail: {failed:,} of the last {runs:,} runs.",
            "Look at the dead letters and at the errors of retrying jobs; a dependency may be down.",
            (FAILURES, Topic("retrying")),
        )


def _promotion(look: SystemSnapshot) -> Iterable[Alert]:
    if look.overdue < BEHIND:
        return
    waits = f"a due job has waited {humanize(round(look.overdue))} to become ready"
    if look.is_led:
        hint = "More is due than promote_rate and promote_tenant_rate allow: wait, or raise them."
        yield Alert(Level.WARNING, "PROMOTER_BEHIND", f"The promoter is behind: {waits}.", hint, (WORKERS,))
    else:
        hint = "Start a worker, or fairlead scheduler APP."
        sentence = f"No process leads the services: {waits}."
        yield Alert(Level.PROBLEM, "NO_LEADER", sentence, hint, (WORKERS,))


def _lost(names: Sequence[str]) -> Iterable[Alert]:
    if not names:
        return
    what = "1 worker was" if len(names) == 1 else f"{len(names):,} workers were"
    listed = ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
    yield Alert(
        Level.WARNING,
        "WORKER_LOST",
        f"{what} lost within {humanize(LATELY)}: {listed}.",
        "Their leases ended without a word: a crash, a kill, too little memory, or a network that was cut.",
        (WORKERS,),
    )


def _deaths(samples: Sequence[Sample]) -> Iterable[Alert]:
    died = growing_deaths(samples)
    if died:
        yield Alert(
            Level.WARNING,
            "DEAD_LETTERS_GROW",
            f"Dead letters grow: {died:,} jobs died within {humanize(RECENT)}.",
            "Look what they died of: fairlead dlq groups.",
            (FAILURES,),
        )
