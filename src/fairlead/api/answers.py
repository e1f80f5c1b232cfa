"""Answers: documents as fast JSON, and which errors an endpoint's description lists."""

from collections.abc import Mapping
from typing import Any

from fastapi import Response
from pydantic_core import to_json

from fairlead.documents.base import ProblemDocument

ALWAYS = (400, 401, 403, 408, 414, 415, 422, 429, 431, 503)
WORDS = {
    400: "The request cannot be read.",
    401: "A valid key is needed.",
    403: "The key does not suffice.",
    404: "There is no such thing, or it is not the caller's.",
    408: "The body did not arrive in time.",
    409: "It is not in a state that allows this, or a request with the same Idempotency-Key is being worked on.",
    412: "It is not of the version that If-Match or If-None-Match names.",
    413: "The body or the payload is too large.",
    414: "The address is too long.",
    415: "The body is not JSON.",
    422: "The request does not fit.",
    429: "Too many requests; Retry-After says when to come again.",
    431: "The headers are too large.",
    503: "The store cannot be used now.",
}


def answer(status: int, document: Any, headers: Mapping[str, str] | None = None) -> Response:
    """An answer with a JSON document."""
    return Response(to_json(document), status, headers, "application/json")


def answers(*more: int) -> dict[int | str, dict[str, Any]]:
    """The errors that an endpoint may answer with: those that all have, and these."""
    return {status: {"model": ProblemDocument, "description": WORDS[status]} for status in sorted({*ALWAYS, *more})}
