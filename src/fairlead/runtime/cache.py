"""A value that costs a question to the store, remembered for a moment and asked for by one caller at a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cached(Generic[Value]):
    """What `read` found last."""

    def __init__(self, read: Callable[[], Awaitable[Value]], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._lock = asyncio.Lock()
        self._found: tuple[float, Value] | None = None

    async def get(self, most_age: float) -> Value:
        """The value, read again where it is older than so many seconds."""
        value = self._fresh(most_age)
        if value is None:
            async with self._lock:
                value = self._fresh(most_age)
                if value is None:
                    asked_at = self._clock()
                    value = (await self._read(),)
                    self._found = (asked_at, value[0])
        return value[0]

    def _fresh(self, most_age: float) -> tuple[Value] | None:
        if self._found is None or self._clock() - self._found[0] > most_age:
            return None
        return (self._found[1],)
