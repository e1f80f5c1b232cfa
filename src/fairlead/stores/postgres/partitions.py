"""Daily partitions of the tables that only grow: made ahead, dropped after the default retention.

A row that finds no partition of its day (nobody ran the scheduler for days) goes to the `_rest` partition and is
deleted from there when its time comes. So do finished jobs whose type is kept for longer, when their day is dropped:
what one type needs costs nothing for the jobs of others. Types that are kept for less time, or for less than a day,
cost deletes.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg import sql

from fairlead.stores.postgres.connection import query
from fairlead.stores.postgres.database import SHARD
from fairlead.stores.pruning import ALL, LATE, groups, remove_group

TABLES = ("job_history", "attempt")
DAYS_AHEAD = 3
DAY = 86_400.0
STEPS = {
    "job_history": ("forget_effects", "forget_progress", "forget_checkpoints", "detach_partition", "keep_history"),
    "attempt": ("detach_partition", "keep_attempts"),
}

Removed = tuple[int, float | None]


async def prepare(connection: psycopg.AsyncConnection[Any]) -> None:
    """Make the partitions of today and the next days where they are missing."""
    today = await _today(connection)
    for table in TABLES:
        existing = await _partitions(connection, table)
        for day in (today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1)):
            if _name(table, day) not in existing:
                await _create(connection, table, day)


async def prune(
    connection: psycopg.AsyncConnection[Any], retention: Mapping[str, float], default: float, limit: int
) -> int:
    """Prepare the coming days, drop days past the default retention, delete what is kept for less or for longer."""
    await prepare(connection)
    longer = json.dumps([name for name, kept in retention.items() if kept > default])
    removed = await _drop_old(connection, default, longer)
    removed += await _delete_old(connection, retention, default, limit)
    for name in ("prune_rest_attempts", "forget_keys", "forget_workers", "forget_run_counts"):
        await connection.execute(query(name), {"shard": SHARD, "limit": limit, "retention": default})
    return removed


async def _delete_old(
    connection: psycopg.AsyncConnection[Any], retention: Mapping[str, float], default: float, limit: int
) -> int:
    """Delete finished jobs row by row: of types with a retention of their own, and what has no partition."""
    types = [row[0] for row in await _rows(connection, "finished_types")]
    marks = dict(await _rows(connection, "read_marks"))
    ((now,),) = await _rows(connection, "today")
    removed, moved = 0, {ALL: now - default - LATE}
    for group in groups(types, retention, default, marks, now):
        is_dropped = default >= DAY and all(retention.get(name, default) == default for name in group.types)
        text = query("prune_history").format(table="job_history_rest" if is_dropped else "job_history")

        async def remove(names: Sequence[str], after: float, before: float, most: int, text: str = text) -> Removed:
            given = {"shard": SHARD, "types": json.dumps(names), "after": after, "before": before, "limit": most}
            cursor = await connection.execute(text, given)
            ((count, last),) = await cursor.fetchall()
            return count, last

        count, mark = await remove_group(group, limit - removed, remove)
        removed += count
        moved |= dict.fromkeys(group.types, mark)
    batch = [{"type": name, "pruned_to": to} for name, to in moved.items()]
    await connection.execute(query("move_marks"), {"rows": json.dumps(batch)})
    return removed


async def _drop_old(connection: psycopg.AsyncConnection[Any], retention: float, longer: str) -> int:
    """Drop partitions whose last instant is past retention; returns how many finished jobs went with them."""
    today = await _today(connection)
    keep_from = today - timedelta(seconds=retention) - timedelta(days=1)
    dropped = 0
    for table in TABLES:
        for name in await _partitions(connection, table):
            suffix = name.removeprefix(f"{table}_")
            if suffix.isdigit() and datetime.strptime(suffix, "%Y%m%d").date() < keep_from:
                dropped += await _drop(connection, table, name, longer)
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


async def _drop(connection: psycopg.AsyncConnection[Any], table: str, name: str, longer: str) -> int:
    """Drop a partition; what is kept for longer moves to the part of its table that is never dropped."""
    parts = {"partition": sql.Identifier(name), "parent": sql.Identifier(table)}
    try:
        async with connection.transaction():
            await connection.execute("SET LOCAL lock_timeout = '2s'")
            for step in STEPS[table]:
                await connection.execute(sql.SQL(query(step)).format(**parts), {"types": longer})
            removed = await _count(connection, name, longer) if table == "job_history" else 0
            await connection.execute(sql.SQL(query("drop_partition")).format(**parts))
    except (pg.UndefinedTable, pg.LockNotAvailable):
        return 0
    return removed


async def _count(connection: psycopg.AsyncConnection[Any], name: str, longer: str) -> int:
    """How many jobs go with a partition."""
    count = sql.SQL(query("count_partition")).format(partition=sql.Identifier(name))
    cursor = await connection.execute(count, {"name": name, "types": longer, "whole": longer == "[]"})
    ((jobs,),) = await cursor.fetchall()
    return int(jobs)


async def _rows(connection: psycopg.AsyncConnection[Any], name: str) -> list[Any]:
    cursor = await connection.execute(query(name))
    return await cursor.fetchall()


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
