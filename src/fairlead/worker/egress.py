"""Sending a callback: one request to an address that was checked, with a deadline and nothing followed.

The name is resolved here, once; `core.egress` checks every address, and the connection goes to one of those. The host
of the request and the name that the certificate is checked for stay the URL's. No proxy of the environment is used, no
redirection followed, and of the answer no more is read than there has to be.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import httpcore2

from fairlead.core.web.egress import USUAL_PORTS, EgressRules, Target, pinned, target_of
from fairlead.errors import CallbackFailed
from fairlead.version import __version__

MOST_READ = 64 * 1024
MOST_ADDRESSES = 4
OWN_HEADERS = {"content-type": "application/json", "user-agent": f"fairlead/{__version__}", "connection": "close"}

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class Answer(NamedTuple):
    """What a receiver said."""

    status: int
    retry_after: str | None
    took: float


async def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(item[4][0]) for item in found]


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to checked addresses only."""

    def __init__(self, rules: EgressRules, resolve: Resolve) -> None:
        self._rules = rules
        self._resolve = resolve
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to the first checked address that takes one."""
        addresses = pinned(host, await self._resolve(host, port), self._rules)
        failure: Exception | None = None
        for address in addresses[:MOST_ADDRESSES]:
            try:
                return await self._network.connect_tcp(address, port, timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure


class Sender:
    """Sends bodies to URLs, under the rules of the settings."""

    def __init__(
        self, rules: EgressRules, timeout: float, resolve: Resolve = resolve, tls: ssl.SSLContext | None = None
    ) -> None:
        self._rules = rules
        self._timeout = timeout
        self._resolve = resolve
        self._tls = tls

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Post a body; EgressRefused if it may not go there, CallbackFailed if nobody took it in time."""
        started = time.monotonic()
        target = target_of(url, self._rules)
        try:
            async with asyncio.timeout(self._timeout):
                status, retry_after = await self._exchange(target, headers, body)
        except TimeoutError:
            raise CallbackFailed(f"no answer within {self._timeout:g} s") from None
        except socket.gaierror as error:
            raise CallbackFailed(f"its host has no address now: {error.strerror}") from None
        except (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, OSError) as error:
            raise CallbackFailed(f"{type(error).__name__}: {str(error)[:200] or 'the connection failed'}") from None
        return Answer(status, retry_after, time.monotonic() - started)

    async def _exchange(self, target: Target, headers: Mapping[str, str], body: bytes) -> tuple[int, str | None]:
        url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        sent = {"host": _host_header(target), **headers, **OWN_HEADERS}
        backend = GuardedBackend(self._rules, self._resolve)
        tls = await self._context() if target.scheme == "https" else None
        async with (
            httpcore2.AsyncConnectionPool(ssl_context=tls, network_backend=backend) as connections,
            connections.stream("POST", url, headers=list(sent.items()), content=body) as answer,
        ):
            given = {name.lower(): value for name, value in answer.headers}
            await _read(answer)
        after = given.get(b"retry-after")
        return answer.status, None if after is None else after[:100].decode("ascii", "replace")

    async def _context(self) -> ssl.SSLContext:
        """What certificates are checked by; reading all that are trusted takes long enough to do it elsewhere."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(httpcore2.default_ssl_context)
        return self._tls


def _host_header(target: Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == USUAL_PORTS[target.scheme] else f"{host}:{target.port}"


async def _read(answer: httpcore2.Response) -> None:
    """Let the receiver finish its answer, if that is short; nothing of it is kept."""
    read = 0
    async for part in answer.aiter_stream():
        read += len(part)
        if read > MOST_READ:
            return
