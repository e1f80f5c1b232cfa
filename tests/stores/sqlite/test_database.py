"""Transactions in groups, waiting for locks, forks and files that go away."""

import asyncio
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from fairlead.errors import StoreRefused, StoreUnavailable
from fairlead.stores.sqlite import connection as connections
from fairlead.stores.sqlite import transactions
from fairlead.stores.sqlite.address import Address
from fairlead.stores.sqlite.database import DatabaseFile, wal_bytes


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "some.db")


@pytest.fixture
async def database(path: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DatabaseFile]:
    """A database with a table, whose clock counts transactions; what comes while one is written waits for the next."""
    monkeypatch.setattr(transactions, "JOIN_WITHIN", 0.0)
    ticks = itertools.count()
    opened = DatabaseFile(Address(path), clock=lambda: float(next(ticks)))
    opened.open(create=True)
    await opened.run(lambda connection, now: connection.execute("create table note (word text)"))
    yield opened
    opened.close()


def write(word: str) -> Callable[[apsw.Connection, float], float]:
    def work(connection: apsw.Connection, now: float) -> float:
        connection.execute("insert into note values (?)", (word,))
        return now

    return work


def words(connection: apsw.Connection, now: float) -> list[Any]:
    return [row[0] for row in connection.execute("select word from note order by rowid")]


class Gate:
    """A work that waits inside its transaction until the test lets it go on."""

    def __init__(self) -> None:
        self.entered, self.released = threading.Event(), threading.Event()

    def __call__(self, connection: apsw.Connection, now: float) -> float:
        self.entered.set()
        assert self.released.wait(10)
        return now

    async def reached(self) -> None:
        assert await asyncio.to_thread(self.entered.wait, 10)


@pytest.mark.parametrize(("join_within", "later"), [(0.0, 1), (60.0, 0)], ids=["next", "along"])
async def test_who_comes_meanwhile_shares_the_next_transaction_or_soon_goes_along(
    database: DatabaseFile, monkeypatch: pytest.MonkeyPatch, join_within: float, later: int
) -> None:
    monkeypatch.setattr(transactions, "JOIN_WITHIN", join_within)
    gate = Gate()
    first = asyncio.create_task(database.run(gate))
    await gate.reached()
    others = [asyncio.create_task(database.run(write(word))) for word in "abc"]
    await asyncio.sleep(0)
    gate.released.set()
    began, *times = await asyncio.gather(first, *others)
    assert times == [began + later] * 3
    assert await database.read(words) == ["a", "b", "c"]


async def test_nobody_gets_an_answer_before_the_commit(database: DatabaseFile) -> None:
    blocker, gate = Gate(), Gate()
    before = asyncio.create_task(database.run(blocker))
    await blocker.reached()
    early, late = asyncio.create_task(database.run(write("a"))), asyncio.create_task(database.run(gate))
    await asyncio.sleep(0)
    blocker.released.set()
    await gate.reached()
    assert not early.done()
    assert await database.read(words) == []
    gate.released.set()
    assert await early == await late
    assert await database.read(words) == ["a"]
    await before


@pytest.mark.parametrize("join_within", [0.0, 60.0], ids=["next", "along"])
async def test_one_failure_takes_nothing_of_the_others_with_it(
    database: DatabaseFile, monkeypatch: pytest.MonkeyPatch, join_within: float
) -> None:
    monkeypatch.setattr(transactions, "JOIN_WITHIN", join_within)

    def fail(connection: apsw.Connection, now: float) -> None:
        connection.execute("insert into note values ('broken')")
        raise ZeroDivisionError

    gate = Gate()
    first = asyncio.create_task(database.run(gate))
    await gate.reached()
    works = [write("a"), fail, write("b")]
    tasks = [asyncio.create_task(database.run(work)) for work in works]
    await asyncio.sleep(0)
    gate.released.set()
    results = await asyncio.gather(first, *tasks, return_exceptions=True)
    assert isinstance(results[2], ZeroDivisionError)
    assert await database.read(words) == ["a", "b"]


async def test_a_failure_that_undoes_all_is_confined_by_running_each_alone(database: DatabaseFile) -> None:
    def undo_all(connection: apsw.Connection, now: float) -> None:
        connection.execute("ROLLBACK")
        raise apsw.FullError("no space")

    gate = Gate()
    first = asyncio.create_task(database.run(gate))
    await gate.reached()
    tasks = [asyncio.create_task(database.run(work)) for work in (write("a"), undo_all, write("b"))]
    await asyncio.sleep(0)
    gate.released.set()
    results = await asyncio.gather(first, *tasks, return_exceptions=True)
    assert isinstance(results[2], StoreUnavailable)
    assert await database.read(words) == ["a", "b"]


