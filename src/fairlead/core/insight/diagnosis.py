"""Diagnosis of the system: alerts (backlog, failing jobs, too few workers ...) and the worst of them in one sentence.

Each alert has a hint what to do. The thresholds suit an operator on call: a minute of waiting is a warning with free
slots, and a lack of workers without.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from fairlead.core.durations import humanize

WINDOW = 900.0  # seconds of samples for trends
SLOW_FOR = 120.0  # seconds that a pool may exceed its intended wait before an alert
DEEP_FOR = 300.0  # seconds that a pool may exceed its intended depth before an alert
RECENT = 300.0  # seconds; deaths in them are compared with the time before
FEW_DEATHS = 10
GROWTH = 2.0


class Sample(NamedTuple):
    """The system at one instant: by pool the ready jobs and the wait of the oldest; the jobs that had just died."""

    at: float
    ready: Mapping[str, int]
    oldest: Mapping[str, float]
    dead: int


def lasts(samples: Sequence[Sample], seconds: float, holds: Callable[[Sample], bool]) -> bool:
    """Whether `holds` is true of all samples of the last seconds, and samples reach back so far."""
    if not samples:
        return False
    begin = samples[-1].at - seconds
    return samples[0].at <= begin and all(holds(sample) for sample in samples if sample.at >= begin)


def is_slow(samples: Sequence[Sample], pool: str, wait: float | None) -> bool:
    """Whether jobs of a pool have exceeded the intended wait for SLOW_FOR seconds."""
    return wait is not None and lasts(samples, SLOW_FOR, lambda sample: sample.oldest.get(pool, 0.0) > wait)


def is_deep(samples: Sequence[Sample], pool: str, depth: int | None) -> bool:
    """Whether a pool has exceeded its intended depth for DEEP_FOR seconds."""
    return depth is not None and lasts(samples, DEEP_FOR, lambda sample: sample.ready.get(pool, 0) > depth)


def growing_deaths(samples: Sequence[Sample]) -> int:
    """Return how many jobs died lately if they are many and at least twice the rate before, else 0."""
    if not samples:
        return 0
    begin = samples[-1].at - RECENT
    lately = sum(sample.dead for sample in samples if sample.at > begin)
    before = sum(sample.dead for sample in samples if sample.at <= begin)
    usual = before * RECENT / (WINDOW - RECENT)
    return lately if lately >= FEW_DEATHS and lately >= GROWTH * usual else 0


LONG = 60.0  # seconds that a ready job may wait before an alert
FULL = 0.9  # the share of slots in use from which a pool counts as full
FAILING = 0.5  # the share of failing runs that makes an alert
FEW = 10  # runs below which shares mean nothing
BEHIND = 5.0  # seconds that a due job may wait for promotion before an alert
LATELY = 600.0  # seconds for which a lost worker makes an alert
MOST_TOPICS = 6
MOST_NAMES = 3
MOST_ALIKE = 5  # alerts of one code that are listed one by one; the rest becomes one alert

CLOSED_BEFORE = "What is said above may be why."
UNEXPLAINED = "The type may be unknown to the workers that run, or limited; the page of a job says why it waits."


class Level(StrEnum):
    """The severity."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Topic(NamedTuple):
    """A link to details: `workers`, `guards`, `pauses`, `tenants`, `failures`, `retrying`, or a `pool` by name."""

    kind: str
    name: str | None = None


WORKERS, GUARDS, PAUSES, FAILURES = (Topic(kind) for kind in ("workers", "guards", "pauses", "failures"))


class ClosedGate(NamedTuple):
    """A pause, breaker or quarantine that keeps jobs from starting: in words, with link and alert code."""

    words: str
    topic: Topic
    code: str = "CLOSED"
    about: str = ""


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """The figures of one pool for the diagnosis."""

    pool: str
    ready: int
    oldest: float | None
    workers: int
    slots: int
    running: int  # slots in use by its workers, also for other pools
    runs: int = 0  # running jobs of this pool
    wait: float | None = None  # the intended longest wait
    depth: int | None = None  # the intended depth


