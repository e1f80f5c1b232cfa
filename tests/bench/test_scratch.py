"""A benchmark works in a scratch database and leaves nothing behind."""

import asyncio
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from fairlead.bench.scratch import SCHEMA, in_schema, scratch_database
from fairlead.errors import ConfigError, StoreRefused


def schemas(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("select nspname from pg_namespace where nspname !~ '^pg_'")]


def test_url_names_the_schema_and_keeps_its_other_options() -> None:
    plain = in_schema("postgresql://me@host/jobs")
    assert plain == "postgresql://me@host/jobs?options=-csearch_path%3Dfairlead_bench"
    given = in_schema("postgresql://me@host/jobs?sslmode=require&options=-cwork_mem%3D8MB")
    assert parse_qs(urlsplit(given).query) == {
        "sslmode": ["require"],
        "options": ["-cwork_mem=8MB -csearch_path=fairlead_bench"],
    }


@pytest.mark.postgres
def test_schema_exists_only_during_the_benchmark(postgres_url: str) -> None:
    before = schemas(postgres_url)
    with scratch_database(postgres_url):
        assert SCHEMA in schemas(postgres_url)
    assert schemas(postgres_url) == before


@pytest.mark.postgres
def test_schema_that_exists_already_is_refused_and_kept(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create schema fairlead_bench")
        try:
            with pytest.raises(StoreRefused, match="DROP SCHEMA"), scratch_database(postgres_url):
                pass
            assert SCHEMA in schemas(postgres_url)
        finally:
            connection.execute("drop schema fairlead_bench")


def test_database_in_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match="memory"), scratch_database("sqlite:///:memory:"):
        pass


def test_file_is_new_each_time_beside_the_given_one_and_then_gone(tmp_path: Path) -> None:
    with scratch_database(f"sqlite:///{tmp_path}/jobs.db?synchronous=normal") as scratch:
        first, second = (asyncio.run(scratch.fresh()) for _ in range(2))
        assert first != second
        assert second.endswith(".db?synchronous=normal")
        assert [path.parent.parent for path in tmp_path.rglob("*.db")] == [tmp_path]
    assert list(tmp_path.iterdir()) == []
