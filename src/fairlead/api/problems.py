"""Errors as RFC 9457 has them: application/problem+json with a stable code."""

import logging
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from math import ceil
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from fairlead.errors import (
    CallbackNotFound,
    CallbackRefused,
    ChangedMeanwhile,
    ConfigError,
    EgressRefused,
    FairleadError,
    IllegalMove,
    JobNotFound,
    KeyNotFound,
    NotSet,
    PayloadError,
    PayloadTooLarge,
    Refused,
    ScheduleNotFound,
    ScheduleRefused,
    StoreError,
    StoreUnavailable,
    WorkerNotFound,
)

MEDIA_TYPE = "application/problem+json"
MOST_ERRORS = 20
LONGEST_DETAIL = 2_000
SILENCE = 5.0
LONGEST_WAIT = 366 * 86_400.0

STATUS: dict[type[FairleadError], int] = {
    JobNotFound: 404,
    KeyNotFound: 404,
    CallbackNotFound: 404,
    CallbackRefused: 409,
    EgressRefused: 422,
    WorkerNotFound: 404,
    ScheduleNotFound: 404,
    ScheduleRefused: 409,
    IllegalMove: 409,
    PayloadTooLarge: 413,
    ChangedMeanwhile: 412,
    PayloadError: 422,
    NotSet: 404,
    ConfigError: 422,
    StoreError: 503,
}
CODES = {
    400: "BAD_REQUEST",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
}


class Problem(HTTPException):
    """An answer that is an error; raise it anywhere below an endpoint."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code
        self.errors = errors

    def document(self) -> dict[str, Any]:
        """The body of the answer."""
        document: dict[str, Any] = {
            "type": f"urn:fairlead:problem:{self.code.lower().replace('_', '-')}",
            "title": HTTPStatus(self.status_code).phrase,
            "status": self.status_code,
            "code": self.code,
            "detail": self.detail[:LONGEST_DETAIL],
        }
        if self.errors:
            document["errors"] = list(self.errors)
        return document

    def response(self) -> Response:
        """The answer."""
        return Response(to_json(self.document()), self.status_code, self.headers, MEDIA_TYPE)


def problem_of(error: Exception) -> Problem:
    """The problem that an exception is to the caller; what is not foreseen says nothing about us."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, FairleadError):
        return of_ours(error)
    if isinstance(error, RequestValidationError):
        return _of_validation(error)
    if isinstance(error, HTTPException):
        code = CODES.get(error.status_code, "HTTP_ERROR")
        return Problem(error.status_code, code, str(error.detail), error.headers)
    return Problem(500, "INTERNAL_ERROR", "something went wrong here; the log of the server says what")


def of_ours(error: FairleadError) -> Problem:
    """The problem that an error of Fairlead is."""
    wait = getattr(error, "retry_after", 1.0 if isinstance(error, StoreUnavailable) else None)
    usual = 500 if wait is None else 429  # what says when to come again is a limit
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), usual)
    headers = {} if wait is None else {"Retry-After": str(_whole(wait))}
    if isinstance(error, Refused) and error.quota is not None:
        window = "" if error.window is None else f";w={_whole(error.window)}"
        headers["RateLimit-Policy"] = f'"{error.policy}";q={int(error.quota)}{window}'
        headers["RateLimit"] = f'"{error.policy}";r=0;t={_whole(error.retry_after)}'
    return Problem(status, error.code, _discreet(error), headers)


def _discreet(error: FairleadError) -> str:
    """What callers are told; hosts, users and statements of the store are for the log."""
    if not isinstance(error, StoreError):
        return str(error)
    _trouble.say(error)
    return "the store cannot be used now; try again later, the log of the server says why"


class _Trouble:
    """Logs what is wrong with the store, now and then, however many requests suffer from it."""

    def __init__(self) -> None:
        self._silent_until = 0.0

    def say(self, error: StoreError) -> None:
        """Log it, unless something was logged a moment ago."""
        if time.monotonic() > self._silent_until:
            self._silent_until = time.monotonic() + SILENCE
            logging.getLogger("fairlead").warning("the store cannot be used: %s", error)


_trouble = _Trouble()


def _whole(seconds: float) -> int:
    return max(1, ceil(min(seconds, LONGEST_WAIT)))


async def answer_problem(request: Request, error: Exception) -> Response:
    """The exception handler of the application."""
    response = problem_of(error).response()
    if response.status_code == 405:
        response.headers["Allow"] = ", ".join(sorted(_allowed(request)))
    return response


def _allowed(request: Request) -> set[str]:
    """All methods of the path; the framework knows only those of the first route."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    found = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    plainest = min(found, key=lambda route: len(route.param_convertors))
    return {method for route in routes if route.path == plainest.path for method in route.methods or ()}


def _of_validation(error: RequestValidationError) -> Problem:
    found = [
        {
            "location": ".".join(map(str, item["loc"])),
            "message": item["msg"].removeprefix("Value error, "),
            "code": item["type"],
        }
        for item in error.errors()[:MOST_ERRORS]
    ]
    places = ", ".join(item["location"] for item in found)
    return Problem(422, "INVALID_REQUEST", f"the request does not fit: {places}", errors=found)
