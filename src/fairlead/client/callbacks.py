"""Callbacks on the application's side: is the endpoint there that a submission names, and is a received one genuine."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.core.web.callbacks import EVERYONE, nearest
from fairlead.core.web.signatures import TOLERANCE, verified
from fairlead.errors import UnknownCallback
from fairlead.records.store import Store

FRESH = 10.0
MOST_KNOWN = 1_000


class KnownCallbacks:
    """The endpoints that one client has seen in the last seconds."""

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
                "make it with `fairlead callbacks set`, or see `fairlead callbacks list`"
            )
        if len(self._seen) >= MOST_KNOWN:
            self._seen.clear()
        self._seen[tenant, name] = time.monotonic() + FRESH


def verify_callback(
    headers: Mapping[str, str],
    body: bytes | str,
    secrets: str | Sequence[str],
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> Any:
    """The event of a callback, as JSON says it; InvalidSignature unless one of the secrets signed it lately.

    `body` is what was received, byte for byte. A message whose time is further than `tolerance` seconds from now is
    refused, so that somebody who has read an old one cannot send it again.
    """
    raw = body.encode() if isinstance(body, str) else bytes(body)
    known = [secrets] if isinstance(secrets, str) else list(secrets)
    return verified(headers, raw, known, tolerance, time.time() if now is None else now)
