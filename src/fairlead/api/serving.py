"""Serving the API from this process: a socket, a server, and an end that does not wait for streams."""

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from fairlead.api.protocol import PatientProtocol
from fairlead.api.service import Service
from fairlead.errors import ConfigError

STOP_PATIENCE = 5
BACKLOG = 2048


class Server(uvicorn.Server):
    """A server that leaves signals to its owner."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


@contextlib.asynccontextmanager
async def serving(
    api: FastAPI, listener: socket.socket, certificate: Path | None = None, private_key: Path | None = None
) -> AsyncIterator[Server]:
    """Serve on the socket beside the body; leaving it lets streams end and finishes what is being answered."""
    config = uvicorn.Config(
        api,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",  # what strangers send is nothing to fill a log with
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=STOP_PATIENCE,
        ssl_certfile=certificate,
        ssl_keyfile=private_key,
    )
    server = Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="fairlead-api")
    try:
        await _started(server, task)
        yield server
    finally:
        service: Service = api.state.service
        service.stop_following()
        server.should_exit = True
        await asyncio.wait([task])


async def _started(server: Server, task: asyncio.Task[None]) -> None:
    while not server.started:
        if task.done():
            task.result()
            raise ConfigError("the API did not start; the log says why")
        await asyncio.sleep(0.01)


def listen_on(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {host} port {port} ({error}); choose others with --host and --port"
        ) from None
    listener.setblocking(False)
    return listener


def address_of(listener: socket.socket, encrypted: bool = False) -> str:
    """The address that a browser or client on this machine can use."""
    host, port = listener.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if encrypted else 'http'}://{name}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
