"""A TCP proxy on loopback that cuts connections at a chosen moment, or stops passing anything on for a while."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit, urlunsplit

Trigger = Callable[[bytes], bool]


class CuttingProxy:
    """Passes bytes on until the client sends what the trigger recognises; then it cuts, before or after the server
    has received and answered it. The client never hears the answer."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._trigger: Trigger | None = None
        self._deliver = True
        self._writers: set[asyncio.StreamWriter] = set()
        self._passing = asyncio.Event()
        self._passing.set()
        self.cuts = 0
        self.port = 0

    def cut_once(self, trigger: Trigger, deliver: bool) -> None:
        """Arm the proxy for one cut; `deliver` lets the server do the work first."""
        self._trigger, self._deliver = trigger, deliver

    def hold(self) -> None:
        """Pass nothing on, in both directions, while connections stay open: a partition."""
        self._passing.clear()

    def let_go(self) -> None:
        """Pass on what was held, and all that follows."""
        self._passing.set()

    async def serve(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        """One connection; a server that is away or hangs up ends it."""
        await self._passing.wait()
        try:
            server, requests = await asyncio.open_connection(*self._target)
        except OSError:
            return answers.close()
        with contextlib.suppress(OSError):
            await self._pass_both_ways(client, answers, server, requests)

    async def _pass_both_ways(
        self,
        client: asyncio.StreamReader,
        answers: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        requests: asyncio.StreamWriter,
    ) -> None:
        self._writers |= {answers, requests}
        silenced = asyncio.Event()
        back = asyncio.create_task(self._pass_back(server, answers, silenced))
        try:
            while data := await client.read(65536):
                await self._passing.wait()
                if self._trigger is not None and self._trigger(data):
                    await self._cut(data, requests, silenced)
                    break
                requests.write(data)
                await requests.drain()
        finally:
            back.cancel()
            await asyncio.gather(back, return_exceptions=True)
            for writer in (answers, requests):
                self._writers.discard(writer)
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    async def _cut(self, data: bytes, requests: asyncio.StreamWriter, silenced: asyncio.Event) -> None:
        self._trigger = None
        self.cuts += 1
        if self._deliver:
            silenced.set()
            requests.write(data)
            await requests.drain()
            await asyncio.sleep(0.3)  # the server works and answers; the answer goes nowhere

    async def _pass_back(
        self, server: asyncio.StreamReader, answers: asyncio.StreamWriter, silenced: asyncio.Event
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await server.read(65536):
                await self._passing.wait()
                if not silenced.is_set():
                    answers.write(data)
                    await answers.drain()
        if not silenced.is_set():
            answers.close()  # the client of a cancellation waits for the server to hang up


@contextlib.asynccontextmanager
async def cutting_proxy(url: str) -> AsyncIterator[tuple[CuttingProxy, str]]:
    """A proxy before the database of a URL, and the URL through it."""
    parts = urlsplit(url)
    proxy = CuttingProxy(parts.hostname or "127.0.0.1", parts.port or 5432)
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    user = f"{parts.username}@" if parts.username else ""
    try:
        yield proxy, urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{proxy.port}"))
    finally:
        listener.close()
        for writer in list(proxy._writers):
            writer.close()
        await asyncio.sleep(0.05)
