"""The sessions of browsers: a random token in a cookie stands for the key that somebody signed in with.

A session lives in this process, ends with its key, at sign-out, or after LIFE seconds. Several servers behind one
address need a balancer that keeps a browser at its server.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from hashlib import sha256

from starlette.requests import cookie_parser

COOKIE = "fairlead_session"
SECURE_COOKIE = f"__Host-{COOKIE}"  # browsers take it over HTTPS only, from this host only, and for the whole host
HEADER = "x-fairlead-dashboard"
LIFE = 12 * 3600.0
MOST, MOST_OF_A_KEY = 10_000, 50


class Sessions:
    """The sessions of one server process; of too many, the oldest ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, str]] = {}  # until when, and the text of the key, by the token's hash

    def begin(self, key: str) -> str:
        """The token of a new session."""
        own = [name for name, (_, text) in self._known.items() if text == key]
        for name in own[: len(own) - MOST_OF_A_KEY + 1] if len(own) >= MOST_OF_A_KEY else ():
            del self._known[name]
        while len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        token = secrets.token_urlsafe(32)
        self._known[_digest(token)] = (self._clock() + LIFE, key)
        return token

    def key_of(self, token: str) -> str:
        """The text of the session's key; empty where there is no such session."""
        until, key = self._known.get(_digest(token), (0.0, ""))
        return key if self._clock() < until else ""

    def end(self, token: str) -> None:
        """End a session."""
        self._known.pop(_digest(token), None)


def token_in(headers: Mapping[bytes, bytes]) -> str:
    """The token in a request's cookies; empty where there is none."""
    cookies = cookie_parser(headers.get(b"cookie", b"").decode("latin-1"))
    return cookies.get(SECURE_COOKIE) or cookies.get(COOKIE, "")


def is_ours(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request that changes something comes from our own page: it has the page's header, and where the
    browser says from which site it comes, that is this one."""
    if HEADER.encode() not in headers or headers.get(b"sec-fetch-site", b"same-origin") not in (
        b"same-origin",
        b"none",
    ):
        return False
    origin = headers.get(b"origin")
    return origin is None or origin.partition(b"://")[2] == headers.get(b"host", b"")


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
