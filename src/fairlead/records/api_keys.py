"""API keys of the HTTP API, and stored responses to requests with an Idempotency-Key."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.core.durations import instant
from fairlead.core.insight.audit import AuditNote
from fairlead.core.stored import known_members
from fairlead.core.web.api_keys import ApiKey, Grant, NewKey
from fairlead.core.web.stored_responses import Reservation, StoredResponse
from fairlead.ports.database import Database, Run, Script
from fairlead.records.audit import append_script


class ApiKeys:
    """Adds, reads and revokes API keys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: NewKey, note: AuditNote) -> None:
        """Store a new key."""
        await self._database.transact(lambda: _add_key(key, note))

    async def page(self, limit: int, cursor: str | None = None) -> list[ApiKey]:
        """Return keys after the cursor, ordered by id."""
        return [key_of(row) for row in await self._database.ask("list_keys", limit=limit, cursor=cursor)]

    async def read(self, ids: Sequence[str]) -> list[ApiKey]:
        """Return the keys with these ids that exist."""
        return [key_of(row) for row in await self._database.ask_each("read_api_keys", [{"id": item} for item in ids])]

    async def revoke(self, key_id: str, note: AuditNote) -> bool:
        """Revoke a key; False if it was revoked before or does not exist."""
        return await self._database.transact(lambda: _revoke_key(key_id, note))

    async def touch(self, uses: Mapping[str, float]) -> None:
        """Store when keys were last used; values are seconds ago."""
        batch = [{"id": key_id, "ago": ago} for key_id, ago in sorted(uses.items())]
        await self._database.run_each("touch_keys", batch)


class StoredResponses:
    """Reserves, stores and removes responses to requests with an Idempotency-Key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def reserve(self, wanted: Reservation, lock: float, keep: float) -> StoredResponse | None:
        """Reserve the response of a request; returns the earlier request with this key if there is one."""
        parameters = {"scope": wanted.scope, "key": wanted.key}
        taken = await self._database.run(
            "reserve_answer", **parameters, token=wanted.token, digest=wanted.digest, lock=lock, keep=keep
        )
        if taken:
            return None
        found = await self._database.ask("read_answer", **parameters)
        return StoredResponse(*found[0]) if found else StoredResponse(wanted.digest, None, None, None)

    async def keep(self, reserved: Reservation, status: int, headers: str, body: str) -> None:
        """Store the response if its reservation is still valid."""
        parameters = {"scope": reserved.scope, "key": reserved.key, "token": reserved.token}
        await self._database.run("keep_answer", **parameters, status=status, headers=headers, body=body)

    async def drop(self, reserved: Reservation) -> None:
        """Remove a reservation."""
        await self._database.run("drop_answer", scope=reserved.scope, key=reserved.key, token=reserved.token)

    async def prune(self, limit: int) -> int:
        """Remove expired responses; returns how many."""
        return len(await self._database.run("forget_answers", limit=limit))


def key_of(row: Sequence[Any]) -> ApiKey:
    """From (id, name, grants, tenant, hash, created_at, expires_at, revoked_at, last_used_at, time_left, rate)."""
    created = instant(row[5])
    assert created
    grants = frozenset(known_members(Grant, json.loads(row[2])))
    return ApiKey(
        row[0], row[1], grants, row[3], row[4], created, instant(row[6]), instant(row[7]), instant(row[8]), row[9],
        row[10],
    )  # fmt: skip


def _add_key(key: NewKey, note: AuditNote) -> Script[None]:
    yield Run(
        "add_key",
        {
            "id": key.id,
            "name": key.name,
            "grants": json.dumps(sorted(key.grants)),
            "tenant": key.tenant,
            "hash": key.hash,
            "expires_in": key.expires_in,
            "rate": key.rate,
        },
    )
    yield from append_script(note)


def _revoke_key(key_id: str, note: AuditNote) -> Script[bool]:
    found = yield Run("revoke_key", {"id": key_id})
    if found:
        yield from append_script(note)
    return bool(found)
