"""What is counted about runs, so that all workers decide upon the same figures.

Runs are counted under a subject: a dependency, a type, a tenant. A count falls into a bucket of time by the store's
clock, and what is asked back is the sum of the buckets of a span. Of types and tenants only the troubled ones are
counted, those that had a failure lately: so a system in which nothing fails writes nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.model import Ending, Outcome

BUCKETS = 10  # of a span; the oldest counts in whole or not at all

DEPENDENCY = "dependency"
TYPE = "type"
QUARANTINE = "quarantine"
TENANT = "tenant"

# Trying again cannot help, or nothing has failed: neither the dependency nor the type is to blame.
NOBODYS_FAULT = frozenset({FailureClass.PERMANENT, None})


class Count(NamedTuple):
    """Runs to add to a subject: good ones, bad ones, and how far ahead of now they count."""

    subject: str
    good: int
    bad: int
    span: float
    ahead: float = 0.0


class Sums(NamedTuple):
    """What a subject has in its span, and for how long it has been counted within that."""

    good: int = 0
    bad: int = 0
    counted_for: float = 0.0

    @property
    def total(self) -> int:
        """All runs."""
        return self.good + self.bad


class Counted(NamedTuple):
    """The sums of the subjects that were added to, by an instant of the store's clock."""

    sums: dict[str, Sums]
    now: float


def subject(scope: str, name: str) -> str:
    """What runs are counted under."""
    return f"{scope}:{name}"


def breakers_of(type_: str, needs: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of all breakers that a type's runs go through: its own, and those of its dependencies."""
    return (subject(TYPE, type_), *(subject(DEPENDENCY, name) for name in needs))


def blamed(outcome: Outcome, type_: str, needs: Sequence[str] = ()) -> tuple[str, ...]:
    """The breakers that a failed run counts against: those of the dependencies, or that of the type."""
    if outcome.ending is Ending.TIMED_OUT or outcome.ending is Ending.LOST:
        return (subject(TYPE, type_),)
    failure = outcome.error.failure if outcome.error else FailureClass.APPLICATION
    if outcome.ending is not Ending.FAILED or failure in NOBODYS_FAULT:
        return ()
    if failure is FailureClass.DEPENDENCY and needs:
        return tuple(subject(DEPENDENCY, name) for name in needs)
    return (subject(TYPE, type_),)
