"""Notifications from PostgreSQL, on a connection of their own that comes back after every failure."""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import aclosing

import psycopg

from fairlead.stores.postgres.connection import heeding, is_direct

CHANNEL = "fairlead"
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
# In transaction mode LISTEN is heard by a session that is somebody else's a moment later.
DEAF = (
    "a pooler stands before PostgreSQL, so no hints arrive and jobs are found by polling; set listen_url to the "
    "address of the server itself, or to the pooler's if that is in session mode"
)

_log = logging.getLogger("fairlead")


async def listen(conninfo: str, on_wake: Callable[[str], None], through_pooler: bool = False) -> None:
    """Call back with the payload of each notification until cancelled; through a pooler only where that is wanted."""
    pause = FIRST_PAUSE
    while True:
        try:
            with heeding():
                async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
                    if not (await is_direct(connection) or through_pooler):
                        break
                    await connection.execute(f"LISTEN {CHANNEL}")
                    on_wake("")  # whatever happened while nobody listened
                    pause = FIRST_PAUSE
                    await _pass_on(connection, on_wake)
        except psycopg.Error:
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, LONGEST_PAUSE)
    _log.warning(DEAF)
    await asyncio.Event().wait()


async def _pass_on(connection: psycopg.AsyncConnection[object], on_wake: Callable[[str], None]) -> None:
    async with aclosing(connection.notifies()) as notifications:  # which has the connection's lock until it is closed
        while True:
            with heeding():
                notification = await anext(notifications)
            on_wake(notification.payload)
            await asyncio.sleep(0)  # whoever is woken goes first
