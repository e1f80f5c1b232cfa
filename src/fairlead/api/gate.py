"""The gate before every request: who calls, and how much they may send.

Nothing is anonymous but the exact paths in ANONYMOUS; a path that does not exist needs a key like any other. Limits
hold before anything is parsed.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairlead.api.caller import Caller
from fairlead.api.problems import Problem, of_ours
from fairlead.api.service import Service
from fairlead.core.web.api_keys import ApiKey
from fairlead.core.web.proxies import client_of, is_trusted, origin_of
from fairlead.dashboard.sessions import is_ours, token_in
from fairlead.errors import FairleadError

ANONYMOUS = frozenset({"/healthz", "/readyz", "/"})
DASHBOARD = "/dashboard"
SESSION = "/dashboard/session"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
MOST_HEADER_BYTES = 16 * 1024
LONGEST_PATH = 8 * 1024
BODY_PATIENCE = 30.0
SLOWEST = 16 * 1024  # bytes a second, beyond that patience
PROTECTION = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
FORWARDED_FOR = b"x-forwarded-for"
FORWARDED_PROTO = b"x-forwarded-proto"
REPEATED = frozenset({b"ratelimit", b"ratelimit-policy"})


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        more = list(PROTECTION)
        send = _protected(send, more)
        try:
            headers, path = _headers(scope), _path(scope)
            await self._service.ready()
            if not is_anonymous(path):
                scope["fairlead.key"] = text = self._presented(scope["method"], headers)
                key = await self._key(text, scope)
                self._service.allowance.spend(key, more)
                scope["fairlead.caller"] = Caller(self._service, key)
            elif path == SESSION and (scope["method"] == "POST" or token_in(headers)):
                scope["scheme"] = self._scheme(scope, headers)
                address = self._address(scope)
                self._service.allowance.require_patience(address)
                send = self._counting(send, address)
            receive = self._limited(headers, receive)
        except Problem as problem:
            await problem.response()(scope, receive, send)
        except FairleadError as error:
            await of_ours(error).response()(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _key(self, text: str, scope: Scope) -> ApiKey:
        """The key. An address that failed too often is heard again with a key that was valid here before; sending
        none is not a failure, since nothing has to be looked up."""
        keys, allowance = self._service.keys, self._service.allowance
        if text and not keys.knows(text):
            allowance.require_patience(self._address(scope))
        key = await keys.find(text)
        if key is None:
            if text:
                allowance.count_failure(self._address(scope))
            raise Problem(
                401,
                "KEY_NEEDED",
                "send a key that is valid as `Authorization: Bearer flk_…`; `fairlead keys create` makes one",
                {"WWW-Authenticate": "Bearer"},
            )
        return key

    def _presented(self, method: str, headers: Mapping[bytes, bytes]) -> str:
        """The text of the key: from the header, or of the session of a browser that is signed in.

        A browser sends its cookie also with a request that another site made it send; see `is_ours`.
        """
        scheme, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme:
            return text.strip() if scheme.lower() == "bearer" else ""
        if method not in SAFE and not is_ours(headers):
            return ""
        return self._service.sessions.key_of(token_in(headers))

    def _address(self, scope: Scope) -> str:
        """Who sent the request, as far as it can be known: the other end, or whom a trusted proxy there names."""
        peer = str(scope["client"][0]) if scope.get("client") else ""
        if self._service.proxies:
            forwarded = [value.decode("latin-1") for name, value in scope["headers"] if name == FORWARDED_FOR]
            peer = client_of(peer, forwarded, self._service.proxies)
        return origin_of(peer)

    def _scheme(self, scope: Scope, headers: Mapping[bytes, bytes]) -> str:
        """Whether the browser speaks HTTPS; where a trusted proxy is between, that one knows."""
        peer, said = scope.get("client"), headers.get(FORWARDED_PROTO, b"").strip().lower()
        believed = said in (b"http", b"https") and peer is not None and is_trusted(str(peer[0]), self._service.proxies)
        return said.decode() if believed else str(scope["scheme"])

    def _counting(self, send: Send, address: str) -> Send:
        """The way to send an answer, which counts one that refuses a key."""

        async def counting(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] == 401:
                with contextlib.suppress(Problem):
                    self._service.allowance.count_failure(address)
            await send(message)

        return counting

    def _limited(self, headers: Mapping[bytes, bytes], receive: Receive) -> Receive:
        """The way to receive a body that is neither compressed, nor too large, nor too slow."""
        if headers.get(b"content-encoding", b"identity").lower() not in (b"", b"identity"):
            raise Problem(415, "ENCODING_REFUSED", "send the body as it is, without a Content-Encoding")
        limit, length = self._service.settings.api_body_limit, headers.get(b"content-length", b"")
        if length.isdigit() and (len(length) > 12 or int(length) > limit):
            raise _too_large(limit)
        received, complete, latest = 0, False, asyncio.get_running_loop().time() + BODY_PATIENCE

        async def limited() -> Message:
            nonlocal received, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(latest + received / SLOWEST):
                    message = await receive()
            except TimeoutError:
                raise Problem(
                    408,
                    "BODY_TOO_SLOW",
                    f"the body did not arrive within {BODY_PATIENCE:g} s, nor at {SLOWEST:,} bytes a second after that",
                    {"Connection": "close"},
                ) from None
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > limit:
                raise _too_large(limit)
            return message

        return limited


def is_anonymous(path: str) -> bool:
    """Whether a path needs no key; what lies below the dashboard's is the same for everybody."""
    return path in ANONYMOUS or path == DASHBOARD or path.startswith(f"{DASHBOARD}/")


def _headers(scope: Scope) -> Mapping[bytes, bytes]:
    """The headers by name, if they and the address are of a bearable size; of one that comes twice, the last."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    if sum([len(name) + len(value) for name, value in headers]) > MOST_HEADER_BYTES:
        raise Problem(431, "HEADERS_TOO_LARGE", f"the headers have more than {MOST_HEADER_BYTES:,} bytes")
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_PATH:
        raise Problem(414, "ADDRESS_TOO_LONG", f"the address has more than {LONGEST_PATH:,} bytes")
    return dict(headers)


def _path(scope: Scope) -> str:
    """The path within this application, wherever it is mounted."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and path.startswith(root) else path


def _too_large(limit: int) -> Problem:
    return Problem(413, "BODY_TOO_LARGE", f"the body has more than {limit:,} bytes", {"Connection": "close"})


def _protected(send: Send, more: list[tuple[bytes, bytes]]) -> Send:
    """The way to send an answer with more headers; what it has itself it keeps, and a RateLimit is one of several."""

    async def protected(message: Any) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]} - REPEATED
            message["headers"] = [*message["headers"], *(item for item in more if item[0] not in given)]
        await send(message)

    return protected
