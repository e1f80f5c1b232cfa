"""The connections that PostgreSQL has for callers that block: how many, and what becomes of them."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from fairlead.client import gather
from fairlead.client.blocking import run_through
from fairlead.errors import StoreUnavailable
from fairlead.records.lanes import KnownLanes
from fairlead.stores.postgres import blocking, store
from fairlead.stores.postgres.blocking import BlockingPostgresStore
from tests.client.program import Program

pytestmark = pytest.mark.postgres
OURS = "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"


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


def connections(program: Program) -> list[int]:
    """The connections to the database beside this one."""
    with psycopg.connect(program.app.settings.database_url, autocommit=True) as other:
        return [pid for (pid,) in other.execute(OURS)]


def test_threads_share_a_few_connections(on_postgres: Program) -> None:
    with ThreadPoolExecutor(30) as threads:
        jobs = list(threads.map(on_postgres.mail.delay, range(300)))
    assert len({job.id for job in jobs}) == on_postgres.stored() == 300
    assert 1 <= len(connections(on_postgres)) <= blocking.POOL_SIZE


def test_a_job_that_is_stored_already_is_not_stored_twice(on_postgres: Program) -> None:
    jobs, (job,) = on_postgres.store().jobs, on_postgres.mail._build([{}], on_postgres.mail._shared())
    for again in (False, False, True):
        (answer,) = run_through(jobs.enqueue([job], again))
        assert (answer.id, answer.duplicate) == (job.id, False)
    assert on_postgres.stored() == 1


def test_connections_that_broke_are_replaced(on_postgres: Program) -> None:
    broken = connections(on_postgres)
    with psycopg.connect(on_postgres.app.settings.database_url, autocommit=True) as other:
        for pid in broken:
            other.execute("select pg_terminate_backend(%s, 5000)", [pid])
    on_postgres.mail.delay(1)
    assert on_postgres.stored() == 1
    assert not set(broken) & set(connections(on_postgres))


def test_a_shut_down_leaves_no_connection(on_postgres: Program) -> None:
    assert connections(on_postgres)
    on_postgres.app.shutdown()
    assert connections(on_postgres) == []


@pytest.mark.parametrize(("key", "error"), [(None, "did not answer"), ("k", "waited too long for a lock")])
def test_a_server_that_does_not_answer_is_given_up(
    on_postgres: Program, monkeypatch: pytest.MonkeyPatch, key: str | None, error: str
) -> None:
    """With a key in a transaction, which waits for locks a short time only and is rolled back."""
    monkeypatch.setattr(blocking, "DEADLINE", 0.3)
    monkeypatch.setattr(store, "KEY_PATIENCE", 0.0)
    monkeypatch.setattr(gather, "PATIENCE", 0.0)
    handler = on_postgres.mail.options(idempotency_key=key)
    with locked(on_postgres), pytest.raises(StoreUnavailable, match=error):
        handler.delay(1)
    assert on_postgres.stored() == 0
    assert not handler.delay(2).duplicate


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
    job = on_postgres.mail.delay(2)
    assert on_postgres.ask(job.read()).payload == '{"number":2}'


def test_a_closed_store_says_so_and_can_be_opened_again(postgres_url: str) -> None:
    closed = BlockingPostgresStore(postgres_url, KnownLanes())
    for _ in range(2):
        run_through(closed.open())
        run_through(closed.wake(["short"]))
        run_through(closed.close())
        with pytest.raises(StoreUnavailable, match="closed"):
            run_through(closed.wake(["short"]))
