"""What tests of a worker's health share."""

import asyncio
import time
from collections.abc import Callable


async def until(condition: Callable[[], bool], what: str = "it") -> None:
    """Wait for something that a worker does."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        await asyncio.sleep(0.01)
