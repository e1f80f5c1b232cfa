"""Settlements of many successes, for tests of stores."""

from collections.abc import Iterable, Sequence
from random import Random

from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.model import Claim, Ending, Outcome, Settlement
from fairlead.core.jobs.settle import settle


def succeed(claims: Sequence[Claim], results: Iterable[str | None]) -> list[Settlement]:
    """The settlements of runs that succeeded, each with its result."""
    outcomes = (Outcome(Ending.SUCCEEDED, result) for result in results)
    return [settle(claim, outcome, Policies(), Random(0)) for claim, outcome in zip(claims, outcomes, strict=False)]
