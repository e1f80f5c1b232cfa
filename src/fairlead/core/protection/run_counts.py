"""Counts of how runs ended, from which all workers decide upon the same figures.

Runs are counted under a subject: a dependency, a type, a tenant. A count falls into a bucket of time by the store's
clock; a reader gets the sum of the buckets within the subject's span. Types and tenants are counted only while they are
troubled, that is, while they had a failure within their span: a system in which nothing fails writes nothing.

A troubled type or dependency is also counted by tenant, so that the failures of one tenant can be told from those of
many: under `type:send_email~acme` for each tenant that fails, up to a bound, and under `type:send_email#7` for each of
16 groups, into which tenants fall by a hash. The groups are a vote of the tenants that takes the same room for three
tenants and for a million: each counts for a bounded number of runs, however many its tenants had.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from zlib import crc32

from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.model import Ending, Outcome

BUCKETS = 10  # of a span; the oldest counts in whole or not at all
GROUPS = 16  # of tenants
SEVERAL = 3  # groups whose runs must have failed before a failure is everybody's
MOST_TENANTS = 100  # of a type or dependency that are counted one by one
_GROUP, _TENANT = "#", "~"  # no name contains these

DEPENDENCY = "dependency"
TYPE = "type"
QUARANTINE = "quarantine"
TENANT = "tenant"

# Failures that count against neither the dependency nor the type.
NOBODYS_FAULT = frozenset({FailureClass.PERMANENT, None})


class Count(NamedTuple):
    """Runs to add to a subject; they count `ahead` seconds after now."""

    subject: str
    good: int
    bad: int
    span: float
    ahead: float = 0.0


class Sums(NamedTuple):
    """The runs of a subject in its span, and for how long they have been counted."""

    good: int = 0
    bad: int = 0
    counted_for: float = 0.0

    @property
    def total(self) -> int:
        """All runs."""
        return self.good + self.bad


class Counted(NamedTuple):
    """The sums by subject, at the database's now."""

    sums: dict[str, Sums]
    now: float

    def of(self, name: str) -> Sums:
        """The sums of a subject; nothing where it has none."""
        return self.sums.get(name, Sums())

    def groups(self, name: str) -> list[Sums]:
        """The sums of a subject by group of tenants."""
        return [self.sums[group] for group in groups_of(name) if group in self.sums]

    def tenants(self, name: str) -> dict[str, Sums]:
        """The sums of a subject by tenant, as far as tenants are counted one by one; keys are full names."""
        return {key: sums for key, sums in self.sums.items() if key.startswith(f"{name}{_TENANT}")}


def subject(scope: str, name: str) -> str:
    """Return the subject for a scope and a name."""
    return f"{scope}:{name}"


def of_tenant(name: str, tenant: str) -> str:
    """The subject (and breaker) of one tenant's runs within another subject."""
    return f"{name}{_TENANT}{tenant}"


def of_group(name: str, tenant: str) -> str:
    """The subject of the runs of the tenant's group within another subject."""
    return f"{name}{_GROUP}{crc32(tenant.encode()) % GROUPS}"


def groups_of(name: str) -> list[str]:
    """The subjects of all groups of tenants within another subject."""
    return [f"{name}{_GROUP}{group}" for group in range(GROUPS)]


def base_of(name: str) -> str:
    """The type or dependency that a subject of a tenant or group is a part of."""
    return name.partition(_TENANT)[0].partition(_GROUP)[0]


def tenant_of(name: str) -> str | None:
    """The tenant of a subject; None where it is not one tenant's."""
    return name.partition(_TENANT)[2] or None


def weighed(groups: Iterable[Sums], most: float) -> tuple[float, float]:
    """The good and the bad runs of all groups, where none counts for more than `most` runs."""
    good = bad = 0.0
    for sums in groups:
        weight = min(1.0, most / sums.total) if sums.total else 0.0
        good, bad = good + weight * sums.good, bad + weight * sums.bad
    return good, bad


def breakers_of(type_: str, needs: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the breakers of a type: its own, and one for each dependency."""
    return (subject(TYPE, type_), *(subject(DEPENDENCY, name) for name in needs))


def blamed(outcome: Outcome, type_: str, needs: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the breakers that a failed run counts against: the dependencies' or the type's."""
    if outcome.ending is Ending.TIMED_OUT or outcome.ending is Ending.LOST:
        return (subject(TYPE, type_),)
    failure = outcome.error.failure if outcome.error else FailureClass.APPLICATION
    if outcome.ending is not Ending.FAILED or failure in NOBODYS_FAULT:
        return ()
    if failure is FailureClass.DEPENDENCY and needs:
        return tuple(subject(DEPENDENCY, name) for name in needs)
    return (subject(TYPE, type_),)
