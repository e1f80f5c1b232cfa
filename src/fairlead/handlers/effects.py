"""The side effects that one run has had, or has found remembered."""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Protocol

from pydantic_core import from_json

from fairlead.core.jobs.model import Claim
from fairlead.core.names import check_name
from fairlead.errors import ConfigError

MOST = 1_000


class Memory(Protocol):
    """Where effects are remembered, as JSON text."""

    async def recall(self, claim: Claim, name: str) -> str | None:
        """What was remembered of a job's effect."""

    async def remember(self, claim: Claim, name: str, value: Any) -> str:
        """Keep the result of an effect; returns what is kept. LeaseLost where the run is over."""


class Effects:
    """Asks the memory once for each name; a job that was never started before has nothing there."""

    def __init__(self, claim: Claim, memory: Memory) -> None:
        self._claim = claim
        self._memory = memory
        self._known: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def once(self, name: str, effect: Callable[[], Awaitable[Any] | Any]) -> Any:
        """The result of the effect, which is called if nothing is remembered of it."""
        async with self._locks.setdefault(name, asyncio.Lock()):
            text = await self.recall(name)
            if text is None:
                result = effect()
                text = await self.remember(name, await result if isawaitable(result) else result)
            return from_json(text)

    async def recall(self, name: str) -> str | None:
        """What is remembered under the name."""
        check_name("side effect", name)
        if name not in self._known and len(self._known) >= MOST:
            raise ConfigError(f"a job remembers at most {MOST} side effects; put more than that into one result")
        if name not in self._known and self._claim.fence > 1:
            found = await self._memory.recall(self._claim, name)
            if found is not None:
                self._known[name] = found
        return self._known.get(name)

    async def remember(self, name: str, value: Any) -> str:
        """Keep what the effect gave."""
        text = self._known[name] = await self._memory.remember(self._claim, name, value)
        return text
