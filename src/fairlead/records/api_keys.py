"""API keys of the HTTP API, and stored responses to requests with an Idempotency-Key."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.core.durations import instant
from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.changes import WaitingChange
from fairlead.core.stored import known_members
from fairlead.core.web.api_keys import ApiKey, Grant, NewKey
from fairlead.core.web.stored_responses import Reservation, StoredResponse
from fairlead.ports.database import Database, Run, RunEach, Script
from fairlead.records import rows
from fairlead.records.audit import append_script


class ApiKeys:
    """Adds, reads and revokes API keys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, key: NewKey, note: AuditNote) -> None:
        """Keep a new key."""
        await self._database.transact(lambda: _add_key(key, note))

    async def page(self, limit: int, cursor: str | None = None) -> list[ApiKey]:
        """Keys after the cursor, by id."""
        return [key_of(row) for row in await self._database.ask("list_keys", limit=limit, cursor=cursor)]

    async def read(self, ids: Sequence[str]) -> list[ApiKey]:
        """Those of the keys that there are."""
        return [key_of(row) for row in await self._database.ask_each("read_api_keys", [{"id": item} for item in ids])]

    async def revoke(self, key_id: str, note: AuditNote) -> bool:
        """End a key; False where it had been ended before, or never was."""
        return await self._database.transact(lambda: _revoke_key(key_id, note))

    async def touch(self, uses: Mapping[str, float]) -> None:
        """Keep when keys were last used: so many seconds ago."""
        batch = [{"id": key_id, "ago": ago} for key_id, ago in sorted(uses.items())]
        await self._database.run_each("touch_keys", batch)


class StoredResponses:
    """Reserves a response for a request, keeps it, and removes it past its time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def reserve(self, wanted: Reservation, lock: float, keep: float) -> StoredResponse | None:
        """Reserve the answer for a request, unless it is reserved or there: then that one."""
        parameters = {"scope": wanted.scope, "key": wanted.key}
        taken = await self._database.run(
            "reserve_answer", **parameters, token=wanted.token, digest=wanted.digest, lock=lock, keep=keep
        )
        if taken:
            return None
        found = await self._database.ask("read_answer", **parameters)
        return StoredResponse(*found[0]) if found else StoredResponse(wanted.digest, None, None, None)

    async def keep(self, reserved: Reservation, status: int, headers: str, body: str) -> None:
        """Keep the answer that was reserved, if it still is."""
        parameters = {"scope": reserved.scope, "key": reserved.key, "token": reserved.token}
        await self._database.run("keep_answer", **parameters, status=status, headers=headers, body=body)

    async def drop(self, reserved: Reservation) -> None:
        """Give up a reservation."""
        await self._database.run("drop_answer", scope=reserved.scope, key=reserved.key, token=reserved.token)

    async def prune(self, limit: int) -> int:
        """Remove answers past their time; returns how many."""
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


def _amend(changes: Sequence[WaitingChange], note: AuditNote) -> Script[set[str]]:
    yield RunEach("insert_lanes", [rows.lane_row(lane) for lane in {change.lane for change in changes}])
    ids = {row[0] for row in (yield RunEach("amend_waiting", [_change_row(change) for change in changes]))}
    if ids:
        yield from append_script(note.about(count=len(ids), jobs=sorted(ids)), sorted(ids))
    return ids


def _change_row(change: WaitingChange) -> dict[str, Any]:
    return {
        "id": change.id,
        "held_state": change.held_state.value,
        "fence": change.fence,
        "lane": change.lane.id,
        "state": change.state.value,
        "run_at": change.run_at,
        "payload": change.payload,
    }


def _direct(worker_id: str, state: str, note: AuditNote) -> Script[bool]:
    found = yield Run("direct_worker", {"id": worker_id, "state": state})
    if found:
        yield from append_script(note)
    return bool(found)


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
