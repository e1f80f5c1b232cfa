"""Applying migrations to PostgreSQL: safe to run twice, and by many at once.

Whoever waits for a lock on a table keeps all who come later from it, behind a backup or a forgotten transaction for
hours. So a migration waits two seconds, lets the others pass, and tries again.
"""

import asyncio
import random
import time
from typing import Any

import psycopg
from psycopg import errors as pg

from fairlead.errors import StoreUnavailable
from fairlead.stores.migrations import migrations_in, needed_version, require_schema
from fairlead.stores.postgres import partitions
from fairlead.stores.postgres.connection import FOLDER, conninfo, is_direct, query, translating

MIGRATIONS = FOLDER / "migrations"
LOCK = 4_711_230_001
LOCK_TIMEOUT = "2s"
PATIENCE = 60.0
PAUSE = (1.0, 3.0)


async def migrate(url: str) -> list[str]:
    """Bring the schema up to date; returns the names of what was applied."""
    with translating():
        async with await psycopg.AsyncConnection.connect(conninfo(url), autocommit=True) as connection:
            await is_direct(connection)  # a statement that is prepared here would stay behind in a pooler's session
            applied = await _apply_patiently(connection)
            await partitions.prepare(connection)
            return applied


async def check_schema(connection: Any) -> None:
    """Raise SchemaMismatch unless the schema is the one this version needs."""
    require_schema(await _current_version(connection), needed_version(MIGRATIONS))


async def _apply_patiently(connection: psycopg.AsyncConnection[Any]) -> list[str]:
    latest = time.monotonic() + PATIENCE
    while True:
        try:
            return await _apply_missing(connection)
        except pg.LockNotAvailable:
            if time.monotonic() > latest:
                raise StoreUnavailable(
                    "nothing was migrated: another session has held a lock on Fairlead's tables for a minute, perhaps "
                    "a backup, or a transaction that somebody left open; find it in pg_stat_activity by its "
                    "xact_start, wait for it or end it, then run `fairlead migrate` again"
                ) from None
            await asyncio.sleep(random.uniform(*PAUSE))


async def _apply_missing(connection: psycopg.AsyncConnection[Any]) -> list[str]:
    applied = []
    async with connection.transaction():
        # Held until this transaction ends, so that it works through a pooler in transaction mode.
        await connection.execute(query("migration_lock"), {"lock": LOCK})
        await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        found = await _current_version(connection) or 0
        needed = migrations_in(MIGRATIONS)
        if found > needed[-1].version:
            require_schema(found, needed[-1].version)
        for migration in needed:
            if migration.version > found:
                await connection.execute(migration.script.encode())
                await connection.execute(
                    query("record_migration"), {"version": migration.version, "name": migration.name}
                )
                applied.append(f"{migration.version:04d}_{migration.name}")
    return applied


async def _current_version(connection: Any) -> int | None:
    cursor = await connection.execute(query("schema_exists"))
    row = await cursor.fetchone()
    if row is None or row[0] is None:
        return None
    cursor = await connection.execute(query("schema_version"))
    found = await cursor.fetchone()
    return found[0] if found else None
