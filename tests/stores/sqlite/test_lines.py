"""Works of blocking callers: on their own thread while nobody else writes, in the line with the others otherwise."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from fairlead.errors import StoreUnavailable
from fairlead.stores.sqlite import connection as connections
from fairlead.stores.sqlite import transactions
from fairlead.stores.sqlite.address import MEMORY, Address
from fairlead.stores.sqlite.database import DatabaseFile, wal_bytes
from fairlead.stores.sqlite.lines import Line
from tests.stores.sqlite.test_database import Gate, hold_lock, words, write
from tests.worker.support import until

LONG = 10.0


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "some.db")


@pytest.fixture(params=["file", "memory"])
def database(request: pytest.FixtureRequest, path: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DatabaseFile]:
    """A database with a table, whose clock counts transactions; what comes while one is written waits for the next."""
    monkeypatch.setattr(transactions, "JOIN_WITHIN", 0.0)
    ticks = itertools.count()
    address = Address(path if request.param == "file" else MEMORY)
    opened = DatabaseFile(address, clock=lambda: float(next(ticks)))
    opened.open(create=True)
    opened.call(lambda connection, now: connection.execute("create table note (word text)"))
    yield opened
    opened.close()


@pytest.fixture
def callers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def whoami(connection: apsw.Connection, now: float) -> tuple[int, float]:
    return threading.get_ident(), now


def writer(database: DatabaseFile) -> Line:
    assert database._writer is not None
    return database._writer


class Joined:
    """Tells when so many have joined the line."""

    def __init__(self, database: DatabaseFile, monkeypatch: pytest.MonkeyPatch, wanted: int) -> None:
        self._submit, self._wanted, self._joined = writer(database).submit, wanted, threading.Semaphore(0)
        monkeypatch.setattr(writer(database), "submit", self)

    def __call__(self, work: Any, answer: Any) -> None:
        self._submit(work, answer)
        self._joined.release()

    def wait(self) -> None:
        for _ in range(self._wanted):
            assert self._joined.acquire(timeout=LONG)


def enter(callers: ThreadPoolExecutor, database: DatabaseFile) -> tuple[Gate, "Future[float]"]:
    """A caller that is inside its work, on its own thread."""
    gate = Gate()
    inside = callers.submit(database.call, gate)
    assert gate.entered.wait(LONG)
    assert writer(database)._turn.locked()
    assert not writer(database)._awaited
    return gate, inside


def test_a_lone_caller_does_its_work_itself(database: DatabaseFile) -> None:
    assert database.call(whoami)[0] == threading.get_ident()
    database.call(write("a"))
    assert database.call(words) == ["a"]


def test_its_work_is_committed_when_it_goes_on(path: str) -> None:
    database, other = DatabaseFile(Address(path)), apsw.Connection(path)
    database.open(create=True)
    database.call(lambda connection, now: connection.execute("create table note (word text)"))
    database.call(write("a"))
    assert words(other, 0.0) == ["a"]
    other.close()
    database.close()


async def test_callers_join_the_line_while_the_thread_is_at_work(
    database: DatabaseFile, callers: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    first = asyncio.create_task(database.run(gate))
    await gate.reached()
    joined = Joined(database, monkeypatch, 3)
    others = [callers.submit(database.call, whoami) for _ in range(3)]
    await asyncio.to_thread(joined.wait)
    gate.released.set()
    began = await first
    assert [other.result(LONG) for other in others] == [(writer(database).ident, began + 1)] * 3
    await until(lambda: not writer(database)._awaited, "the line to be empty")
    assert database.call(whoami)[0] == threading.get_ident()


async def test_who_comes_while_a_caller_is_inside_shares_the_next_commit(
    database: DatabaseFile, callers: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, inside = enter(callers, database)
    joined = Joined(database, monkeypatch, 4)
    others = [callers.submit(database.call, whoami) for _ in range(2)]
    tasks = [asyncio.create_task(database.run(whoami)) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.to_thread(joined.wait)
    gate.released.set()
    shared = (writer(database).ident, inside.result(LONG) + 1)
    assert [other.result(LONG) for other in others] + await asyncio.gather(*tasks) == [shared] * 4


def test_many_threads_at_once_lose_nothing(database: DatabaseFile, callers: ThreadPoolExecutor) -> None:
    given = [f"{number:03}" for number in range(200)]
    list(callers.map(lambda word: database.call(write(word)), given))
    assert sorted(database.call(words)) == given


async def test_the_end_waits_for_a_caller_who_is_inside(database: DatabaseFile, callers: ThreadPoolExecutor) -> None:
    gate, inside = enter(callers, database)
    line = writer(database)
    closing = callers.submit(database.close)
    await until(lambda: line._ended, "the end")
    assert not closing.done()
    with pytest.raises(StoreUnavailable, match="closed"):
        database.call(whoami)
    gate.released.set()
    inside.result(LONG)
    closing.result(LONG)
    assert line.run_here(whoami) is None
    assert not line.is_alive()


def test_errors_of_a_callers_work_mean_the_same_as_in_the_line(database: DatabaseFile) -> None:
    def fail(error: Exception) -> Callable[[apsw.Connection, float], None]:
        def work(connection: apsw.Connection, now: float) -> None:
            connection.execute("insert into note values ('broken')")
            raise error

        return work

    with pytest.raises(ZeroDivisionError):
        database.call(fail(ZeroDivisionError()))
    with pytest.raises(StoreUnavailable, match="no space left") as full:
        database.call(fail(apsw.FullError("full")))
    assert isinstance(full.value.__cause__, apsw.FullError)
    assert database.call(words) == []


def test_an_interrupted_caller_leaves_nothing_behind(database: DatabaseFile) -> None:
    def interrupted(connection: apsw.Connection, now: float) -> None:
        connection.execute("insert into note values ('broken')")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        database.call(interrupted)
    assert database.call(whoami)[0] == threading.get_ident()
    assert database.call(words) == []


def test_an_interrupt_between_the_begin_and_the_work_leaves_no_lock(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database, other = DatabaseFile(Address(path)), apsw.Connection(path)
    database.open(create=True)

    def interrupted(action: Callable[[], Any]) -> None:
        action()
        raise KeyboardInterrupt

    monkeypatch.setattr("fairlead.stores.sqlite.transactions.retrying", interrupted)
    with pytest.raises(KeyboardInterrupt):
        database.call(whoami)
    other.execute("begin immediate; rollback")
    other.close()
    database.close()


async def test_the_lock_of_another_process_holds_up_the_caller_and_those_behind_it(
    path: str, callers: ThreadPoolExecutor
) -> None:
    database = DatabaseFile(Address(path))
    database.open(create=True)
    database.call(lambda connection, now: connection.execute("create table note (word text)"))
    with hold_lock(path) as let_go:
        inside = callers.submit(database.call, write("a"))
        while not writer(database)._turn.locked():  # noqa: ASYNC110
            await asyncio.sleep(0)
        behind = asyncio.create_task(database.run(write("b")))
        assert await database.read(words) == []
        let_go()
        await behind
    inside.result(LONG)
    assert await database.read(words) == ["a", "b"]
    await asyncio.to_thread(database.close)


def test_a_lock_that_stays_is_reported_to_the_caller(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database, other = DatabaseFile(Address(path)), apsw.Connection(path)
    database.open(create=True)
    monkeypatch.setattr(connections, "DEADLINE", 0.05)
    database.call(lambda connection, now: connection.set_busy_timeout(10))
    other.execute("begin immediate")
    with pytest.raises(StoreUnavailable, match="stayed locked"):
        database.call(whoami)
    other.close()
    assert database.call(whoami)[0] == threading.get_ident()
    database.close()


def test_callers_give_back_a_large_wal(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = DatabaseFile(Address(path))
    database.open(create=True)
    database.call(lambda connection, now: connection.execute("create table note (word text)"))
    monkeypatch.setattr("fairlead.stores.sqlite.database.LARGEST_WAL", 10_000)
    monkeypatch.setattr(database, "_next_check", 0.0)
    database.call(write("a" * 50_000))
    assert wal_bytes(path) <= 10_000
    database.close()
