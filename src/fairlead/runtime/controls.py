"""The controls as one worker knows them, and the store's clock between two looks at it."""

import time
from collections.abc import Callable

from fairlead.core.protection.controls import Controls
from fairlead.records.store import Store
from fairlead.runtime.periodic import Periodic

EVERY = 15.0  # seconds; whoever changes something gives a hint, which may get lost


class ControlView:
    """Follows the controls of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.known = Controls()
        self.watchers: list[Callable[[frozenset[str]], None]] = []  # are told which kinds have changed
        self._read_at = 0.0
        self.ahead = time.time() - time.monotonic()  # the store's clock, of this process's monotonic clock
        self.repeated = Periodic(self._follow, EVERY)

    @property
    def now(self) -> float:
        """The store's now, as far as it is known."""
        return time.monotonic() + self.ahead

    def distrust(self) -> None:
        """Controls have changed: look again, however fresh they are."""
        self._read_at = 0.0
        self.repeated.hint()

    async def _follow(self) -> None:
        """Look also while nothing waits and no slot is free."""
        await self.refresh(EVERY / 2)

    async def refresh(self, fresh: float = 0.0) -> None:
        """Read what has changed, unless that was done within so many seconds."""
        began = time.monotonic()
        if began - self._read_at <= fresh:
            return
        self._read_at = began
        try:
            changed = await self._store.controls.read(self.known.version)
        except BaseException:
            self._read_at = 0.0
            raise
        self.ahead = changed.now - time.monotonic()
        kinds = self.known.follow(changed.controls)
        if kinds:
            for watcher in self.watchers:
                watcher(kinds)
