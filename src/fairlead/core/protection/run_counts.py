"""Counts of good and bad runs, shared by all workers, for breakers, quarantine and retry budgets.

Runs are counted by subject: a dependency, a type or a tenant. Counts fall into time buckets of the database's clock,
and a reader gets the sum of the buckets in a span. Types and tenants are counted only after a recent failure, so a
system without failures writes nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.model import Ending, Outcome

BUCKETS = 10  # of a span; the oldest one counts entirely or not at all

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


def subject(scope: str, name: str) -> str:
    """Return the subject for a scope and a name."""
    return f"{scope}:{name}"


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
