"""Migrating while others use the tables."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from fairlead.errors import StoreUnavailable
from fairlead.stores.postgres import migrate as migrating
from fairlead.stores.postgres.migrate import migrate

pytestmark = pytest.mark.postgres

NAME = "9999_later"


@pytest.fixture
def later(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more migration than there is; what it did is undone."""
    shutil.copytree(migrating.MIGRATIONS, tmp_path / "migrations")
    script = "alter table schedule add column later text;\n"
    (tmp_path / "migrations" / f"{NAME}.sql").write_text(script, encoding="utf-8")
    monkeypatch.setattr(migrating, "MIGRATIONS", tmp_path / "migrations")
    monkeypatch.setattr(migrating, "LOCK_TIMEOUT", "100ms")
    yield
    with psycopg.connect(postgres_url) as connection:
        connection.execute("alter table schedule drop column if exists later")
        connection.execute("delete from schema_version where version = 9999")


async def test_a_migration_that_has_to_wait_lets_others_pass(
    postgres_url: str, later: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup reads all tables in one transaction; who waits behind it for the table's lock stops everybody else."""
    monkeypatch.setattr(migrating, "PAUSE", (0.1, 0.2))
    with psycopg.connect(postgres_url) as backup, psycopg.connect(postgres_url, autocommit=True) as other:
        backup.execute("select from schedule")
        running = asyncio.create_task(migrate(postgres_url))
        other.execute("set lock_timeout = '30s'")
        for _ in range(20):
            await asyncio.to_thread(other.execute, "select from schedule")
            await asyncio.wait([running], timeout=0.05)
        assert not running.done()
        backup.rollback()
        assert await asyncio.wait_for(running, 60) == [NAME]


async def test_a_lock_that_is_not_let_go_is_said(
    postgres_url: str, later: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "PATIENCE", 0.0)
    with psycopg.connect(postgres_url) as backup:
        backup.execute("select from schedule")
        with pytest.raises(StoreUnavailable, match="pg_stat_activity"):
            await migrate(postgres_url)
        backup.rollback()
        assert await migrate(postgres_url) == [NAME]
