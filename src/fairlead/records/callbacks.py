"""Callback endpoints, and the log of the last deliveries to each."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.core.durations import instant
from fairlead.core.insight.audit import AuditNote
from fairlead.core.stored import known_members
from fairlead.core.web.callbacks import KEPT_DELIVERIES, CallbackEvent, Delivered, Endpoint, Secret
from fairlead.ports.database import Database, Run, Script
from fairlead.records.audit import append_script


class Callbacks:
    """Stores endpoints; each change is a compare-and-swap on version and secrets."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, endpoint: Endpoint, note: AuditNote) -> bool:
        """Store a new endpoint; False if its owner has one with this name."""
        return await self._database.transact(lambda: _write("add_callback", _row(endpoint), note))

    async def change(self, endpoint: Endpoint, seen: Endpoint, note: AuditNote) -> bool:
        """Replace an endpoint if it is unchanged since `seen` was read."""
        guard = {"seen": seen.version, "seen_secrets": json.dumps(seen.secrets)}
        return await self._database.transact(lambda: _write("change_callback", {**_row(endpoint), **guard}, note))

    async def remove(self, owner: str, name: str, note: AuditNote) -> bool:
        """Remove an endpoint and its log; False if there is none."""
        return await self._database.transact(lambda: _remove({"owner": owner, "name": name}, note))

    async def read(self, wanted: Iterable[tuple[str, str]]) -> list[Endpoint]:
        """Return the endpoints with these owners and names that exist."""
        batch = [{"owner": owner, "name": name} for owner, name in wanted]
        return [endpoint_of(row) for row in await self._database.ask_each("read_callbacks", batch)]

    async def page(self, limit: int, after: tuple[str, str] | None = None, owner: str | None = None) -> list[Endpoint]:
        """Return endpoints ordered by owner and name, after `after`; of one owner or of all."""
        after_owner, after_name = after or (None, None)
        found = await self._database.ask(
            "list_callbacks", limit=limit, after_owner=after_owner, after_name=after_name, owner=owner
        )
        return [endpoint_of(row) for row in found]

    async def log_delivery(self, endpoint: Endpoint, delivered: Delivered) -> bool:
        """Store a try in the log of its endpoint; False if the endpoint was removed or has another URL now."""
        return await self._database.transact(lambda: _log(endpoint, delivered))

    async def deliveries(self, owner: str, name: str, limit: int, cursor: int | None = None) -> list[Delivered]:
        """Return the tries of an endpoint before the cursor, newest first."""
        found = await self._database.ask("read_deliveries", owner=owner, endpoint=name, limit=limit, cursor=cursor)
        return [Delivered(*row)._replace(at=instant(row[9])) for row in found]

    async def prune_deliveries(self, older_than: float, limit: int) -> int:
        """Remove tries older than `older_than` seconds; returns how many."""
        return len(await self._database.run("prune_deliveries", older_than=older_than, limit=limit))


def endpoint_of(row: Sequence[Any]) -> Endpoint:
    """From (owner, name, url, events, pool, secrets, enabled, why_disabled, version, created_at)."""
    return Endpoint(
        owner=row[0],
        name=row[1],
        url=row[2],
        events=known_members(CallbackEvent, json.loads(row[3])),
        pool=row[4],
        secrets=tuple(Secret(*item[:2]) for item in json.loads(row[5])),
        enabled=bool(row[6]),
        why_disabled=row[7],
        version=row[8],
        created_at=instant(row[9]),
    )


def _row(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "owner": endpoint.owner,
        "name": endpoint.name,
        "url": endpoint.url,
        "events": json.dumps(endpoint.events),
        "pool": endpoint.pool,
        "secrets": json.dumps(endpoint.secrets),
        "enabled": endpoint.enabled,
        "why_disabled": endpoint.why_disabled,
        "version": endpoint.version,
    }


def _write(query: str, row: dict[str, Any], note: AuditNote) -> Script[bool]:
    found = yield Run(query, row)
    if found:
        yield from append_script(note)
    return bool(found)


def _remove(which: dict[str, Any], note: AuditNote) -> Script[bool]:
    found = yield Run("remove_callback", dict(which))
    if found:
        yield Run("remove_deliveries", dict(which))
        yield from append_script(note)
    return bool(found)


def _log(endpoint: Endpoint, delivered: Delivered) -> Script[bool]:
    which = {"owner": endpoint.owner, "name": endpoint.name}
    columns = {name: value for name, value in delivered._asdict().items() if name not in ("id", "at")}
    found = yield Run("add_delivery", {**which, **columns, "url": endpoint.url})
    if found:
        yield Run("trim_deliveries", {**which, "kept": KEPT_DELIVERIES})
    return bool(found)
