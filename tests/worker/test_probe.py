"""Whether a process lives and is ready, over HTTP."""

import asyncio
import contextlib

import pytest

from fairlead.errors import ConfigError
from fairlead.worker.probe import LONGEST, parse_place, probed


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_readiness_is_asked_for_each_time() -> None:
    reasons = [None, "stopping"]
    async with probed(("127.0.0.1", 0), lambda: reasons[0]) as port:
        assert port is not None
        assert (await ask(port, b"GET /readyz HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")
        reasons.pop(0)
        answer = await ask(port, b"GET /readyz?verbose HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert answer.endswith(b'\r\n\r\n{"status": "stopping"}')
        assert (await ask(port, b"HEAD /healthz HTTP/1.1\r\n\r\n")).endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_", "status"),
    [(b"POST /readyz HTTP/1.1\r\n\r\n", b"405"), (b"GET / HTTP/1.1\r\n\r\n", b"404"), (b"\r\n\r\n", b"405")],
)
async def test_nothing_else_is_answered(request_: bytes, status: bytes) -> None:
    async with probed(("127.0.0.1", 0), lambda: None) as port:
        assert port is not None
        assert (await ask(port, request_)).split(b" ")[1] == status


async def test_who_sends_too_much_or_leaves_is_let_go() -> None:
    async with probed(("127.0.0.1", 0), lambda: None) as port:
        assert port is not None
        with contextlib.suppress(ConnectionError):
            assert await ask(port, b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 3 * LONGEST) == b""
        assert (await ask(port, b"GET /healthz HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200")


async def test_without_a_place_nothing_listens() -> None:
    async with probed(None, lambda: None) as port:
        assert port is None


async def test_a_place_that_is_taken_is_said() -> None:
    async with probed(("127.0.0.1", 0), lambda: None) as port:
        assert port is not None
        with pytest.raises(ConfigError, match="--health"):
            async with probed(("127.0.0.1", port), lambda: None):
                pass


def test_places_are_written_as_people_do() -> None:
    assert parse_place("8378") == ("127.0.0.1", 8378)
    assert parse_place("0.0.0.0:8378") == ("0.0.0.0", 8378)
    assert parse_place("[::]:8378") == ("::", 8378)
    for wrong in ("", "host", "host:", "0.0.0.0:99999", "1.5"):
        with pytest.raises(ConfigError, match="not a place"):
            parse_place(wrong)
