"""What the tests of the SQLite store share."""

import time
from pathlib import Path

import apsw
import pytest

from fairlead.core.jobs.ids import make_ids
from fairlead.core.jobs.model import Lane, NewJob, Priority, Unique
from fairlead.stores.sqlite import migrate as migrating
from tests.support.migrations import older_migrations

LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)


def new_jobs(count: int, payload: str = "{}", lane: Lane = LANE, unique: Unique | None = None) -> list[NewJob]:
    """Jobs that are ready at once."""
    return [NewJob(job_id, lane, payload, unique=unique) for job_id in make_ids(count, time.time())]


def make_old(path: Path, version: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database as an earlier version made it, with a lane."""
    with monkeypatch.context() as patch:
        patch.setattr(migrating, "MIGRATIONS", older_migrations(migrating.MIGRATIONS, version, folder))
        connection = apsw.Connection(str(path))
        migrating.apply_missing(connection, 1.0)
        connection.execute(
            "insert into lane (id, pool, tenant, type, priority, version, limits) values (?, ?, ?, ?, ?, ?, ?)",
            (LANE.id, LANE.pool, LANE.tenant, LANE.type, int(LANE.priority), LANE.version, LANE.limits),
        )
        connection.close()
