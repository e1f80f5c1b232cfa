"""`fairlead bench http`: how many single jobs a server process accepts over HTTP, each durable when it is answered."""

import asyncio
import contextlib
import json
import os
import re
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from fairlead.bench.app import BenchApp, calls
from fairlead.bench.report import Report, describe, percentiles
from fairlead.bench.scratch import Scratch
from fairlead.bench.workers import APP, command, stop
from fairlead.core.web.api_keys import MOST_RATE, Grant
from fairlead.errors import StoreUnavailable
from fairlead.operate.api_keys import create_key
from fairlead.runtime.operator import Operator

START_SECONDS = 30.0
ADDRESS = re.compile(rb"serves (http://\S+)/v1")
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)

NOTES = [
    "Each client has a connection of its own and sends a request when the one before is answered; one server process.",
    "A rate is answers with 202 divided by the time until the last; the clients share the machine with the server.",
]


async def http(scratch: Scratch, seconds: float = 5.0, clients: int = 50, payload: int = 64) -> Report:
    """Measure concurrent clients that post single jobs for so many seconds."""
    url = await scratch.fresh()
    setup = await describe(url, seconds=seconds, clients=clients, payload=payload)
    key = await _key(url)
    async with _server(url) as (host, port):
        request = _request(key, payload)
        await _client(host, port, request, time.monotonic() + min(1.0, seconds))  # connect and prepare
        began = time.monotonic()
        found = await asyncio.gather(*(_client(host, port, request, began + seconds) for _ in range(clients)))
        took = time.monotonic() - began
    times = [one for client in found for one in client]
    figures = {"requests_per_s": round(len(times) / took), "requests": len(times), **percentiles(times)}
    return Report("http", setup, figures, [{"clients": clients, **figures}], list(NOTES))


def _request(key: str, payload: int) -> bytes:
    body = json.dumps({"type": "bench.none", "payload": calls(1, payload)[0]}).encode()
    head = (
        f"POST /v1/jobs HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _client(host: str, port: int, request: bytes, until: float) -> list[float]:
    """Post until the time is over; returns how long each answer took."""
    reader, writer = await asyncio.open_connection(host, port)
    times = []
    try:
        while (sent := time.monotonic()) < until:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            found = LENGTH.search(head)
            body = await reader.readexactly(int(found[1]) if found else 0)
            if not head.startswith(b"HTTP/1.1 202"):
                raise StoreUnavailable(f"the server answered {head[:40]!r} {body[:500]!r}")
            times.append(time.monotonic() - sent)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    return times


async def _key(url: str) -> str:
    async with BenchApp(url) as app:
        return (await create_key(await app.store(), Operator("bench"), "bench", [Grant.ENQUEUE], rate=MOST_RATE)).text


@contextlib.asynccontextmanager
async def _server(url: str) -> AsyncIterator[tuple[str, int]]:
    """A server process, stopped at the end."""
    process = await asyncio.create_subprocess_exec(
        *command("serve", APP, "--port", "0"), stderr=PIPE, env={**os.environ, "FAIRLEAD_DATABASE_URL": url}
    )
    try:
        yield await _address(process)
    finally:
        assert process.stderr is not None
        reading = asyncio.create_task(process.stderr.read())
        await stop(process)
        await reading


async def _address(process: Process) -> tuple[str, int]:
    assert process.stderr is not None
    said = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while line := await process.stderr.readline():
                said += line
                if found := ADDRESS.search(line):
                    parts = urlsplit(found[1].decode())
                    return parts.hostname or "", parts.port or 0
    raise StoreUnavailable(f"the server did not start within {START_SECONDS:.0f} s; it said: {said.decode()}")
