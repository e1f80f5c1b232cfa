"""Stored responses to HTTP requests with an Idempotency-Key, so that a repeated request gets the same response."""

from enum import StrEnum
from typing import NamedTuple


class Reservation(NamedTuple):
    """A request in progress: owner and text of its key, digest of the request, and a random token of this try."""

    scope: str
    key: str
    digest: str
    token: str


class StoredResponse(NamedTuple):
    """An earlier request with the same key; without a status it is still in progress."""

    digest: str
    status: int | None
    headers: str | None
    body: str | None


class RepeatedRequest(StrEnum):
    """The answer to a repeated request."""

    REPLAY = "replay"  # the stored response
    CONFLICT = "conflict"  # the first request is still in progress
    MISUSE = "misuse"  # the key was used for another request


def judge_repeat(earlier: StoredResponse, digest: str) -> RepeatedRequest:
    """Return how to answer a request whose key was used before."""
    if earlier.digest != digest:
        return RepeatedRequest.MISUSE
    return RepeatedRequest.CONFLICT if earlier.status is None else RepeatedRequest.REPLAY
