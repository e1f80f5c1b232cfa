"""A receiver of callbacks on this machine: it counts connections, keeps what it was sent, and answers as told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

OK = b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"


class Received(NamedTuple):
    """One request."""

    line: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """What was received, and what is answered: the script's answers first, then always the last."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self.port = 0
        self.answers: list[bytes] = [OK]
        self.on_request: Callable[[Received], None] = lambda request: None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hook"

    def answer(self, *statuses: str) -> None:
        """Answer so, one after the other; a status may be followed by headers."""
        self.answers = [f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode() for status in statuses]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        try:
            request = await _read(reader)
            self.requests.append(request)
            self.on_request(request)
            writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    return Received(head[0], headers, await reader.readexactly(int(headers.get("content-length", "0"))))


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver that listens on loopback."""
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        await server.wait_closed()
