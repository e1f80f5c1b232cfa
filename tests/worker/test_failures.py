"""What handlers raise, as outcomes."""

from types import SimpleNamespace
from typing import Any

import pytest

import fairlead
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.model import Ending
from fairlead.core.jobs.retry import Retry
from fairlead.handlers.spec import HandlerSpec, class_table, declare
from fairlead.worker.failures import outcome_of


class Busy(Exception):
    """An error of the user's."""


class VeryBusy(Busy):
    """One that is a kind of another."""


class Unreadable(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class HTTPStatusError(Exception):
    """As a library has it, but for its module."""

    __module__ = "httpx"

    def __init__(self, status: int, **headers: str) -> None:
        self.response = SimpleNamespace(status_code=status, headers=headers)


def spec(*tables: dict[Any, str]) -> HandlerSpec:
    return declare(
        "mail", lambda: None, pool="short", version=1, timeout=None, retry=Retry(), retention=None, upgrade=None,
        classes=tuple(class_table(table) for table in tables),
    )  # fmt: skip


def failure_of(error: Exception, *tables: dict[Any, str]) -> FailureClass | None:
    outcome = outcome_of(error, spec(*tables))
    assert outcome.ending is Ending.FAILED
    assert outcome.error is not None
    return outcome.error.failure


def test_an_error_is_the_applications_unless_it_is_known() -> None:
    assert failure_of(ValueError("no")) is FailureClass.APPLICATION
    assert failure_of(ConnectionRefusedError()) is FailureClass.DEPENDENCY
    assert failure_of(OSError(113, "No route to host")) is FailureClass.DEPENDENCY
    assert failure_of(fairlead.InvalidArguments("no")) is FailureClass.PERMANENT


def test_users_say_what_their_errors_are() -> None:
    assert failure_of(VeryBusy(), {Busy: "dependency"}) is FailureClass.DEPENDENCY
    assert failure_of(VeryBusy(), {}, {f"{__name__}.Busy": "permanent"}) is FailureClass.PERMANENT
    assert failure_of(VeryBusy(), {Busy: "resource"}, {VeryBusy: "permanent"}) is FailureClass.RESOURCE


def test_the_wait_that_a_server_asks_for_comes_along() -> None:
    outcome = outcome_of(HTTPStatusError(429, **{"retry-after": "30"}), spec())
    assert outcome.error is not None
    assert (outcome.error.failure, outcome.error.retry_after) == (FailureClass.DEPENDENCY, 30)


@pytest.mark.parametrize(
    ("verdict", "ending", "failure", "retry_after"),
    [
        (fairlead.RetryLater(after="5m"), Ending.FAILED, FailureClass.APPLICATION, 300),
        (fairlead.RetryLater(2, reason="busy"), Ending.FAILED, FailureClass.APPLICATION, 2),
        (fairlead.Snooze("10m"), Ending.SNOOZED, None, 600),
        (fairlead.Snooze(for_=1), Ending.SNOOZED, None, 1),
        (fairlead.Discard("not needed"), Ending.DISCARDED, None, None),
        (fairlead.DeadLetter("hopeless"), Ending.FAILED, FailureClass.PERMANENT, None),
    ],
)
def test_verdicts(verdict: Exception, ending: Ending, failure: FailureClass | None, retry_after: float | None) -> None:
    outcome = outcome_of(verdict, spec({Exception: "resource"}))
    assert outcome.ending is ending
    assert outcome.error is not None
    assert (outcome.error.failure, outcome.error.retry_after) == (failure, retry_after)
    assert outcome.error.message == str(verdict)


@pytest.mark.parametrize("verdict", [fairlead.RetryLater("soon"), fairlead.Snooze(-1), fairlead.Snooze(float("nan"))])
def test_a_verdict_without_a_duration_is_a_failure(verdict: Exception) -> None:
    outcome = outcome_of(verdict, spec())
    assert outcome.ending is Ending.FAILED
    assert outcome.error is not None
    assert "duration" in outcome.error.message


def test_an_error_without_a_text_is_a_failure_all_the_same() -> None:
    outcome = outcome_of(Unreadable(), spec())
    assert outcome.error is not None
    assert outcome.error.type.endswith("Unreadable")


@pytest.mark.parametrize("table", [{Busy: "weather"}, {Busy(): "dependency"}, {int: "dependency"}])
def test_a_table_that_cannot_work_is_refused(table: dict[Any, str]) -> None:
    with pytest.raises(fairlead.ConfigError):
        class_table(table)
