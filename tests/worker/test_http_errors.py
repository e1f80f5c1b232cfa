"""What exceptions of HTTP libraries tell, by their shape alone."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from fairlead.worker.http_errors import LONGEST_RETRY_AFTER, retry_after_of, status_of


class Answer(Exception):
    """An exception with these attributes."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        self.__dict__.update(attributes)


class Hostile(Exception):
    """An exception that fails wherever it is looked at."""

    @property
    def response(self) -> Any:
        raise RuntimeError("not now")

    @property
    def status(self) -> Any:
        raise ValueError("never")


def amazon(code: str, status: int, **headers: str) -> Answer:
    metadata = {
        "HTTPStatusCode": status,
        "HTTPHeaders": {name.replace("_", "-"): value for name, value in headers.items()},
    }
    return Answer(response={"Error": {"Code": code}, "ResponseMetadata": metadata})


def response(status: int, after: str | None = None) -> Answer:
    return Answer(response=SimpleNamespace(status_code=status, headers={"retry-after": after} if after else {}))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (response(503), 503),
        (response(404), 404),
        (response(403, "30"), 429),
        (response(503, "30"), 503),
        (Answer(status=502, headers=None), 502),
        (Answer(code=504, headers={}), 504),
        (Answer(status_code=418, headers={}), 418),
        (Answer(code=403), None),
        (Answer(status=422), None),
        (Answer(response=SimpleNamespace(status=500)), 500),
        (amazon("ThrottlingException", 400), 429),
        (amazon("NoSuchKey", 404), 404),
        (amazon("InternalError", 500), 500),
        (Answer(response=None), None),
        (Answer(status="busy"), None),
        (Answer(code=1), None),
        (Answer(code="23505"), None),
        (ValueError("no"), None),
        (Hostile(), None),
    ],
)
def test_the_status(error: BaseException, status: int | None) -> None:
    assert status_of(error) == status


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("120", 120),
        (" 5 ", 5),
        ("0", None),
        ("-5", None),
        ("soon", None),
        ("1e9", None),
        ("99999999999", LONGEST_RETRY_AFTER),
        ("9" * 5000, LONGEST_RETRY_AFTER),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2099 07:28:00 GMT", LONGEST_RETRY_AFTER),
    ],
)
def test_the_wait_that_was_asked_for_is_bounded(text: str, wait: float | None) -> None:
    assert retry_after_of(response(429, text)) == wait


def test_a_date_is_a_wait_from_now() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(minutes=2), usegmt=True)
    assert 115 < (retry_after_of(response(503, date)) or 0) <= 120


@pytest.mark.parametrize(
    "error", [Answer(headers={"retry-after": "7"}), amazon("SlowDown", 503, retry_after="7"), response(429, "7")]
)
def test_every_shape_has_its_header(error: BaseException) -> None:
    assert retry_after_of(error) == 7


@pytest.mark.parametrize("error", [Hostile(), Answer(), Answer(headers=None), Answer(response={})])
def test_without_a_header_nothing_is_asked_for(error: BaseException) -> None:
    assert retry_after_of(error) is None
