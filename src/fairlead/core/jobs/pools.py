"""Pools: classes of work by how long it runs, and which of them a type belongs to.

A type declares its pool. Where its measured run times say otherwise, its future jobs go to the pool that fits: when
more than 1 % of its runs in an hour, and at least 100, were longer than its pool allows, and the 95th percentile
belongs elsewhere. A move holds for an hour at least.

Nothing that runs is touched: a lease is renewed as long as its worker lives, so a job that outlives its pool's time is
neither stopped nor started a second time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fairlead.core.fairness.run_times import RunCount, longer_than, percentile
from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.retry import MAX_ATTEMPTS
from fairlead.core.names import check_name
from fairlead.core.protection.controls import Controls
from fairlead.core.stored import readable
from fairlead.errors import ConfigError

POOL = "pool"  # the kind of control that pools are
PLACE = "place"  # the kind of control that says which pool a type's future jobs go to
CHANGEABLE = ("longest", "concurrency", "estimate", "wait", "depth", "attempts", "timeout", "lease")
MOST_CONCURRENCY = 10_000
SHORTEST_LEASE, LONGEST_LEASE = 1.0, 3600.0
VIOLATING_PART = 0.01
VIOLATIONS = 100
STICKY = 3600.0
WINDOW = 3600.0


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool's settings. `longest` and the rest are seconds; None is no limit."""

    name: str
    longest: float | None = None  # what its jobs should run at most; what runs longer belongs elsewhere
    concurrency: int | None = None  # the slots of one worker that its jobs may take
    estimate: float = 10.0  # what a job is charged at first if its type never ran
    wait: float | None = None  # the longest that a job should wait
    depth: int | None = None  # how many jobs should be ready at most
    attempts: int | None = None  # how often a job is tried whose type declares no retry policy
    timeout: float | None = None  # after which a run is stopped whose type declares no timeout
    lease: float | None = None  # how long the jobs of a worker that has died wait at most; None is the setting
    shared_only: bool = False  # whether `concurrency` is for workers that serve other pools too

    def __post_init__(self) -> None:
        check_name("pool", self.name)
        if self.concurrency is not None and not 1 <= self.concurrency <= MOST_CONCURRENCY:
            raise ConfigError(f"a pool's concurrency must be between 1 and {MOST_CONCURRENCY}, not {self.concurrency}")
        if self.attempts is not None and not 1 <= self.attempts <= MAX_ATTEMPTS:
            raise ConfigError(f"a pool's attempts must be between 1 and {MAX_ATTEMPTS}, not {self.attempts}")
        if self.lease is not None and not SHORTEST_LEASE <= self.lease <= LONGEST_LEASE:
            raise ConfigError(
                f"a pool's lease must be between {SHORTEST_LEASE:g} and {LONGEST_LEASE:g} s, not {self.lease:g} s"
            )
        if self.depth is not None and self.depth < 0:
            raise ConfigError(f"a pool's depth must not be negative, as {self.depth} is")
        for name in ("longest", "estimate", "wait", "timeout"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e9:
                raise ConfigError(f"a pool's {name} must be a duration above nothing, not {value!r}")

    def room(self, alone: bool) -> int | None:
        """How many of its jobs a worker may have; `alone` is one that serves no other pool."""
        return None if alone and self.shared_only else self.concurrency

    def changed(self, value: Mapping[str, Any]) -> "Pool":
        """The pool with settings that were changed at run time."""
        known = {name: value[name] for name in CHANGEABLE if name in value}
        return replace(self, shared_only=self.shared_only and "concurrency" not in known, **known)


BUILT_IN = {
    pool.name: pool
    for pool in (
        Pool("short", longest=1.0, estimate=10.0, wait=0.5, attempts=5),
        Pool("medium", longest=60.0, concurrency=8, estimate=60.0, wait=5.0, attempts=3, shared_only=True),
        Pool("long", concurrency=2, estimate=600.0, wait=60.0, attempts=2, shared_only=True),
    )
}
BY_LENGTH = ("short", "medium", "long")


class Pools:
    """The pools as the controls have them; one that nobody has set up has no limits."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls

    def get(self, name: str) -> Pool:
        """The pool's settings."""
        control = self._controls.get(POOL, name)
        pool = BUILT_IN.get(name) or Pool(name)
        value = {} if control is None or control.value is None else control.value
        return readable(lambda: pool.changed(value), pool) if value else pool

    def all(self) -> list[Pool]:
        """The built-in pools, and those that were set up."""
        return [self.get(name) for name in dict.fromkeys([*BUILT_IN, *sorted(self._controls.of(POOL))])]

    def lease(self, names: Iterable[str], usual: float) -> float:
        """The lease of a worker that serves these pools: the shortest of theirs; those without one have the usual."""
        return min(usual if (own := self.get(name).lease) is None else own for name in names)

    def place(self, job_type: str, declared: str) -> str:
        """The pool that a type's jobs go to."""
        control = self._controls.get(PLACE, job_type)
        moved = control.value.get("pool") if control is not None and control.value else None
        return str(moved) if moved else declared


class Move(NamedTuple):
    """A type's future jobs go to another pool, and why."""

    type: str
    declared: str
    old: str
    new: str
    why: str


def classify(
    job_type: str, declared: str, place: str, moved_ago: float | None, counts: Sequence[RunCount], pools: Pools
) -> Move | None:
    """Whether the type's future jobs belong to another pool than `place`, where they go now.

    Only the pools short, medium and long stand for durations; a type of any other pool stays. What they are for is what
    is set for them.
    """
    if place not in BY_LENGTH or declared not in BY_LENGTH or (moved_ago is not None and moved_ago < STICKY):
        return None
    runs = {count.bucket: count.runs for count in counts}
    total = sum(runs.values())
    if total < VIOLATIONS:
        return None
    p95 = percentile(runs, 0.95)
    fitting = _fitting(p95, pools)
    rank = BY_LENGTH.index
    if rank(fitting) > rank(place):
        too_long = longer_than(runs, pools.get(place).longest or 0.0)
        if too_long < VIOLATIONS or too_long <= VIOLATING_PART * total:
            return None
        why = f"{too_long} of {total} runs in an hour were longer than {place} allows; 95 % take up to {p95:.3g} s"
        return Move(job_type, declared, place, fitting, why)
    back = max(fitting, declared, key=rank)
    if rank(back) < rank(place):
        why = f"95 % of {total} runs in an hour take up to {p95:.3g} s, which {back} allows"
        return Move(job_type, declared, place, back, why)
    return None


def _fitting(seconds: float, pools: Pools) -> str:
    """The first pool whose jobs may take so long; beyond all of them, the last."""
    for name in BY_LENGTH:
        longest = pools.get(name).longest
        if longest is None or seconds <= longest:
            return name
    return BY_LENGTH[-1]


class TypeTerms(NamedTuple):
    """After how many seconds a run is stopped, if ever, and how failures are retried."""

    timeout: float | None
    policies: Policies


def terms_in(pool: Pool, timeout: float | None, policies: Policies, usual_retry: bool) -> TypeTerms:
    """The terms of a type's jobs in a pool; with `usual_retry` the type declares no retry policy of its own."""
    timeout = pool.timeout if timeout is None else timeout
    if not usual_retry or pool.attempts is None:
        return TypeTerms(timeout, policies)
    return TypeTerms(timeout, policies.but(replace(policies.application, attempts=pool.attempts)))
