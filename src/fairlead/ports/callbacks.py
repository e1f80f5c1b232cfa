"""What a store keeps about callbacks: the endpoints, and the last tries to reach each of them.

An endpoint is written by compare-and-swap on its version, and on its secrets, which tell it from one that was removed
and made again. The deliveries themselves are jobs; `settle` stores them. A try is written down by whoever made it, also
if its run was lost meanwhile, since it did take place; but only in the log of the endpoint that it went to.
"""

from collections.abc import Iterable
from typing import Protocol

from fairlead.core.insight.audit import AuditNote
from fairlead.core.web.callbacks import Delivered, Endpoint


class CallbackStore(Protocol):
    """The verbs about these."""

    async def add_callback(self, endpoint: Endpoint, note: AuditNote) -> bool:
        """Keep a new endpoint; False where its owner has one of this name."""

    async def change_callback(self, endpoint: Endpoint, seen: Endpoint, note: AuditNote) -> bool:
        """Replace an endpoint; False where it is not the one that was seen, or in another version."""

    async def remove_callback(self, owner: str, name: str, note: AuditNote) -> bool:
        """Remove an endpoint and its log; False where there is none."""

    async def read_callbacks(self, wanted: Iterable[tuple[str, str]]) -> list[Endpoint]:
        """Those of the endpoints, by owner and name, that there are."""

    async def list_callbacks(
        self, limit: int, after: tuple[str, str] | None = None, owner: str | None = None
    ) -> list[Endpoint]:
        """Endpoints by owner and name, beginning after one; of one owner or of all."""

    async def log_delivery(self, endpoint: Endpoint, delivered: Delivered) -> bool:
        """Keep a try to reach an endpoint, and forget the oldest beyond the last ones; False where that is gone."""

    async def read_deliveries(self, owner: str, name: str, limit: int, cursor: int | None = None) -> list[Delivered]:
        """The tries of an endpoint before the cursor, newest first."""

    async def prune_deliveries(self, older_than: float, limit: int) -> int:
        """Remove tries that are so many seconds old; returns how many."""
