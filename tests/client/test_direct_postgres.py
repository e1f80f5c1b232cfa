"""The connection that PostgreSQL has for callers that block: who may use it, and what becomes of it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import psycopg
import pytest

from fairlead.client import direct
from fairlead.core.jobs.model import Enqueued
from fairlead.errors import StoreUnavailable
from fairlead.stores.postgres import blocking
from fairlead.stores.postgres.store import PostgresStore
from fairlead.wiring import make_store
from tests.client.program import LONG, Program, stay_fresh

pytestmark = pytest.mark.postgres


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_fresh(monkeypatch)


@pytest.fixture
def on_postgres(postgres_url: str) -> Iterator[Program]:
    made = Program(postgres_url)
    yield made
    made.close()


@contextmanager
def locked(program: Program) -> Iterator[None]:
    """Keep the table of jobs, as whatever keeps a server from answering."""
    with psycopg.connect(program.app.settings.database_url) as other:
        other.execute("lock table job in exclusive mode")
        yield
        other.rollback()


def test_a_job_that_is_stored_already_is_not_stored_twice(on_postgres: Program) -> None:
    store, (job,) = on_postgres.store(), on_postgres.mail._build([{}], on_postgres.mail._shared())
    assert store.jobs.enqueue_now([job]) == [Enqueued(job.id, False)]
    assert store.jobs.enqueue_now([job]) is None
    assert on_postgres.stored() == 1


def test_whoever_finds_the_connection_taken_goes_the_common_way(on_postgres: Program) -> None:
    own = on_postgres.store()._own_thread
    taken = own._free.pop()
    on_postgres.mail.delay(1)
    assert (on_postgres.stored(), on_postgres.bridged) == (1, 1)
    own._take_back(taken)
    on_postgres.mail.delay(2)
    assert (on_postgres.stored(), on_postgres.bridged) == (2, 1)


def test_a_connection_that_broke_is_replaced(on_postgres: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = on_postgres.connect()
    with psycopg.connect(on_postgres.app.settings.database_url, autocommit=True) as other:
        other.execute("select pg_terminate_backend(%s, 5000)", [broken])
    on_postgres.mail.delay(1)
    assert (on_postgres.stored(), on_postgres.bridged) == (1, 1)
    monkeypatch.setattr(blocking, "PAUSE", 0.0)
    assert on_postgres.connect() != broken
    on_postgres.mail.delay(2)
    assert (on_postgres.stored(), on_postgres.bridged) == (2, 1)


def test_a_connection_that_is_not_used_is_closed(on_postgres: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "LOOK", 0.01)
    monkeypatch.setattr(blocking, "IDLE", 0.05)
    monkeypatch.setattr(blocking, "PAUSE", 0.0)
    own = on_postgres.store()._own_thread
    own._free.pop().close()  # its keeper looks in seconds
    on_postgres.connect()
    keeper = own._keepers[-1]
    keeper.join(LONG)
    assert not keeper.is_alive()
    assert own._free == []
    on_postgres.mail.delay(1)
    assert (on_postgres.stored(), on_postgres.bridged) == (1, 1)


def test_a_connection_that_cannot_be_had_is_tried_for_now_and_then(
    on_postgres: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, tries = on_postgres.store()._own_thread, list[str]()

    def refuse(conninfo: str, **more: Any) -> None:
        tries.append(conninfo)
        raise psycopg.OperationalError("too many connections")

    monkeypatch.setattr(blocking.Punctual, "connect", refuse)
    own._free.pop().close()
    own._opened_at = 0.0
    for number in range(20):
        on_postgres.mail.delay(number)
    assert (on_postgres.stored(), on_postgres.bridged, len(tries)) == (20, 20, 1)


def test_a_server_that_does_not_answer_is_given_up(on_postgres: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "DEADLINE", 0.3)
    monkeypatch.setattr(direct, "PATIENCE", 0.0)
    with locked(on_postgres), pytest.raises(StoreUnavailable, match="did not answer"):
        on_postgres.mail.delay(1)
    assert on_postgres.stored() == 0


def test_what_a_signal_handler_raises_reaches_the_caller(on_postgres: Program) -> None:
    """Also a TimeoutError, which is not ours; and nothing is held afterwards that anybody would wait for."""

    def alarm(number: int, frame: object) -> None:
        raise TimeoutError("mine")

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        with locked(on_postgres):
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(TimeoutError, match="mine"):
                on_postgres.mail.delay(1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert on_postgres.store()._own_thread._free == []
    on_postgres.mail.delay(2)
    assert on_postgres.bridged == 1


async def test_a_closed_store_says_so_and_can_be_opened_again(postgres_url: str) -> None:
    store = make_store(postgres_url)
    await store.open()
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        cast(PostgresStore, store.jobs)._own_thread.run("notify", {"pool": "short"})
    store.jobs.wake_now(["short"])
    await store.open()
    cast(PostgresStore, store.jobs)._own_thread.run("notify", {"pool": "short"})
    await store.close()
