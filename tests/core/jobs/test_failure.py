"""Classes of failures: what exceptions mean, and the policies that follow."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.failure import (
    CHANGEABLE,
    CRASH_LIMIT,
    KNOWN,
    FailureClass,
    Policies,
    classify,
    policies,
    policy_for,
)
from fairlead.core.jobs.retry import Retry
from fairlead.errors import ConfigError

DEPENDENCIES = [
    "httpx.ConnectError<httpx.NetworkError",
    "httpx.ReadTimeout<httpx.TimeoutException",
    "httpx.PoolTimeout<httpx.TimeoutException",
    "httpx.RemoteProtocolError<httpx.ProtocolError",
    "httpx2.ConnectError<httpx2.NetworkError",
    "httpx2.ReadTimeout<httpx2.TimeoutException",
    "requests.exceptions.ConnectionError",
    "requests.exceptions.ReadTimeout<requests.exceptions.Timeout",
    "requests.exceptions.ConnectTimeout<requests.exceptions.ConnectionError",
    "aiohttp.client_exceptions.ServerDisconnectedError<aiohttp.client_exceptions.ClientConnectionError",
    "aiohttp.client_exceptions.ServerTimeoutError<builtins.TimeoutError",
    "urllib3.exceptions.MaxRetryError<urllib3.exceptions.PoolError",
    "urllib3.exceptions.ReadTimeoutError<urllib3.exceptions.TimeoutError",
    "urllib3.exceptions.ProtocolError",
    "urllib.error.URLError<builtins.OSError",
    "builtins.ConnectionResetError<builtins.ConnectionError",
    "builtins.TimeoutError<builtins.OSError",
    "socket.gaierror<builtins.OSError",
    "builtins.OSError<errno.EHOSTUNREACH",
    "psycopg.OperationalError",
    "psycopg.InterfaceError",
    "psycopg.errors.SerializationFailure<psycopg.OperationalError",
    "redis.exceptions.ConnectionError",
    "redis.exceptions.TimeoutError",
    "redis.exceptions.BusyLoadingError<redis.exceptions.ConnectionError",
    "botocore.exceptions.EndpointConnectionError<botocore.exceptions.ConnectionError",
    "botocore.exceptions.ConnectTimeoutError",
    "botocore.exceptions.ReadTimeoutError",
    "fairlead.errors.StoreUnavailable",
]

STATUS_CARRIERS = [
    ["httpx.HTTPStatusError", "httpx.HTTPError"],
    ["requests.exceptions.HTTPError", "requests.exceptions.RequestException", "builtins.OSError"],
    ["aiohttp.client_exceptions.ClientResponseError", "aiohttp.client_exceptions.ClientError"],
    ["urllib.error.HTTPError", "urllib.error.URLError", "builtins.OSError"],
    ["botocore.exceptions.ClientError"],
    ["somebody.ApiError"],
]


@pytest.mark.parametrize("names", DEPENDENCIES)
def test_what_other_systems_cause_is_a_dependency_failure(names: str) -> None:
    assert classify([*names.split("<"), "builtins.Exception", "builtins.object"]) is FailureClass.DEPENDENCY


@pytest.mark.parametrize("names", STATUS_CARRIERS)
@pytest.mark.parametrize(
    ("statuses", "failure"),
    [
        ([408, 425, 429, 500, 502, 503, 504, 599], FailureClass.DEPENDENCY),
        ([403, 405, 410, 413, 414, 415, 422, 451], FailureClass.PERMANENT),
        ([None, 200, 302, 400, 401, 402, 404, 406, 407, 409, 412, 418, 600], FailureClass.APPLICATION),
    ],
)
def test_a_status_decides(names: list[str], statuses: list[int | None], failure: FailureClass) -> None:
    assert {classify([*names, "builtins.Exception"], status) for status in statuses} == {failure}


@pytest.mark.parametrize(
    ("names", "failure"),
    [
        (["builtins.PermissionError", "builtins.OSError"], FailureClass.PERMANENT),
        (["fairlead.errors.InvalidArguments", "fairlead.errors.PayloadError"], FailureClass.PERMANENT),
        (["builtins.MemoryError"], FailureClass.RESOURCE),
        (["builtins.ValueError"], FailureClass.APPLICATION),
        (["builtins.FileNotFoundError", "errno.ENOENT", "builtins.OSError"], FailureClass.APPLICATION),
        (["ssl.SSLCertVerificationError", "ssl.SSLError", "builtins.OSError"], FailureClass.APPLICATION),
        (["redis.exceptions.AuthenticationError", "redis.exceptions.ConnectionError"], FailureClass.APPLICATION),
        ([], FailureClass.APPLICATION),
    ],
)
def test_other_exceptions(names: list[str], failure: FailureClass) -> None:
    assert classify(names) is failure


def test_a_known_name_wins_over_a_status() -> None:
    assert classify(["builtins.PermissionError"], 503) is FailureClass.PERMANENT


def test_tables_of_users_win_in_their_order() -> None:
    names = ["shop.Busy", "builtins.ConnectionError", "builtins.OSError", "builtins.Exception"]
    own, shared = {"builtins.Exception": FailureClass.PERMANENT}, {"shop.Busy": FailureClass.RESOURCE}
    assert classify(names, 503, (own, shared)) is FailureClass.PERMANENT
    assert classify(names, 503, (shared, own)) is FailureClass.RESOURCE
    assert classify(names, 503, ({}, {})) is FailureClass.DEPENDENCY


@given(names=st.lists(st.sampled_from(sorted(KNOWN)) | st.text(max_size=20)), status=st.none() | st.integers())
def test_every_exception_has_a_class(names: list[str], status: int | None) -> None:
    assert classify(names, status) in FailureClass


def test_policies_follow_from_that_for_application_errors() -> None:
    made = Policies(Retry(attempts=7, max_age="1d"))
    assert made.of(FailureClass.APPLICATION) is made.application
    assert made.of(FailureClass.TIMEOUT).attempts == 3
    assert made.of(FailureClass.RESOURCE).attempts == 2
    assert made.of(FailureClass.POISON).attempts == 2
    assert made.of(FailureClass.PERMANENT).attempts == 1
    assert made.of(FailureClass.CRASH).attempts == CRASH_LIMIT
    dependency = made.of(FailureClass.DEPENDENCY)
    assert (dependency.attempts, dependency.kind, dependency.max_age) == (7, "exponential", 86400)


@given(attempts=st.integers(1, 1000), failure=st.sampled_from(FailureClass))
def test_no_class_is_tried_more_often_than_the_type_unless_its_worker_is_lost(
    attempts: int, failure: FailureClass
) -> None:
    allowed = policy_for(Retry(attempts=attempts), failure).attempts
    assert allowed <= (CRASH_LIMIT if failure is FailureClass.CRASH else attempts)


def test_a_type_that_says_how_long_to_wait_waits_so_for_dependencies_too() -> None:
    own = Retry.fixed("10s")
    assert policy_for(own, FailureClass.DEPENDENCY) == own
    assert policy_for(Retry(attempts=3), FailureClass.DEPENDENCY).kind == "exponential"


def test_a_declared_policy_is_used_as_it_is() -> None:
    declared = Retry.fixed("1h", attempts=50)
    made = policies(Retry(attempts=2), {"dependency": declared})
    assert made.of(FailureClass.DEPENDENCY) is declared
    assert made.but(Retry(attempts=1)).of(FailureClass.DEPENDENCY) is declared
    assert made.but(Retry(attempts=1)).of(FailureClass.TIMEOUT).attempts == 1


def test_a_policy_without_its_function_waits_as_the_type_does() -> None:
    made = Policies(Retry(5, backoff=lambda attempt: 7, max_age="1h"))
    changed = made.but(Retry(2, backoff="custom"))
    assert (changed.application.attempts, changed.application.backoff) == (2, made.application.backoff)


@pytest.mark.parametrize("name", sorted(set(FailureClass) - CHANGEABLE))
def test_some_policies_cannot_be_declared(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        policies(Retry(), {name: Retry()})


@pytest.mark.parametrize("declared", [{"weather": Retry()}, {"timeout": 3}])
def test_policies_that_are_none_are_refused(declared: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        policies(Retry(), declared)
