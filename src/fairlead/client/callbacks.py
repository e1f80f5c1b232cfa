"""Whether a callback endpoint that a submission names is there; what was seen is remembered for a moment."""

import time

from fairlead.core.web.callbacks import EVERYONE, nearest
from fairlead.errors import UnknownCallback
from fairlead.records.store import Store

FRESH = 10.0
MOST_KNOWN = 1_000


class KnownCallbacks:
    """The endpoints as one client has seen them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[tuple[str, str], float] = {}

    async def require(self, tenant: str, name: str | None) -> None:
        """UnknownCallback unless jobs of the tenant can be called back there."""
        if name is None or time.monotonic() < self._seen.get((tenant, name), 0.0):
            return
        found = await self._store.callbacks.read([(tenant, name), (EVERYONE, name)])
        if nearest(found, tenant, name) is None:
            raise UnknownCallback(
                f"there is no callback endpoint {name!r:.100} for jobs of the tenant {tenant!r:.100}; "
                "make it with `fairlead callbacks add`, or see `fairlead callbacks list`"
            )
        if len(self._seen) >= MOST_KNOWN:
            self._seen.clear()
        self._seen[tenant, name] = time.monotonic() + FRESH
