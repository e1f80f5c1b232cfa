"""`fairlead serve`: the HTTP API of an app."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.markup import escape

from fairlead.api import MISSING, create_app
from fairlead.app import App
from fairlead.cli.loading import load_app
from fairlead.cli.terms import AppPath
from fairlead.core.web.api_keys import Grant
from fairlead.core.web.proxies import proxy_networks
from fairlead.errors import ConfigError, StoreError
from fairlead.operate.api_keys import create_key, revoke_key
from fairlead.runtime.operator import Operator, whoami
from fairlead.telemetry.log import configure_logging

DEFAULT_PORT = 8377
KEY_LIFE = 24 * 3600.0

Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes one that is free.")]
PemFile = Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="A PEM file, to serve HTTPS.")]


app = typer.Typer()


@app.command()
def serve(
    path: AppPath,
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    certificate: PemFile = None,
    private_key: PemFile = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front speaks HTTPS; without one keys would travel open.")
    ] = False,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CIDR",
            help="A network of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, like 10.1.0.0/16; "
            "repeat it for more. Else api_trusted_proxies names them, and without any nobody is believed.",
        ),
    ] = None,
) -> None:
    """Serve the HTTP API of an app. Every request needs a key; `fairlead keys create` makes one.

    The rate of a key (`keys create --rate`, `api_rate`) is counted by each server process for itself.
    """
    app = load_app(path)
    if trusted_proxy:
        proxy_networks(trusted_proxy)
        app.settings = app.settings.model_copy(update={"api_trusted_proxies": tuple(trusted_proxy)})
    serving = _serving_module()
    if not serving.is_loopback(host) and not behind_proxy and certificate is None:
        raise ConfigError(
            f"{host} can be reached from elsewhere, and keys would travel unencrypted; give --certificate and "
            "--private-key, or say --behind-proxy if a proxy in front speaks HTTPS"
        )
    configure_logging()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(app, serving.listen_on(host, port), certificate, private_key))


async def _serve(app: App, listener: socket.socket, certificate: Path | None, private_key: Path | None) -> None:
    serving = _serving_module()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with app, serving.serving(create_app(app), listener, certificate, private_key):
        address = serving.address_of(listener, certificate is not None)
        Console(stderr=True, soft_wrap=True, highlight=False).print(escape(f"Fairlead serves {address}/v1"))
        await stopped.wait()


class Served:
    """What is served beside something else: where, a key for it, and who says whether the process is ready."""

    def __init__(self, address: str, key: str) -> None:
        self.address = address
        self.key = key
        self.why_not_ready: Callable[[], str | None] = lambda: None


@contextlib.asynccontextmanager
async def served_beside(app: App, port: int | None) -> AsyncIterator[Served | None]:
    """Serve on loopback beside `fairlead up`: the address and a key that ends with it; None if it is not installed."""
    try:
        serving = _serving_module()
    except ConfigError:
        yield None
        return
    listener = _own_listener(port)
    async with app:
        store = await app.store()
        operator = Operator(whoami(), "fairlead up")
        made = await create_key(store, operator, "fairlead up", [Grant.ADMIN], expires_in=KEY_LIFE)
        served, api = Served(serving.address_of(listener), made.text), create_app(app)
        api.state.service.why_not_ready = lambda: served.why_not_ready()
        try:
            async with serving.serving(api, listener):
                yield served
        finally:
            with contextlib.suppress(StoreError):
                await revoke_key(store, made.key.id, operator)


def _own_listener(port: int | None) -> socket.socket:
    """The port that was asked for; else the usual one, or a free one where that is taken."""
    listen_on: Callable[[str, int], socket.socket] = _serving_module().listen_on
    if port is not None:
        return listen_on("127.0.0.1", port)
    try:
        return listen_on("127.0.0.1", DEFAULT_PORT)
    except ConfigError:
        return listen_on("127.0.0.1", 0)


def _serving_module() -> ModuleType:
    """What serves, which needs packages that a worker does not."""
    try:
        from fairlead.api import serving
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("fastapi", "starlette", "uvicorn", "httptools"):
            raise ConfigError(MISSING) from error
        raise
    return serving
