"""Whether a process lives and is ready, over HTTP, for whoever starts and replaces it: Kubernetes, a load balancer.

It is anonymous, tells nothing else, and needs no package of the API: one answer to a connection, then it is closed.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus

from fairlead.errors import ConfigError

PATIENCE = 5.0
LONGEST = 8 * 1024

WhyNot = Callable[[], str | None]


@contextlib.asynccontextmanager
async def probed(place: tuple[str, int] | None, why_not_ready: WhyNot) -> AsyncIterator[int | None]:
    """Answer /healthz and /readyz at a place beside the body; yields the port. Without a place, nothing happens."""
    if place is None:
        yield None
        return
    host, port = place
    try:
        server = await asyncio.start_server(_Probe(why_not_ready).serve, host, port, limit=LONGEST)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot listen on {host} port {port} ({error}); choose others with --health") from None
    async with server:
        yield server.sockets[0].getsockname()[1]


def parse_place(text: str) -> tuple[str, int]:
    """A host and port as people write them: 8378, 0.0.0.0:8378, [::]:8378."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ConfigError(f"{text!r} is not a place to listen at; write it like 8378 or 0.0.0.0:8378")
    return host.strip("[]") or "127.0.0.1", int(port)


class _Probe:
    def __init__(self, why_not_ready: WhyNot) -> None:
        self._why_not_ready = why_not_ready

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _answer(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD", method)
        if path == b"/healthz":
            return _answer(HTTPStatus.OK, "ok", method)
        if path == b"/readyz":
            why = self._why_not_ready()
            return _answer(HTTPStatus.SERVICE_UNAVAILABLE if why else HTTPStatus.OK, why or "ok", method)
        return _answer(HTTPStatus.NOT_FOUND, "there are /healthz and /readyz", method)


def _answer(status: HTTPStatus, words: str, method: bytes) -> bytes:
    body = json.dumps({"status": words}).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == b"HEAD" else body)