@dataclass(frozen=True, slots=True)
class SystemSnapshot:
    """The facts for the diagnosis. `ended` counts recent ends by state, `lost` names lost workers.

    `overdue` is how long the oldest due job has waited for promotion; `is_led` whether there is a leader.
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
    """An alert; `code` and `about` identify it for programs and stay the same while it lasts."""

    level: Level
    code: str
    sentence: str
    hint: str
    topics: tuple[Topic, ...]
    about: str = field(default="")


@dataclass(frozen=True, slots=True)
class Health:
    """The diagnosis: severity, sentence and hints, and the alerts behind them."""

    level: Level
    sentence: str
    hints: tuple[str, ...]
    topics: tuple[Topic, ...] = ()
    alerts: tuple[Alert, ...] = ()


def diagnose(snapshot: SystemSnapshot) -> Health:
    """Return the diagnosis: the worst alert as the sentence, the others as hints."""
    found = [
        *_closed(snapshot.closed),
        *_pools(snapshot),
        *_failures(snapshot.ended),
        *_promotion(snapshot),
        *_lost(snapshot.lost),
        *_deaths(snapshot.samples),
    ]
    found = _grouped(sorted(found, key=lambda item: item.level is not Level.PROBLEM))
    if not found:
        return Health(Level.OK, _all_well(snapshot), ())
    first, others = found[0], found[1:]
    hints = (first.hint, *(f"{item.sentence} {item.hint}" for item in others))
    topics = dict.fromkeys(topic for item in found for topic in item.topics)
    return Health(first.level, first.sentence, hints, tuple(topics)[:MOST_TOPICS], tuple(found))


def _grouped(alerts: Sequence[Alert]) -> list[Alert]:
    """Return the first alerts of each code, and one alert for the rest, so that no code floods the list."""
    found: list[Alert] = []
    by_code: dict[str, list[Alert]] = {}
    for alert in alerts:
        same_code = by_code.setdefault(alert.code, [])
        same_code.append(alert)
        if len(same_code) <= MOST_ALIKE:
            found.append(alert)
    for code, same_code in by_code.items():
        if len(same_code) > MOST_ALIKE:
            rest = same_code[MOST_ALIKE:]
            names = ", ".join(alert.about for alert in rest[:MOST_NAMES])
            sentence = f"And {len(rest):,} more like it ({code}): {names}{', …' if len(rest) > MOST_NAMES else '.'}"
            place = max(index for index, alert in enumerate(found) if alert.code == code) + 1
            found.insert(place, Alert(rest[0].level, code, sentence, rest[0].hint, rest[0].topics[:1]))
    return found


def _all_well(snapshot: SystemSnapshot) -> str:
    runs, ready = sum(pool.runs for pool in snapshot.pools), sum(pool.ready for pool in snapshot.pools)
    if not any(pool.workers for pool in snapshot.pools):
        return "All is well: nothing waits, and no worker runs."
    verb = "job runs" if runs == 1 else "jobs run"
    return f"All is well: {runs:,} {verb} and {ready:,} wait, none for long."


def _closed(reasons: Iterable[ClosedGate]) -> Iterable[Alert]:
    for reason in reasons:
        sentence = f"{reason.words[:1].upper()}{reason.words[1:]}."
        hint = "Its jobs wait until that ends."
        yield Alert(Level.WARNING, reason.code, sentence, hint, (reason.topic,), reason.about)


def _pools(snapshot: SystemSnapshot) -> Iterable[Alert]:
    for pool in snapshot.pools:
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
            yield _waiting(pool, pool.oldest, bool(snapshot.closed))
        else:
            yield from _lasting(pool, snapshot.samples)


def _lasting(pool: PoolSnapshot, samples: Sequence[Sample]) -> Iterable[Alert]:
    """Yield alerts about pools that have been slow or deep for minutes."""
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


def _promotion(snapshot: SystemSnapshot) -> Iterable[Alert]:
    if snapshot.overdue < BEHIND:
        return
    waits = f"a due job has waited {humanize(round(snapshot.overdue))} to become ready"
    if snapshot.is_led:
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
            "Look what they died of: fairlead jobs groups.",
            (FAILURES,),
        )
