"""What is wrong with a database, told so that somebody can act on it."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import cast

import apsw
import pytest

from fairlead.errors import ConfigError, SchemaMismatch, StoreRefused, StoreUnavailable
from fairlead.stores.sqlite import address as addresses
from fairlead.stores.sqlite.address import Address, parse, require_local
from fairlead.stores.sqlite.connection import require_library
from fairlead.stores.sqlite.migrate import migrate
from fairlead.stores.sqlite.store import SqliteStore
from fairlead.wiring import make_store
from tests.stores.sqlite.support import new_jobs
from tests.support.migrations import ALL


def test_urls_are_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse("sqlite:///jobs.db") == Address(os.path.realpath(tmp_path / "jobs.db"))
    assert parse("sqlite:////var/x.db?synchronous=normal") == Address("/var/x.db", "NORMAL")
    assert parse("sqlite:///:memory:").in_memory
    assert parse("sqlite://").in_memory


@pytest.mark.parametrize(
    "url", ["sqlite:jobs.db", "sqlite://jobs.db", "sqlite:///a?mode=ro", "sqlite:///a?synchronous=off"]
)
def test_urls_that_cannot_work_are_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        parse(url)


async def test_a_missing_file_is_not_created_by_opening(tmp_path: Path) -> None:
    store = make_store(f"sqlite:///{tmp_path}/jobs.db")
    with pytest.raises(SchemaMismatch, match="fairlead migrate"):
        await store.open()
    assert os.listdir(tmp_path) == []


async def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """Payloads, and the secrets that callbacks are signed with, are in it."""
    mask = os.umask(0o000)
    try:
        await migrate(f"sqlite:///{tmp_path}/jobs.db")
        store = make_store(f"sqlite:///{tmp_path}/jobs.db")
        await store.open()
        await store.jobs.enqueue(new_jobs(1))
        modes = {name: os.stat(tmp_path / name).st_mode & 0o777 for name in os.listdir(tmp_path)}
        await store.close()
    finally:
        os.umask(mask)
    assert modes == {"jobs.db": 0o600, "jobs.db-wal": 0o600, "jobs.db-shm": 0o600}


async def test_the_rights_of_a_file_that_is_there_are_its_owners_to_choose(tmp_path: Path) -> None:
    file = tmp_path / "jobs.db"
    file.touch()
    file.chmod(0o660)
    await migrate(f"sqlite:///{file}")
    assert file.stat().st_mode & 0o777 == 0o660


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/nowhere/jobs.db"
    with pytest.raises(StoreRefused, match=f"no folder {tmp_path}/nowhere"):
        await migrate(url)
    with pytest.raises(StoreRefused, match="no folder"):
        await make_store(url).open()


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="it is a folder"):
        await make_store(f"sqlite:///{tmp_path}").open()


async def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "jobs.db"
    file.write_text("this is a letter, not a database " * 100, encoding="utf-8")
    with pytest.raises(StoreRefused, match="is not a SQLite database"):
        await make_store(f"sqlite:///{file}").open()


async def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "jobs.db"
    await migrate(f"sqlite:///{file}")
    with file.open("r+b") as content:
        content.seek(100)
        content.write(b"\xff" * 5000)
    with pytest.raises(StoreRefused, match="is damaged"):
        await make_store(f"sqlite:///{file}").open()


async def test_a_database_without_our_tables_asks_for_a_migration(tmp_path: Path) -> None:
    file = tmp_path / "jobs.db"
    file.touch()
    with pytest.raises(SchemaMismatch, match="no Fairlead tables"):
        await make_store(f"sqlite:///{file}").open()


@pytest.mark.parametrize(("version", "message"), [(0, "run `fairlead migrate`"), (99, "newer Fairlead")])
async def test_another_schema_is_refused(tmp_path: Path, version: int, message: str) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    assert await migrate(url) == ALL
    assert await migrate(url) == []
    connection = apsw.Connection(str(tmp_path / "jobs.db"))
    connection.execute("delete from schema_version where version > 1")
    connection.execute("update schema_version set version = ?", (version,))
    connection.close()
    with pytest.raises(SchemaMismatch, match=message):
        await make_store(url).open()


async def test_a_full_disk_stores_nothing_and_heals(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    await migrate(url)
    store = make_store(url)
    await store.open()
    await cast(SqliteStore, store.jobs)._database.run(lambda connection, now: connection.pragma("max_page_count", 40))
    with pytest.raises(StoreUnavailable, match="free some space"):
        await store.jobs.enqueue(new_jobs(100, payload='"' + "x" * 5000 + '"'))
    assert await store.reader.count_jobs() == {}
    await cast(SqliteStore, store.jobs)._database.run(
        lambda connection, now: connection.pragma("max_page_count", 100_000)
    )
    await store.jobs.enqueue(new_jobs(100, payload='"' + "x" * 5000 + '"'))
    assert await store.reader.count_jobs() == {("short", "ready"): 100}
    await store.close()


def run_script(script: str, url: str) -> str:
    """What a process of its own prints, with the tests' helpers to import."""
    command = [sys.executable, "-c", script, url]
    root = Path(__file__).parents[3]
    return subprocess.run(command, check=True, timeout=30, cwd=root, stdout=subprocess.PIPE, text=True).stdout


