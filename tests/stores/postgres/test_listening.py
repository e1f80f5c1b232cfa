"""How notifications are passed on."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from fairlead.stores.postgres import listening
from fairlead.stores.postgres.connection import conninfo


class Heard:
    """A connection that hears one notification, and notes when it waits for another."""

    def __init__(self, happened: list[str]) -> None:
        self._happened = happened

    async def notifies(self) -> AsyncIterator[psycopg.Notify]:
        yield psycopg.Notify(listening.CHANNEL, "short", 1)
        self._happened.append("waits again")
        await asyncio.Event().wait()


async def test_whoever_is_woken_goes_first() -> None:
    """Waiting for the next notification takes a while, which nobody needs to wait for."""
    happened: list[str] = []
    woken = asyncio.Event()

    async def work() -> None:
        await woken.wait()
        happened.append("works")

    connection: Any = Heard(happened)
    tasks = [asyncio.create_task(work()), asyncio.create_task(listening._pass_on(connection, lambda _: woken.set()))]
    async with asyncio.timeout(5):
        while len(happened) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert happened == ["works", "waits again"]


@pytest.mark.postgres
async def test_one_that_is_cancelled_by_whoever_it_woke_ends(postgres_url: str) -> None:
    """The driver's notifications have the connection's lock, for which its end would wait."""
    heard, woken = asyncio.Event(), asyncio.Event()

    def on_wake(hint: str) -> None:
        (woken if hint else heard).set()

    async def stop() -> None:
        await woken.wait()
        listener.cancel()

    listener = asyncio.create_task(listening.listen(conninfo(postgres_url), on_wake))
    stopping = asyncio.create_task(stop())
    await heard.wait()
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
        await connection.execute("select pg_notify(%s, 'short')", [listening.CHANNEL])
    await asyncio.wait([stopping, listener], timeout=10)
    ended = listener.done()
    listener.cancel()  # once more, should it hang
    await asyncio.gather(listener, return_exceptions=True)
    assert ended
