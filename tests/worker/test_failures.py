"""What handlers raise, as outcomes."""

import smtplib
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


def library_error(module: str, name: str) -> type[Exception]:
    """An exception as a library has it, which need not be installed."""
    return type(name, (Exception,), {"__module__": module})


def raised_from(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        library_error("sqlalchemy.exc", "OperationalError")("server closed the connection"),
        library_error("django.db.utils", "OperationalError")("could not connect"),
        smtplib.SMTPServerDisconnected("Connection unexpectedly closed"),
        smtplib.SMTPResponseException(421, b"4.3.2 Service not available"),
        ExceptionGroup("several", [ConnectionRefusedError(), TimeoutError()]),
        ExceptionGroup("several", [ExceptionGroup("deeper", [ConnectionResetError()])]),
        raised_from(Busy("no answer"), ConnectionRefusedError()),
        raised_from(Busy("no answer"), raised_from(ValueError(), HTTPStatusError(503))),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_outage_of_what_a_handler_needs_is_a_dependency_failure(error: Exception) -> None:
    assert failure_of(error) is FailureClass.DEPENDENCY


@pytest.mark.parametrize(
    "error",
    [
        smtplib.SMTPResponseException(550, b"no such mailbox"),
        ExceptionGroup("several", [ConnectionRefusedError(), ValueError()]),
        raised_from(Busy("no"), ValueError()),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_is_not_all_an_outage_is_the_applications(error: Exception) -> None:
    assert failure_of(error) is FailureClass.APPLICATION


def test_a_users_word_on_an_error_goes_before_its_cause() -> None:
    assert failure_of(raised_from(Busy(), ConnectionError()), {Busy: "application"}) is FailureClass.APPLICATION


def test_causes_that_go_round_in_a_circle_come_to_an_end() -> None:
    first, second = Busy(), Busy()
    first.__cause__, second.__cause__ = second, first
    assert failure_of(first) is FailureClass.APPLICATION


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