LIMITED = """
import asyncio, resource, signal, sys
from fairlead.errors import StoreUnavailable
from fairlead.records.store import Store
from fairlead.wiring import make_store
from tests.stores.sqlite.support import new_jobs

async def main():
    store = make_store(sys.argv[1])
    await store.open()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, -1))
    try:
        await store.jobs.enqueue(new_jobs(100, payload='"' + "x" * 20_000 + '"'))
    except StoreUnavailable:
        resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
        assert await store.reader.count_jobs() == {}
        await store.jobs.enqueue(new_jobs(100, payload='"' + "x" * 20_000 + '"'))
        await store.close()
        return
    sys.exit("the limit was not felt")

asyncio.run(main())
"""


async def test_a_file_that_may_not_grow_stores_nothing_and_heals(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    await migrate(url)
    run_script(LIMITED, url)


READ_ONLY = """
import asyncio, concurrent.futures.thread, os, sys
from fairlead.errors import StoreRefused
from fairlead.records.store import Store
from fairlead.wiring import make_store
from tests.stores.sqlite.support import new_jobs

store = make_store(sys.argv[1])  # it imports modules, which nobody may read any more once the rights are given up

async def main():
    try:
        await store.open()
        await store.jobs.enqueue(new_jobs(1))
    except StoreRefused as error:
        print(error)
    finally:
        await store.close()

if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
asyncio.run(main())
"""


@pytest.mark.parametrize("folder_mode", [0o777, 0o555])
async def test_a_file_without_the_right_to_write_is_refused(folder_mode: int) -> None:
    with tempfile.TemporaryDirectory() as folder:  # not below tmp_path, which nobody else may enter
        url = f"sqlite:///{folder}/jobs.db"
        await migrate(url)
        os.chmod(f"{folder}/jobs.db", 0o444)
        os.chmod(folder, folder_mode)
        assert "the right to" in run_script(READ_ONLY, url)


def test_an_old_library_is_refused() -> None:
    with pytest.raises(StoreRefused, match="WAL-reset"):
        require_library("3.51.2")
    require_library("3.51.3")
    require_library("3.100.0")


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda1 / ext4 rw 0 0\n"
        "host:/x /mnt/the\\040share nfs4 rw 0 0\n"
        "/dev/sdb1 /mnt/the\\040share/local xfs rw 0 0\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(addresses, "MOUNTS", mounts)
    with pytest.raises(StoreRefused, match=r"network file system \(nfs4\)"):
        require_local("/mnt/the share/jobs.db")
    require_local("/mnt/the share/local/jobs.db")
    require_local("/mnt/the shares/jobs.db")


async def test_a_file_that_sqlite3_has_open_here_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    await migrate(url)
    other = sqlite3.connect(tmp_path / "jobs.db")
    other.execute("select count(*) from job").fetchall()
    with pytest.raises(StoreRefused, match="another SQLite library"):
        await make_store(url).open()
    other.close()
    store = make_store(url)
    await store.open()
    await store.close()
