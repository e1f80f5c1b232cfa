"""Notifications from PostgreSQL, on a connection of their own that comes back after every failure."""

import asyncio
import random
from collections.abc import Callable

import psycopg

from fairlead.stores.postgres.connection import heeding

CHANNEL = "fairlead"
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0


async def listen(conninfo: str, on_wake: Callable[[str], None]) -> None:
    """Call back with the payload of each notification until cancelled."""
    pause = FIRST_PAUSE
    while True:
        try:
            with heeding():
                async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    on_wake("")  # whatever happened while nobody listened
                    pause = FIRST_PAUSE
                    await _pass_on(connection, on_wake)
        except psycopg.Error:
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, LONGEST_PAUSE)


async def _pass_on(connection: psycopg.AsyncConnection[object], on_wake: Callable[[str], None]) -> None:
    notifications = connection.notifies()
    while True:
        with heeding():
            notification = await anext(notifications)
        on_wake(notification.payload)
