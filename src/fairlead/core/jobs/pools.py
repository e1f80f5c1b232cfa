"""Pools: classes of jobs by run time, their settings, and moving a type to the pool that fits its run times.

A type declares its pool. Its future jobs move to another pool when more than 1 % of its runs in an hour, and at least
100, took longer than the pool allows and the 95th percentile fits the other pool. A move lasts for at least an hour.

Running jobs are not affected: their leases are renewed as long as the worker lives, so a job that runs longer than its
pool allows is neither stopped nor started a second time.
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

POOL = "pool"  # the kind of the controls with pool settings
PLACE = "place"  # the kind of the controls that move a type to another pool
CHANGEABLE = ("longest", "concurrency", "estimate", "wait", "depth", "attempts", "timeout", "lease")
MOST_CONCURRENCY = 10_000
SHORTEST_LEASE, LONGEST_LEASE = 1.0, 3600.0
VIOLATING_PART = 0.01
VIOLATIONS = 100
STICKY = 3600.0
WINDOW = 3600.0


@dataclass(frozen=True, slots=True)
class Pool:
    """The settings of a pool. Durations are seconds; None is no limit."""

    name: str
    longest: float | None = None  # the longest intended run time; types that run longer are moved
    concurrency: int | None = None  # slots of one worker that its jobs may occupy
    estimate: float = 10.0  # run time charged for a job whose type never ran
    wait: float | None = None  # the longest intended wait of a job
    depth: int | None = None  # the largest intended number of ready jobs
    attempts: int | None = None  # attempts of a job whose type declares no retry policy
    timeout: float | None = None  # timeout of a run whose type declares none
    lease: float | None = None  # lease of its workers, so the longest wait after a crash; None is the setting
    shared_only: bool = False  # `concurrency` applies only to workers that serve other pools too

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
        """Return how many jobs of the pool a worker may run; `alone` says that it serves no other pool."""
        return None if alone and self.shared_only else self.concurrency

    def changed(self, value: Mapping[str, Any]) -> "Pool":
        """Return the pool with the settings that were changed at run time."""
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
    """The pools with the settings from the controls; a pool without settings has no limits."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls

    def get(self, name: str) -> Pool:
        """Return the settings of a pool."""
        control = self._controls.get(POOL, name)
        pool = BUILT_IN.get(name) or Pool(name)
        value = {} if control is None or control.value is None else control.value
        return readable(lambda: pool.changed(value), pool) if value else pool

    def all(self) -> list[Pool]:
        """Return the built-in pools and the pools with settings."""
        return [self.get(name) for name in dict.fromkeys([*BUILT_IN, *sorted(self._controls.of(POOL))])]

    def lease(self, names: Iterable[str], usual: float) -> float:
        """Return the lease of a worker that serves these pools: the shortest; `usual` for pools without one."""
        return min(usual if (own := self.get(name).lease) is None else own for name in names)

    def place(self, job_type: str, declared: str) -> str:
        """Return the pool of a type's future jobs."""
        control = self._controls.get(PLACE, job_type)
        moved = control.value.get("pool") if control is not None and control.value else None
        return str(moved) if moved else declared


class Move(NamedTuple):
    """A move of a type's future jobs to another pool, and the reason."""

    type: str
    declared: str
    old: str
    new: str
    why: str


def classify(
    job_type: str, declared: str, place: str, moved_ago: float | None, counts: Sequence[RunCount], pools: Pools
) -> Move | None:
    """Return the move to the pool that fits the type's run times, or None if its jobs stay in `place`.

    Only the pools short, medium and long stand for durations, bounded by their settings; types of other pools stay.
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
    """Return the first pool that allows this run time, or the last pool."""
    for name in BY_LENGTH:
        longest = pools.get(name).longest
        if longest is None or seconds <= longest:
            return name
    return BY_LENGTH[-1]


class TypeTerms(NamedTuple):
    """The timeout of a run in seconds, or None, and the retry policies."""

    timeout: float | None
    policies: Policies


def terms_in(pool: Pool, timeout: float | None, policies: Policies, usual_retry: bool) -> TypeTerms:
    """Return the terms of a type's jobs in a pool; `usual_retry` says that the type declares no retry policy."""
    timeout = pool.timeout if timeout is None else timeout
    if not usual_retry or pool.attempts is None:
        return TypeTerms(timeout, policies)
    return TypeTerms(timeout, policies.but(replace(policies.application, attempts=pool.attempts)))
