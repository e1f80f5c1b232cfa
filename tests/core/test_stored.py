"""What a newer version has written."""

from typing import Any

import pytest

from fairlead.core.fairness.tenancy import TENANT, Tenant, Tenants
from fairlead.core.jobs.pools import BUILT_IN, POOL, Pools
from fairlead.core.jobs.retry import Retry
from fairlead.core.protection.backpressure import (
    DEPTH,
    OVERLOAD,
    POLICY,
    SUBMISSION,
    USUAL_DEPTH,
    Action,
    Overload,
    Policy,
)
from fairlead.core.protection.breaker import BREAKER, Breaker, BreakerState, Phase, breaker_state, is_shut, opened
from fairlead.core.protection.controls import Control, Controls
from fairlead.core.protection.limits import LIMIT, Bound, Rules
from fairlead.core.protection.quarantine import Quarantine
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.core.schedule.schedules import Overlap
from fairlead.core.stored import known_member, known_members, restored
from fairlead.core.web.api_keys import Grant


@pytest.mark.parametrize("policy", [Retry(attempts=7), RetryBudget(floor=7), Breaker(minimum=7), Quarantine()])
def test_a_policy_comes_back_also_with_fields_of_a_newer_version(policy: Any) -> None:
    assert restored(type(policy), policy.stored()) == policy
    assert restored(type(policy), {**policy.stored(), "from_the_future": 1}) == policy


def test_a_value_that_is_not_known_gives_the_usual_policy() -> None:
    assert restored(Retry, {"attempts": 7, "backoff": "fibonacci"}) == Retry()
    assert restored(RetryBudget, {"floor": None}) == RetryBudget()


def control(kind: str, name: str, value: dict[str, Any]) -> Controls:
    """What a worker has read of one control."""
    controls = Controls()
    controls.follow([Control(kind, name, value, 1, 0.0)])
    return controls


def test_a_breaker_of_a_newer_version_is_read() -> None:
    breaker = opened(Breaker(minimum=7), "7 of 8 runs failed", 100.0)
    newer = breaker.value() | {"zone": "eu", "policy": {**Breaker(minimum=7).stored(), "slope": 3}}
    assert breaker_state(control(BREAKER, "type:mail", newer).get(BREAKER, "type:mail")) == breaker


def test_of_a_breaker_that_older_versions_wrote_what_is_missing_has_defaults() -> None:
    found = breaker_state(control(BREAKER, "type:mail", {"phase": "ramping"}).get(BREAKER, "type:mail"))
    assert found == BreakerState(Phase.RAMPING)
    assert found.policy == Breaker()


def test_nothing_starts_in_a_phase_that_is_not_known() -> None:
    newer = opened(Breaker(), "it failed", 100.0).value() | {"phase": "trickling", "until": 101.0}
    found = breaker_state(control(BREAKER, "type:mail", newer).get(BREAKER, "type:mail"))
    assert found
    assert is_shut(found, 1e9)
    assert found.why == "it failed"


@pytest.mark.parametrize(
    ("value", "tenant"),
    [
        ({"tier": "pro", "weight": 5.0, "lane": "fast"}, Tenant("acme", "pro", 5.0)),
        ({"tier": "platinum"}, Tenant("acme")),
        ({}, Tenant("acme")),
    ],
)
def test_a_tenant_of_a_newer_version_is_read(value: dict[str, Any], tenant: Tenant) -> None:
    assert Tenants(control(TENANT, "acme", value)).get("acme") == tenant


def test_a_pool_of_a_newer_version_is_read() -> None:
    assert Pools(control(POOL, "short", {"attempts": 9, "checkpoints": 5})).get("short").attempts == 9
    assert Pools(control(POOL, "short", {"attempts": "many"})).get("short") == BUILT_IN["short"]


def test_a_limit_of_a_newer_version_is_read() -> None:
    for value, expected in (
        ({"concurrent": 3, "weight": 5}, Bound(3)),
        ({"concurrent": "few"}, Bound()),
    ):
        assert Rules({}, {}, control(LIMIT, "tenant:acme", value)).bound("tenant:acme") == expected


def test_bounds_on_submissions_of_a_newer_version_are_read() -> None:
    assert Policy(control(DEPTH, "tenant:acme", {"waiting": 5, "unit": "bytes"})).depth("acme") == 5
    assert Policy(control(DEPTH, "tenant:acme", {"bytes": 5})).depth("acme") == USUAL_DEPTH
    assert Policy(control(SUBMISSION, "tenant:acme", {"curve": "s"})).rate_limit("acme") is None
    given = {"waiting": 5, "action": "delegate", "below": "default", "delay": 60.0, "to": "eu"}
    assert Policy(control(OVERLOAD, POLICY, given)).overload == Overload(5)
    assert Policy(control(OVERLOAD, POLICY, {"waiting": 5, "action": "defer"})).overload == Overload(5, Action.DEFER)


def test_of_words_that_a_newer_version_wrote_those_that_are_known_are_read() -> None:
    assert known_members(Grant, ["read", "teleport"]) == (Grant.READ,)
    assert known_member(Overlap, "replace", Overlap.ALLOW) is Overlap.ALLOW
    assert known_member(Overlap, "skip", Overlap.ALLOW) is Overlap.SKIP
