"""Admission: which bound counts for whom, and what becomes of what is not wanted."""

from collections.abc import Mapping
from copy import copy

import pytest

from fairlead.core.jobs.model import Enqueued, Lane, NewJob, Priority
from fairlead.core.jobs.states import State
from fairlead.core.protection.backpressure import (
    DEPTH,
    OVERLOAD,
    POLICY,
    SUBMISSION,
    USUAL_DEPTH,
    Action,
    Overload,
    Policy,
    checked_depth,
    is_unwanted,
    overload,
    put_off,
    refuse_by_depth,
    refuse_by_rate,
    rule_name,
    with_shed,
)
from fairlead.core.protection.controls import Control, Controls
from fairlead.core.protection.token_bucket import RateLimit
from fairlead.errors import ConfigError, TenantRateExceeded

LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)


def policy(*controls: tuple[str, str, Mapping[str, object]]) -> Policy:
    """The policy that these controls make."""
    known = Controls()
    known.follow(Control(*item, at + 1, 0.0) for at, item in enumerate(controls))
    return Policy(known)


def test_nothing_but_a_large_depth_is_bounded_unless_something_is_set() -> None:
    found = policy()
    assert (found.any, found.overload, found.depth("acme"), found.rate_limit("acme")) == (
        False,
        None,
        USUAL_DEPTH,
        None,
    )
    assert not is_unwanted(found, Priority.LOW, 10**9)


def test_the_narrowest_bound_counts() -> None:
    found = policy(
        (DEPTH, "tenant:*", {"waiting": 1}),
        (DEPTH, "tier:pro", {"waiting": 2}),
        (DEPTH, "tenant:acme", {"waiting": 3}),
        ("tenant", "acme", {"tier": "pro"}),
        ("tenant", "globex", {"tier": "pro"}),
    )
    assert [found.depth(tenant) for tenant in ("acme", "globex", "other")] == [3, 2, 1]


def test_a_tenant_that_nobody_set_up_has_the_tier_of_anyone() -> None:
    rate = (SUBMISSION, "tier:standard", {"rate": 5.0, "burst": 7.0})
    assert policy(rate).rate_limit("acme") == RateLimit(5.0, 7.0)
    assert policy(rate, ("tenant", "*", {"tier": "free"})).rate_limit("acme") is None


def test_a_refusal_says_how_many_wait_and_when_to_come_again() -> None:
    refused = refuse_by_depth("acme", 10, 7, 4)
    assert (refused.code, refused.retry_after, refused.quota) == ("TENANT_QUEUE_FULL", 5.0, 10)
    assert "has 7 waiting jobs and may have 10, so 4 more were refused" in str(refused)
    assert (str(copy(refused)), copy(refused).retry_after) == (str(refused), 5.0)


def test_a_batch_that_never_fits_is_told_so() -> None:
    refused = refuse_by_rate(RateLimit(10.0, 20.0), "acme", 21, 3.0)
    assert isinstance(refused, TenantRateExceeded)
    assert refused.code == "TENANT_RATE_LIMIT_EXCEEDED"
    assert "smaller batches" in str(refused)
    assert "smaller batches" not in str(refuse_by_rate(RateLimit(10.0, 20.0), "acme", 20, 3.0))


def test_only_priorities_below_are_unwanted_in_an_overload() -> None:
    found = policy((OVERLOAD, POLICY, Overload(100, Action.SHED, Priority.HIGH).to_value()))
    assert not is_unwanted(found, Priority.LOW, 99)
    unwanted = [priority for priority in Priority if is_unwanted(found, priority, 100)]
    assert unwanted == [Priority.DEFAULT, Priority.LOW]


def test_a_policy_is_the_same_after_it_was_stored() -> None:
    made = overload(100, "defer", "high", "5m")
    assert made == Overload(100, Action.DEFER, Priority.HIGH, 300.0)
    assert Overload.from_value(made.to_value()) == made


def test_what_is_put_off_runs_later_but_never_earlier() -> None:
    for delay, run_at, expected in [
        (0.0, None, (60.0, None)),
        (90.0, None, (90.0, None)),
        (0.0, 500.0, (60.0, 500.0)),
        (0.0, 10.0, (60.0, 160.0)),
    ]:
        job = NewJob("1", LANE, "{}", delay=delay, run_at=run_at)
        put_off(job, 60.0, 100.0)
        assert (job.delay, job.run_at) == expected
        assert (job.state, job.deferred) == (State.SCHEDULED, 60.0)


def test_shed_jobs_are_answered_in_their_place() -> None:
    jobs = [NewJob(name, LANE, "{}") for name in "abc"]
    answers = with_shed(jobs, jobs[1:2], [Enqueued("b", False)])
    assert answers == [Enqueued("a", False, True), Enqueued("b", False), Enqueued("c", False, True)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: checked_depth(-1),
        lambda: checked_depth(True),
        lambda: overload(1, "panic", "low", 1),
        lambda: overload(1, "shed", "lowest", 1),
        lambda: rule_name("pool", "short"),
        lambda: rule_name("tier", "*"),
    ],
)
def test_what_cannot_work_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ConfigError):
        make()
