"""Answers to HTTP requests that carry an Idempotency-Key: kept, so that a repeated request gets the same one."""

from enum import StrEnum
from typing import NamedTuple


class Reservation(NamedTuple):
    """A request that is being answered: whose key, which, the digest of what was asked, and a token of this try."""

    scope: str
    key: str
    digest: str
    token: str


class StoredResponse(NamedTuple):
    """What is known of an earlier request with the same key; without a status it is still being worked on."""

    digest: str
    status: int | None
    headers: str | None
    body: str | None


class RepeatedRequest(StrEnum):
    """What a repeated request gets."""

    REPLAY = "replay"  # the kept answer
    CONFLICT = "conflict"  # the first one is still being worked on
    MISUSE = "misuse"  # the key was used for another request


def judge_repeat(earlier: StoredResponse, digest: str) -> RepeatedRequest:
    """Decide about a request whose key was used before."""
    if earlier.digest != digest:
        return RepeatedRequest.MISUSE
    return RepeatedRequest.CONFLICT if earlier.status is None else RepeatedRequest.REPLAY
