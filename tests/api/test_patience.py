"""Connections that take their time, on a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from fairlead.api import gate, protocol
from tests.api.conftest import MEMORY, Api
from tests.api.test_follow import served

Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connected(api: Api) -> AsyncIterator[Line]:
    """A connection to the server, and nothing said on it yet."""
    reader, writer = await asyncio.open_connection(api.http.base_url.host, api.http.base_url.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def dribble(line: Line, piece: bytes) -> bytes:
    """Send a piece again and again until the server answers or ends the connection; returns its answer."""
    reader, writer = line
    answer = asyncio.create_task(reader.read(65_536))
    async with asyncio.timeout(60):
        while not answer.done():
            with suppress(OSError):
                writer.write(piece)
                await writer.drain()
            await asyncio.wait([answer], timeout=0.02)
        with suppress(ConnectionError):
            found = answer.result()
            while part := await reader.read(65_536):
                found += part
            return found
    return b"" if answer.exception() else answer.result()


async def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "PATIENCE", 0.1)
    async with served(MEMORY) as api, connected(api) as (reader, _), asyncio.timeout(60):
        assert await reader.read() == b""


@pytest.mark.parametrize("beginning", [b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b""])
async def test_headers_that_never_end_are_not_waited_for(monkeypatch: pytest.MonkeyPatch, beginning: bytes) -> None:
    monkeypatch.setattr(protocol, "PATIENCE", 0.3)
    async with served(MEMORY) as api, connected(api) as line:
        line[1].write(beginning)
        assert await dribble(line, b"X-More: x\r\n" if beginning else b"\r\n") == b""


async def test_after_an_answer_the_rest_of_a_body_does_not_keep_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "PATIENCE", 0.3)
    async with served(MEMORY) as api, connected(api) as line:
        line[1].write(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n")
        assert (await dribble(line, b" ")).startswith(b"HTTP/1.1 401")


async def test_headers_without_end_do_not_fill_the_memory() -> None:
    async with served(MEMORY) as api, connected(api) as line:
        line[1].write(b"GET /healthz HTTP/1.1\r\nX-Long: ")
        answer = await dribble(line, b"x" * 20_000)
        assert not answer or answer.startswith(b"HTTP/1.1 400")


async def test_a_body_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "BODY_PATIENCE", 0.3)
    async with served(MEMORY) as api, connected(api) as line:
        line[1].write(
            b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500000\r\n"
            b"Authorization: Bearer " + api.admin.encode() + b"\r\n\r\n"
        )
        answer = await dribble(line, b" ")
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"BODY_TOO_SLOW" in answer


async def test_answers_may_take_their_time_and_requests_may_follow_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "PATIENCE", 0.1)
    async with served(MEMORY) as api:
        job_id = await api.submit()
        for _ in range(2):
            answer = await api.call("GET", f"/v1/jobs/{job_id}/wait?timeout=0.5")
            assert answer.status_code in (200, 202), answer.text
