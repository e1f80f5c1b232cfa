"""What an exception tells about the answer of another system: its HTTP status, and when to come again.

The libraries are known by the shape of their exceptions, never imported. What is in an exception comes from outside,
so nothing that is found or fails here may disturb the failure that is being described.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

LONGEST_RETRY_AFTER = 86_400.0
TOO_MANY_REQUESTS = 429
# Amazon's services answer most of these with status 400.
THROTTLING_CODES = frozenset(
    {
        "BandwidthLimitExceeded",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)

Found = TypeVar("Found")


def status_of(error: BaseException) -> int | None:
    """The HTTP status that it is about; a refusal that says when to come again is 429, whatever its number."""
    status = _first(error, _is_status, _amazon_status, _response_status, _mail_status, _own_status)
    if status is not None and 400 <= status < 500 and retry_after_of(error) is not None:
        return TOO_MANY_REQUESTS
    return status


def retry_after_of(error: BaseException) -> float | None:
    """The seconds that the other side asks to wait, at most a day; None where it does not."""
    with suppress(Exception):
        text = str(_header(error) or "").strip()
        wait = float(text) if text.isdecimal() else parsedate_to_datetime(text).timestamp() - time.time()
        return min(wait, LONGEST_RETRY_AFTER) if wait > 0 else None
    return None


def _header(error: BaseException) -> str | None:
    """Retry-After, whose name every library finds in small letters."""
    return _first(error, bool, _amazon_header, _response_header, _own_header)


def _amazon_header(error: Any) -> Any:
    return error.response["ResponseMetadata"]["HTTPHeaders"]["retry-after"]


def _response_header(error: Any) -> Any:
    return error.response.headers.get("retry-after")


def _own_header(error: Any) -> Any:
    return error.headers.get("retry-after")


def _amazon_status(error: Any) -> Any:
    if error.response["Error"]["Code"] in THROTTLING_CODES:
        return TOO_MANY_REQUESTS
    return error.response["ResponseMetadata"]["HTTPStatusCode"]


def _response_status(error: Any) -> Any:
    response = error.response
    return response.status_code if hasattr(response, "status_code") else response.status


def _mail_status(error: Any) -> Any:
    """503 where a mail server says that it is not available; its other answers are about one message."""
    return 503 if error.smtp_code == 421 else None


def _own_status(error: Any) -> Any:
    """Of an exception that is an answer itself, which has headers; a number alone may mean anything."""
    if not hasattr(error, "headers"):
        return None
    values = (getattr(error, name, None) for name in ("status_code", "status", "code"))
    return next(value for value in values if _is_status(value))


def _is_status(value: Any) -> bool:
    return isinstance(value, int) and 100 <= value <= 599


def _first(error: Any, fits: Callable[[Any], bool], *ways: Callable[[Any], Found]) -> Found | None:
    """What the first way finds that works and gives something that fits."""
    for way in ways:
        with suppress(Exception):
            found = way(error)
            if fits(found):
                return found
    return None
