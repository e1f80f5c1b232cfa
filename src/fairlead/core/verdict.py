"""Is it a backlog, a broken dependency, or too few workers: the state of the system in one sentence.

The sentence names the worst of what was found; hints say what to do about each. Thresholds are those of a person who
looks at the page at night: a minute of waiting with free slots is odd, without any it is a lack of workers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from fairlead.core.durations import words

LONG = 60.0  # seconds that a ready job may wait before it is worth a word
FULL = 0.9  # the share of slots in use from which a pool counts as full
FAILING = 0.5  # the share of runs that fail from which failures are the topic
FEW = 10  # runs below which shares mean nothing
MOST_TOPICS = 6

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


class Closed(NamedTuple):
    """Something that keeps jobs from starting, in words, where it can be ended, and the code of its alert."""

    words: str
    topic: Topic
    code: str = "CLOSED"


@dataclass(frozen=True, slots=True)
class PoolLook:
    """One pool as it matters for the verdict."""

    pool: str
    ready: int
    oldest: float | None
    workers: int
    slots: int
    running: int  # slots in use, which its workers may use for other pools too
    runs: int = 0  # jobs of this pool that run


@dataclass(frozen=True, slots=True)
class Look:
    """All that the verdict is about. `ended` counts what ended lately by state."""

    pools: Sequence[PoolLook]
    ended: dict[str, int]
    closed: Sequence[Closed]


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that somebody should know of; the code is for programs and stays the same."""

    level: Level
    code: str
    sentence: str
    hint: str
    topics: tuple[Topic, ...]


@dataclass(frozen=True, slots=True)
class Health:
    """The verdict, and the alerts that it was made of."""

    level: Level
    sentence: str
    hints: tuple[str, ...]
    topics: tuple[Topic, ...] = ()
    alerts: tuple[Alert, ...] = ()


def verdict(look: Look) -> Health:
    """The worst first; what else was found follows as hints."""
    found = [*_closed(look.closed), *_pools(look.pools, bool(look.closed)), *_failures(look.ended)]
    found.sort(key=lambda item: item.level is not Level.PROBLEM)
    if not found:
        return Health(Level.OK, _all_well(look), ())
    first, others = found[0], found[1:]
    hints = (first.hint, *(f"{item.sentence} {item.hint}" for item in others))
    topics = dict.fromkeys(topic for item in found for topic in item.topics)
    return Health(first.level, first.sentence, hints, tuple(topics)[:MOST_TOPICS], tuple(found))


def _all_well(look: Look) -> str:
    runs, ready = sum(pool.runs for pool in look.pools), sum(pool.ready for pool in look.pools)
    if not any(pool.workers for pool in look.pools):
        return "All is well: nothing waits, and no worker runs."
    verb = "job runs" if runs == 1 else "jobs run"
    return f"All is well: {runs:,} {verb} and {ready:,} wait, none for long."


def _closed(reasons: Iterable[Closed]) -> Iterable[Alert]:
    for reason in reasons:
        sentence = f"{reason.words[:1].upper()}{reason.words[1:]}."
        yield Alert(Level.WARNING, reason.code, sentence, "Its jobs wait until that ends.", (reason.topic,))


def _pools(pools: Iterable[PoolLook], is_explained: bool) -> Iterable[Alert]:
    for pool in pools:
        if pool.ready and not pool.workers:
            yield Alert(
                Level.PROBLEM,
                "NO_WORKER",
                f"No worker serves the pool {pool.pool}, where {_wait(pool.ready)}.",
                f"Start one: fairlead worker APP --pool {pool.pool}.",
                (WORKERS, Topic("pool", pool.pool)),
            )
        elif pool.oldest is not None and pool.oldest > LONG:
            yield _waiting(pool, pool.oldest, is_explained)


def _waiting(pool: PoolLook, oldest: float, is_explained: bool) -> Alert:
    waits = f"{_wait(pool.ready)} in the pool {pool.pool}, the first for {words(round(oldest))}"
    if pool.slots and pool.running >= FULL * pool.slots:
        return Alert(
            Level.PROBLEM,
            "TOO_FEW_WORKERS",
            f"Too few workers: {waits}, and {pool.running:,} of {pool.slots:,} slots are busy.",
            "Start more workers, or look which tenant or type fills the slots.",
            (WORKERS, Topic("tenants"), Topic("pool", pool.pool)),
        )
    return Alert(
        Level.WARNING,
        "BACKLOG",
        f"A backlog: {waits}, though slots are free.",
        CLOSED_BEFORE if is_explained else UNEXPLAINED,
        (Topic("pool", pool.pool), GUARDS),
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
