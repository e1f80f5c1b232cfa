"""A benchmark works in a place of its own and leaves nothing behind."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from fairlead.bench.place import SCHEMA, in_schema, own_place
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
def test_schema_is_there_only_meanwhile(postgres_url: str) -> None:
    before = schemas(postgres_url)
    with own_place(postgres_url):
        assert SCHEMA in schemas(postgres_url)
    assert schemas(postgres_url) == before


@pytest.mark.postgres
def test_two_benchmarks_do_not_share_the_schema(postgres_url: str) -> None:
    with own_place(postgres_url), pytest.raises(StoreRefused, match="another"), own_place(postgres_url):
        pass
    assert SCHEMA not in schemas(postgres_url)


@pytest.mark.postgres
def test_schema_of_somebody_else_is_refused_and_kept(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create schema fairlead_bench")
        try:
            with pytest.raises(StoreRefused, match="not the benchmark's"), own_place(postgres_url):
                pass
            assert SCHEMA in schemas(postgres_url)
        finally:
            connection.execute("drop schema fairlead_bench")


@pytest.mark.postgres
def test_what_a_killed_benchmark_left_is_removed(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create schema fairlead_bench")
        connection.execute("comment on schema fairlead_bench is 'made by fairlead bench'")
    with own_place(postgres_url):
        pass
    assert SCHEMA not in schemas(postgres_url)


def test_file_is_beside_the_given_one_and_only_meanwhile(tmp_path: Path) -> None:
    with own_place(f"sqlite:///{tmp_path}/jobs.db?synchronous=normal") as place:
        assert place.url.startswith(f"sqlite:///{tmp_path}/fairlead-bench-")
        assert place.url.endswith(".db?synchronous=normal")
    assert list(tmp_path.iterdir()) == []


def test_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match="in memory"), own_place("sqlite:///:memory:"):
        pass
