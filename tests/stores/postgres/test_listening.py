"""The order in which a notification is passed on."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg

from fairlead.stores.postgres import listening


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
