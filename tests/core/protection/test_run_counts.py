"""Whom a failure is counted against."""

import pytest

from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.model import Ending, ErrorInfo, Outcome
from fairlead.core.protection.run_counts import blamed, breakers_of

NEEDS = ("stripe", "s3")
TYPE = ("type:charge",)
DEPENDENCIES = ("dependency:stripe", "dependency:s3")


@pytest.mark.parametrize(
    ("ending", "failure", "expected"),
    [
        (Ending.FAILED, FailureClass.DEPENDENCY, DEPENDENCIES),
        (Ending.FAILED, FailureClass.APPLICATION, TYPE),
        (Ending.FAILED, FailureClass.RESOURCE, TYPE),
        (Ending.TIMED_OUT, FailureClass.TIMEOUT, TYPE),
        (Ending.LOST, FailureClass.CRASH, TYPE),
        (Ending.FAILED, FailureClass.PERMANENT, ()),
        (Ending.SNOOZED, None, ()),
        (Ending.DISCARDED, None, ()),
        (Ending.RELEASED, None, ()),
        (Ending.CANCELLED, None, ()),
        (Ending.EXPIRED, None, ()),
    ],
)
def test_who_is_to_blame(ending: Ending, failure: FailureClass | None, expected: tuple[str, ...]) -> None:
    outcome = Outcome(ending, error=ErrorInfo("Error", "text", failure=failure))
    assert blamed(outcome, "charge", NEEDS) == expected


def test_without_declared_dependencies_the_type_is_to_blame() -> None:
    outcome = Outcome(Ending.FAILED, error=ErrorInfo("Error", "text", failure=FailureClass.DEPENDENCY))
    assert blamed(outcome, "charge") == TYPE


def test_a_run_goes_through_the_breakers_of_its_type_and_of_its_dependencies() -> None:
    assert breakers_of("charge", NEEDS) == (*TYPE, *DEPENDENCIES)
