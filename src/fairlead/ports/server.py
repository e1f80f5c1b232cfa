"""What a store keeps for servers: keys of the HTTP API, answers to repeated requests, samples of the system."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from fairlead.core.insight.audit import AuditNote
from fairlead.core.web.api_keys import ApiKey, NewKey
from fairlead.core.web.stored_responses import Reservation, StoredResponse


class ServerRecords(Protocol):
    """The verbs about these."""

    async def add_key(self, key: NewKey, note: AuditNote) -> None:
        """Keep a new API key."""

    async def list_keys(self, limit: int, cursor: str | None = None) -> list[ApiKey]:
        """API keys after the cursor, by id."""

    async def read_keys(self, ids: Sequence[str]) -> list[ApiKey]:
        """Those of the API keys that there are."""

    async def revoke_key(self, key_id: str, note: AuditNote) -> bool:
        """End an API key; False where it had been ended before, or never was."""

    async def touch_keys(self, uses: Mapping[str, float]) -> None:
        """Keep when API keys were last used: so many seconds ago."""

    async def reserve_answer(self, wanted: Reservation, lock: float, keep: float) -> StoredResponse | None:
        """Reserve the answer to an HTTP request, unless it is reserved or there: then that one."""

    async def keep_answer(self, reserved: Reservation, status: int, headers: str, body: str) -> None:
        """Keep the answer that was reserved, if it still is."""

    async def drop_answer(self, reserved: Reservation) -> None:
        """Give up a reservation."""

    async def forget_answers(self, limit: int) -> int:
        """Remove answers past their time; returns how many."""

    async def add_sample(self, value: str, kept: float) -> None:
        """Keep a JSON text as of now, and forget what is older than `kept` seconds."""

    async def samples(self, back: float) -> list[tuple[float, str]]:
        """What was kept in the last `back` seconds, oldest first, each with its instant."""
