"""Applying migrations to SQLite: safe to run twice, and by many at once."""

import asyncio

import apsw

from fairlead.stores.migrations import migrations_in, needed_version, require_schema
from fairlead.stores.sqlite.address import parse
from fairlead.stores.sqlite.connection import FOLDER, query
from fairlead.stores.sqlite.database import DatabaseFile

MIGRATIONS = FOLDER / "migrations"


async def migrate(url: str) -> list[str]:
    """Create the file if there is none and bring the schema up to date; returns the names of what was applied."""
    database = DatabaseFile(parse(url), reads=False)
    await asyncio.to_thread(database.open, create=True)
    try:
        return await database.run(apply_missing)
    finally:
        await asyncio.to_thread(database.close)


def apply_missing(connection: apsw.Connection, now: float) -> list[str]:
    """Apply the migrations that this database lacks; the transaction's write lock keeps others out."""
    found = _current_version(connection) or 0
    needed = migrations_in(MIGRATIONS)
    if found > needed[-1].version:
        require_schema(found, needed[-1].version)
    applied = []
    for migration in needed:
        if migration.version > found:
            connection.execute(migration.script)
            row = {"version": migration.version, "name": migration.name, "now": now}
            connection.execute(query("record_migration"), row)
            applied.append(f"{migration.version:04d}_{migration.name}")
    return applied


def check_schema(connection: apsw.Connection, now: float) -> None:
    """Raise SchemaMismatch unless the schema is the one this version needs."""
    require_schema(_current_version(connection), needed_version(MIGRATIONS))


def _current_version(connection: apsw.Connection) -> int | None:
    if not connection.execute(query("schema_exists")).fetchone():
        return None
    row = connection.execute(query("schema_version")).fetchone()
    return row[0] if row else None
