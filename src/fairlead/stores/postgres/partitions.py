"""Daily partitions of the tables that only grow: made ahead, dropped after the longest retention.

A row that finds no partition of its day (nobody ran the scheduler for days) goes to the `_rest` partition and is
deleted from there when its time comes. Retention is therefore a matter of dropping tables; only types that are kept
for less time than others, or for less than a day, cost deletes.
"""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg import sql

from fairlead.stores.postgres.connection import query

TABLES = ("job_history", "attempt")
DAYS_AHEAD = 3
DAY = 86_400.0


async def prepare(connection: psycopg.AsyncConnection[Any]) -> None:
    """Make the partitions of today and the next days where they are missing."""
    today = await _today(connection)
    for table in TABLES:
        existing = await _partitions(connection, table)
        for day in (today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1)):
            if _name(table, day) not in existing:
                await _create(connection, table, day)


async def prune(
    connection: psycopg.AsyncConnection[Any],
    shard: int,
    retention: Mapping[str, float],
    default_retention: float,
    limit: int,
) -> int:
    """Prepare the coming days, drop days past the longest retention, delete what is kept for less."""
    await prepare(connection)
    longest = max([default_retention, *retention.values()])
    removed = await _drop_old(connection, longest)
    shortest = min([default_retention, *retention.values()])
    parameters = {
        "shard": shard,
        "limit": limit,
        "rows": json.dumps([{"type": name, "retention": kept} for name, kept in retention.items()]),
        "retention": default_retention,
        "shortest": shortest,
    }
    names = ["prune_rest", "prune_rest_attempts", "forget_keys", "forget_workers", "forget_run_counts"]
    if shortest < max(longest, DAY):
        names.insert(0, "prune_history")
    for name in names:
        cursor = await connection.execute(query(name), parameters)
        removed += cursor.rowcount if name in ("prune_history", "prune_rest") else 0
    return removed


async def _drop_old(connection: psycopg.AsyncConnection[Any], longest: float) -> int:
    """Drop partitions whose last instant is past retention; returns how many finished jobs went with them."""
    today = await _today(connection)
    keep_from = today - timedelta(seconds=longest) - timedelta(days=1)
    dropped = 0
    for table in TABLES:
        for name in await _partitions(connection, table):
            suffix = name.removeprefix(f"{table}_")
            if suffix.isdigit() and datetime.strptime(suffix, "%Y%m%d").date() < keep_from:
                dropped += await _drop(connection, table, name)
    return dropped


async def _create(connection: psycopg.AsyncConnection[Any], table: str, day: date) -> None:
    statement = sql.SQL(query("create_partition")).format(
        partition=sql.Identifier(_name(table, day)),
        parent=sql.Identifier(table),
        start=sql.Literal(f"{day} 00:00:00+00"),
        end=sql.Literal(f"{day + timedelta(days=1)} 00:00:00+00"),
    )
    try:
        async with connection.transaction():
            await connection.execute("SET LOCAL lock_timeout = '2s'")
            await connection.execute(statement)
    except (pg.CheckViolation, pg.DuplicateTable, pg.LockNotAvailable, pg.InvalidObjectDefinition):
        return  # rows of that day are in _rest already, another process was first, or the next round will get the lock


async def _drop(connection: psycopg.AsyncConnection[Any], table: str, name: str) -> int:
    count = sql.SQL(query("count_partition")).format(partition=sql.Identifier(name))
    drop = sql.SQL(query("drop_partition")).format(partition=sql.Identifier(name))
    belongings = ("prune_partition_effects", "prune_partition_progress")
    forget = [sql.SQL(query(each)).format(partition=sql.Identifier(name)) for each in belongings]
    try:
        async with connection.transaction():
            await connection.execute("SET LOCAL lock_timeout = '2s'")
            cursor = await connection.execute(count, {"name": name})
            row = await cursor.fetchone()
            for statement in forget if table == "job_history" else ():
                await connection.execute(statement)
            await connection.execute(drop)
    except (pg.UndefinedTable, pg.LockNotAvailable):
        return 0
    return int(row[0]) if row and table == "job_history" else 0


async def _partitions(connection: psycopg.AsyncConnection[Any], table: str) -> list[str]:
    cursor = await connection.execute(query("partitions"), {"parent": table})
    return [row[0] for row in await cursor.fetchall()]


async def _today(connection: psycopg.AsyncConnection[Any]) -> date:
    cursor = await connection.execute(query("today"))
    row = await cursor.fetchone()
    assert row
    return datetime.fromtimestamp(row[0], UTC).date()


def _name(table: str, day: date) -> str:
    return f"{table}_{day:%Y%m%d}"
