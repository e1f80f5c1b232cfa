"""Whom a failure is counted against."""

import pytest

from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.model import Ending, ErrorInfo, Outcome
from fairlead.core.protection.run_counts import (
    GROUPS,
    base_of,
    blamed,
    breakers_of,
    groups_of,
    of_group,
    of_tenant,
    tenant_of,
)

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


def test_a_subject_has_a_part_for_each_tenant_and_a_bounded_number_for_groups_of_tenants() -> None:
    name = "type:send@mail:v1/x"
    tenants = [f"tenant-{at}" for at in range(10_000)] + ["ada@example.com", "a:b/c"]
    for tenant in tenants:
        assert (base_of(of_tenant(name, tenant)), tenant_of(of_tenant(name, tenant))) == (name, tenant)
    groups = {of_group(name, tenant) for tenant in tenants}
    assert groups == set(groups_of(name))
    assert len(groups) == GROUPS
    assert {(base_of(group), tenant_of(group)) for group in groups} == {(name, None)}
    assert (base_of(name), tenant_of(name)) == (name, None)
