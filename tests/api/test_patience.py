"""Connections that take their time, on a real server."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from fairlead.api import gate, protocol
from tests.api.conftest import MEMORY, Api
from tests.api.test_follow import served


class Line:
    """A connection to the server.

    Sending and receiving are apart: a stream's writer that learns first that the server has closed the connection would
    throw away the answer that is there to be read.
    """

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._loop = asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        """Send, whether or not anybody listens any more."""
        with suppress(OSError):
            await self._loop.sock_sendall(self._line, data)

    async def receive(self, end: bytes | None = None) -> bytes:
        """All that comes until the server ends the connection, or until `end` has come."""
        found = b""
        async with asyncio.timeout(60):
            with suppress(ConnectionError):
                while part := await self._loop.sock_recv(self._line, 65_536):
                    found += part
                    if end is not None and found.endswith(end):
                        break
        return found

    async def dribble(self, piece: bytes) -> bytes:
        """Send a piece again and again until the server ends the connection; returns its answer."""
        answer = asyncio.create_task(self.receive())
        while not answer.done():
            await self.send(piece)
            await asyncio.wait([answer], timeout=0.02)
        return answer.result()


@asynccontextmanager
async def connected(api: Api) -> AsyncIterator[Line]:
    """A connection to the server, and nothing said on it yet."""
    with socket.socket() as line:
        line.setblocking(False)
        port = api.http.base_url.port
        assert port is not None
        await asyncio.get_running_loop().sock_connect(line, (api.http.base_url.host, port))
        yield Line(line)


async def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "PATIENCE", 0.1)
    async with served(MEMORY) as api, connected(api) as line:
        assert await line.receive() == b""


@pytest.mark.parametrize("beginning", [b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b""])
async def test_headers_that_never_end_are_not_waited_for(monkeypatch: pytest.MonkeyPatch, beginning: bytes) -> None:
    monkeypatch.setattr(protocol, "PATIENCE", 0.3)
    async with served(MEMORY) as api, connected(api) as line:
        await line.send(beginning)
        assert await line.dribble(b"X-More: x\r\n" if beginning else b"\r\n") == b""


async def test_after_an_answer_the_rest_of_a_body_does_not_keep_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with served(MEMORY) as api, connected(api) as line:
        await line.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await line.receive(b"}")).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(protocol, "PATIENCE", 0.3)  # from the next answer on: the headers may take their time
        await line.send(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n")
        assert (await line.dribble(b" ")).startswith(b"HTTP/1.1 401")


async def test_headers_without_end_do_not_fill_the_memory() -> None:
    async with served(MEMORY) as api, connected(api) as line:
        await line.send(b"GET /healthz HTTP/1.1\r\nX-Long: ")
        answer = await line.dribble(b"x" * 20_000)
        assert not answer or answer.startswith(b"HTTP/1.1 400")


async def test_a_body_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "BODY_PATIENCE", 0.3)
    async with served(MEMORY) as api, connected(api) as line:
        await line.send(
            b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n"
            b"Authorization: Bearer " + api.admin.encode() + b"\r\n\r\n"
        )
        answer = await line.dribble(b" ")
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"BODY_TOO_SLOW" in answer


async def test_answers_may_take_their_time_and_requests_may_follow_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "PATIENCE", 1.0)  # longer than a busy machine needs between two requests
    async with served(MEMORY) as api:
        job_id = await api.submit()
        for _ in range(2):
            answer = await api.call("GET", f"/v1/jobs/{job_id}/wait?timeout=1.5")
            assert answer.status_code in (200, 202), answer.text
