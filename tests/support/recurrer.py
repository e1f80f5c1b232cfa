"""A scheduler that only makes fires, whoever leads: `python -m tests.support.recurrer URL`, until it is killed."""

import asyncio
import sys

from fairlead import wiring
from fairlead.errors import StoreError
from fairlead.records.store import Store
from fairlead.recurring.firing import Recurrer
from fairlead.telemetry.events import Telemetry


async def main(url: str) -> None:
    """Make what is due, again and again."""
    store = await opened(url)
    recurrer = Recurrer(store, Telemetry())
    while True:
        try:
            pause = await recurrer.run_once()
        except StoreError:
            pause = 0.05
        await asyncio.sleep(pause)


async def opened(url: str) -> Store:
    """The store, as soon as it can be opened: another process that is frozen may have it locked."""
    while True:
        store = wiring.make_store(url)
        try:
            await store.open()
            return store
        except StoreError:
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
