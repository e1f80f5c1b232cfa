"""Who calls: keys by their text, remembered for a moment.

A key is read again when what is remembered of it is older than FRESH, so a revocation holds within that time in every
process. Look-ups that come while one is on its way are sent together when it is back: however many unknown keys a
caller makes up, there is one statement at a time. When a key was used is kept here and written now and then.
"""

import asyncio
import time
from collections.abc import Callable

from fairlead.core.web.api_keys import ApiKey, fits, key_id_of
from fairlead.records.store import Store

FRESH = 1.0
MOST_KNOWN = 10_000
BATCH = 500


class KeyCache:
    """The keys that callers present to this process."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[float, ApiKey | None]] = {}
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._used: dict[str, float] = {}

    async def find(self, text: str) -> ApiKey | None:
        """The live key with this text, or None."""
        key_id = key_id_of(text)
        if key_id is None:
            return None
        read_at, key = self._known.get(key_id, (float("-inf"), None))
        now = self._clock()
        if now - read_at > FRESH:
            await self._read(key_id)
            read_at, key = self._known.get(key_id, (now, None))
        if key is None or not key.live or not self._is_timely(key, now - read_at) or not fits(text, key):
            return None
        self._used[key.id] = now
        return key

    def knows(self, text: str) -> bool:
        """Whether a key with this id was found here before."""
        key_id = key_id_of(text)
        return key_id is not None and self._known.get(key_id, (0.0, None))[1] is not None

    def forget(self, key_id: str) -> None:
        """Trust nothing that is remembered of this key."""
        self._known.pop(key_id, None)

    async def write_uses(self) -> None:
        """Store when keys were last used."""
        used, self._used = self._used, {}
        if used:
            now = self._clock()
            await self._store.api_keys.touch({key_id: max(0.0, now - at) for key_id, at in used.items()})

    async def close(self) -> None:
        """Wait for what is on its way."""
        if self._reader is not None:
            await asyncio.wait([self._reader])

    def _trim(self) -> None:
        """Forget ids that somebody has made up, and all if that does not suffice."""
        self._known = {key_id: known for key_id, known in self._known.items() if known[1] is not None}
        if len(self._known) > MOST_KNOWN:
            self._known.clear()

    def _is_timely(self, key: ApiKey, since: float) -> bool:
        return key.time_left is None or key.time_left > since

    async def _read(self, key_id: str) -> None:
        future = self._waiting.get(key_id)
        if future is None:
            future = self._waiting[key_id] = asyncio.get_running_loop().create_future()
        if self._reader is None:
            self._reader = asyncio.create_task(self._read_all(), name="fairlead-keys")
        await asyncio.shield(future)

    async def _read_all(self) -> None:
        try:
            while self._waiting:
                batch = {key_id: self._waiting.pop(key_id) for key_id in list(self._waiting)[:BATCH]}
                await self._read_batch(batch)
        finally:
            self._reader = None

    async def _read_batch(self, batch: dict[str, asyncio.Future[None]]) -> None:
        try:
            read_at = self._clock()
            found = {key.id: key for key in await self._store.api_keys.read(list(batch))}
        except Exception as error:
            for future in batch.values():
                _fail(future, error)
            return
        if len(self._known) > MOST_KNOWN:
            self._trim()
        for key_id, future in batch.items():
            self._known[key_id] = (read_at, found.get(key_id))
            if not future.done():
                future.set_result(None)


def _fail(future: asyncio.Future[None], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # a caller that has gone does not fetch it