async def test_a_cancelled_work_that_has_not_begun_is_left_out(database: DatabaseFile) -> None:
    gate = Gate()
    first = asyncio.create_task(database.run(gate))
    await gate.reached()
    second = asyncio.create_task(database.run(write("a")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    gate.released.set()
    await first
    assert await database.read(words) == []


async def test_blocking_callers_stand_in_the_same_line(database: DatabaseFile) -> None:
    await asyncio.to_thread(database.call, write("a"))
    assert await database.run(words) == ["a"]


async def test_a_reader_cannot_write(database: DatabaseFile) -> None:
    with pytest.raises(StoreRefused):
        await database.read(write("a"))


HOLD_LOCK = """
import apsw, sys, time
connection = apsw.Connection(sys.argv[1])
connection.execute("begin immediate")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("commit")
connection.close()
"""


@contextmanager
def hold_lock(path: str) -> Iterator[Callable[[], None]]:
    """Another process that holds the write lock until it is told to let go."""
    command = [sys.executable, "-c", HOLD_LOCK, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "locked\n"
        stdin = other.stdin

        def let_go() -> None:
            stdin.write("\n")
            stdin.flush()

        yield let_go


async def test_a_lock_of_another_process_is_waited_out(database: DatabaseFile, path: str) -> None:
    with hold_lock(path) as let_go:
        writing = asyncio.create_task(database.run(write("a")))
        assert await database.read(words) == []
        assert not writing.done()
        let_go()
        await writing
    assert await database.read(words) == ["a"]


async def begun(database: DatabaseFile) -> None:
    """The line has taken up what was submitted to it."""
    assert database._writer is not None
    await asyncio.sleep(0)
    while not database._writer._queue.empty():  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_who_comes_while_a_lock_is_waited_for_goes_along(database: DatabaseFile, path: str) -> None:
    def fail(connection: apsw.Connection, now: float) -> None:
        raise ValueError("on purpose")

    with hold_lock(path) as let_go:
        first = asyncio.create_task(database.run(write("a")))
        await begun(database)
        assert await database.read(words) == []
        others = [asyncio.create_task(database.run(write(word))) for word in "bc"]
        await asyncio.sleep(0)
        let_go()
        assert len(set(await asyncio.gather(first, *others))) == 1
    with hold_lock(path) as let_go:
        first = asyncio.create_task(database.run(write("d")))
        await begun(database)
        failing = asyncio.create_task(database.run(fail))
        await asyncio.sleep(0)
        let_go()
        await first
        with pytest.raises(ValueError, match="on purpose"):
            await failing
    assert await database.read(words) == ["a", "b", "c", "d"]


def test_a_lock_that_is_seldom_free_is_looked_at_often(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that writes all the time leaves it free for moments, which who looks every 100 ms misses for seconds."""
    waiting, holder = connections.connect(Address(path), create=True), apsw.Connection(path)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 100:
            holder.execute("commit")

    monkeypatch.setattr(time, "sleep", pause)
    holder.execute("begin immediate")
    waiting.execute("begin immediate")
    assert len(pauses) == 100
    assert max(pauses) <= 0.002
    holder.close()
    waiting.close()


@pytest.mark.parametrize("patience", [10.0, 0.25])
def test_a_lock_is_waited_for_only_so_long(path: str, patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, holder = connections.connect(Address(path), create=True), apsw.Connection(path)
    slept = [0.0]
    monkeypatch.setattr(
        "fairlead.stores.sqlite.connection.time.sleep", lambda seconds: slept.append(slept[-1] + seconds)
    )
    monkeypatch.setattr(time, "monotonic", lambda: slept[-1])
    connections.wait_for_locks(waiting, patience)
    holder.execute("begin immediate")
    for _ in range(2):
        began = slept[-1]
        with pytest.raises(apsw.BusyError):
            waiting.execute("begin immediate")
        assert slept[-1] - began == pytest.approx(patience, abs=0.01)
    holder.close()
    waiting.close()


async def test_a_lock_that_stays_is_reported(
    database: DatabaseFile, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "DEADLINE", 0.05)
    await database.run(lambda connection, now: connection.set_busy_timeout(10))
    other = apsw.Connection(path)
    other.execute("begin immediate")
    with pytest.raises(StoreUnavailable, match="stayed locked"):
        await database.run(write("a"))
    other.close()
    await database.run(write("b"))


async def test_a_file_that_was_replaced_gets_nothing_more(database: DatabaseFile, path: str) -> None:
    os.rename(path, f"{path}.old")
    with pytest.raises(StoreRefused, match="moved, deleted or replaced"):
        await database.run(write("a"))
    os.rename(f"{path}.old", path)
    await database.run(write("b"))


async def test_what_waited_too_long_is_not_begun(database: DatabaseFile, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()
    first = asyncio.create_task(database.run(gate))
    await gate.reached()
    monkeypatch.setattr("fairlead.stores.sqlite.lines.DEADLINE", -1.0)
    second = asyncio.create_task(database.run(write("a")))
    await asyncio.sleep(0)
    gate.released.set()
    await first
    with pytest.raises(StoreUnavailable, match="nothing was done"):
        await second
    monkeypatch.undo()
    assert await database.read(words) == []


async def test_opening_twice_changes_nothing(database: DatabaseFile) -> None:
    database.open()
    await database.run(write("a"))
    assert await database.read(words) == ["a"]


async def test_a_closed_database_says_so(database: DatabaseFile) -> None:
    database.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.run(words)


async def test_a_large_wal_is_given_back(database: DatabaseFile, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.stores.sqlite.database.LARGEST_WAL", 10_000)
    monkeypatch.setattr("fairlead.stores.sqlite.database.CHECK_INTERVAL", 0.0)
    monkeypatch.setattr(database, "_next_check", 0.0)
    await database.run(write("a" * 50_000))
    await database.run(lambda connection, now: None)  # answered before the check, which the next one waits for
    assert wal_bytes(path) <= 10_000
