"""The API of an app on a real socket, served by a thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fairlead import App
from fairlead.api import create_app
from fairlead.api.serving import address_of, listen_on, serving
from fairlead.core.web.api_keys import Grant
from fairlead.operate.api_keys import create_key
from fairlead.runtime.operator import Operator


class Served(NamedTuple):
    """Where the API is, and a key that opens everything."""

    address: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        """What every request needs."""
        return {"Authorization": f"Bearer {self.key}"}


@contextmanager
def served(app: App, worker: bool = False) -> Iterator[Served]:
    """Serve the app beside the body, with a worker if wanted."""
    ready, stops, result = threading.Event(), list[Callable[[], object]](), list[Served]()

    async def serve() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        listener = listen_on("127.0.0.1", 0)
        async with app, serving(create_app(app), listener):
            made = await create_key(await app.store(), Operator("tests"), "tests", [Grant.ADMIN])
            result.append(Served(address_of(listener), made.text))
            stops.append(lambda: loop.call_soon_threadsafe(stop.set))
            ready.set()
            if worker:
                async with app.worker():
                    await stop.wait()
            else:
                await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="served")
    thread.start()
    ready.wait()
    try:
        assert result, "the server did not start"
        yield result[0]
    finally:
        for end in stops:
            end()
        thread.join()
