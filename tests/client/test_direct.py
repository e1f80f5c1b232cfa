"""Submitting from synchronous code: on the caller's thread where the store can, and by the bridge otherwise."""

import asyncio
import signal
import threading
from collections.abc import Collection, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

import fairlead
from fairlead.client import admission, direct, places
from fairlead.client.blocking import Bridge
from fairlead.client.gather import COMPANY
from fairlead.client.handler import ALONE
from fairlead.control.admission import set_depth
from fairlead.control.audit import Operator
from fairlead.core.model import Enqueued, NewJob
from fairlead.core.states import State
from fairlead.errors import StoreRefused, StoreUnavailable
from fairlead.stores.postgres import blocking
from fairlead.stores.postgres.blocking import OwnThread
from fairlead.stores.postgres.store import PostgresStore
from tests.worker.support import until

LONG = 10.0
MEMORY = "sqlite:///:memory:"


class CountingBridge(Bridge):
    """A bridge that knows how often it was taken."""

    taken = 0

    def run(self, coroutine: Coroutine[Any, Any, Any], timeout: float | None = None) -> Any:
        self.taken += 1
        return super().run(coroutine, timeout)


class Program:
    """A synchronous program with one handler, that has submitted before; it counts how often it takes the bridge."""

    def __init__(self, url: str) -> None:
        self.app = fairlead.App(url, poll="60s")
        self.app._bridge = self._bridge = CountingBridge()
        self.ran: set[int] = set()
        self.ran_one = threading.Semaphore(0)

        @self.app.handler("mail")
        async def mail(number: int = 0) -> None:
            self.ran.add(number)
            self.ran_one.release()

        self.mail = mail
        mail.delay()
        self.is_postgres = url.startswith("postgres")
        if self.is_postgres:
            self.connect()
        self._bridge.taken = 0

    @property
    def bridged(self) -> int:
        """How often."""
        return self._bridge.taken

    def ask(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Its result, not counted."""
        return Bridge.run(self._bridge, coroutine)

    def store(self) -> Any:
        return self.ask(self.app.store())

    def writer(self) -> Any:
        """What writes to the SQLite file, once nobody stands in its line."""
        line = self.store()._database._writer
        self.ask(until(lambda: not line._awaited, "the line to be empty"))
        return line

    def connect(self) -> int:
        """Wait for PostgreSQL's connection for blocking callers, which is opened beside them; returns its number."""
        own: OwnThread = self.store()._own_thread
        own._want()
        self.ask(until(lambda: bool(own._free), "a connection"))
        return own._free[0].info.backend_pid

    def stored(self) -> int:
        """How many jobs there are beside the first."""
        counts: dict[Any, int] = self.ask(self.store().count_jobs())
        return sum(counts.values()) - 1

    def close(self) -> None:
        self.app.shutdown()
        asyncio.run(self.app.close())


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a client has read is new enough for a whole test."""
    monkeypatch.setattr(admission, "FRESH", 3600.0)
    monkeypatch.setattr(places, "FRESH", 3600.0)


@pytest.fixture(params=["file", "memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    fixtures = {"file": "sqlite_url", "postgres": "postgres_url"}
    made = Program(request.getfixturevalue(fixtures[request.param]) if request.param in fixtures else MEMORY)
    yield made
    made.close()


@pytest.fixture
def on_postgres(postgres_url: str) -> Iterator[Program]:
    made = Program(postgres_url)
    yield made
    made.close()


@pytest.fixture
def on_a_file(sqlite_url: str) -> Iterator[Program]:
    made = Program(sqlite_url)
    yield made
    made.close()


def test_jobs_are_stored_without_the_bridge(program: Program) -> None:
    job = program.mail.delay(1)
    jobs = program.mail.delay_many([{"number": number} for number in range(ALONE)])
    assert program.bridged == 0
    assert program.stored() == ALONE + 1
    record = program.ask(job.read())
    assert (record.state, record.type, record.payload) == (State.READY, "mail", '{"number":1}')
    assert program.ask(jobs[-1].read()).payload == f'{{"number":{ALONE - 1}}}'


def test_the_transaction_runs_on_the_callers_thread(on_a_file: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    monkeypatch.setattr(on_a_file.writer()._works, "_check", lambda: threads.append(threading.get_ident()))
    on_a_file.mail.delay()
    assert threads == [threading.get_ident()]


def test_options_mean_the_same(program: Program) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=5)
    parent = program.mail.delay()
    first = program.mail.options(idempotency_key="k", tenant="acme", priority="high").delay()
    again = program.mail.options(idempotency_key="k", tenant="acme").delay()
    later = program.mail.options(run_at=soon, exact=True, parent=parent.id, pool="medium", timeout="9s").delay()
    assert program.bridged == (3 if program.is_postgres else 0)  # what takes more than one statement
    assert (first.duplicate, again.duplicate, again.id) == (False, True, first.id)
    record = program.ask(later.read())
    assert (record.state, record.parent, record.pool) == (State.SCHEDULED, parent.id, "medium")
    assert abs(record.run_at - soon) < timedelta(milliseconds=1)
    assert program.ask(first.read()).tenant == "acme"


def test_what_the_loop_has_to_look_at_takes_the_bridge(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program.mail.delay_many([{}] * (ALONE + 1))
    assert program.bridged == 1
    with pytest.raises(fairlead.UnknownCallback):
        program.mail.options(callback="nowhere").delay()
    assert program.bridged == 2
    with monkeypatch.context() as patched:
        patched.setattr(program.ask(program.app.client()).places, "_read_again_at", 0.0)
        program.mail.delay()
    assert program.bridged == 3
    with monkeypatch.context() as patched:
        patched.setattr(program.ask(program.app.client())._gatherer, "_under_way", COMPANY)
        program.mail.delay()
    assert program.bridged == 4
    monkeypatch.setattr(program.app.admission, "_fresh_until", 1.0)
    program.mail.delay()
    assert program.bridged == 5


def test_rules_of_admission_are_kept(program: Program) -> None:
    program.ask(set_depth(program.store(), "tenant", "default", 2, Operator("ada", "a flood")))
    program.app.admission._fresh_until = 1.0
    program.mail.delay()
    program.ask(until(lambda: program.app.admission.policy.any and not program.app.admission.is_stale(), "the rule"))
    with pytest.raises(fairlead.TenantQueueFull):
        program.mail.delay_many([{}] * 3)


def test_invalid_arguments_store_nothing(program: Program) -> None:
    with pytest.raises(fairlead.InvalidArguments):
        program.mail.delay_many([{"number": 1}, {"number": "many"}])
    assert (program.stored(), program.bridged) == (0, 0)


async def test_an_event_loop_is_not_blocked_though_the_client_is_open(store_url: str) -> None:
    program = await asyncio.to_thread(Program, store_url)
    with pytest.raises(fairlead.ConfigError, match="use the async form"):
        program.mail.delay()
    await program.app.close()


def test_threads_at_once_lose_nothing(program: Program) -> None:
    keyed = [program.mail.options(idempotency_key=f"k{number % 50}") for number in range(100)]
    with ThreadPoolExecutor(8) as threads:
        jobs = list(threads.map(program.mail.delay, range(200)))
        same = list(threads.map(lambda handler: handler.delay(), keyed))
    assert len({job.id for job in jobs}) == 200
    assert len({job.id for job in same}) == 50
    assert program.stored() == 250
    assert program.is_postgres or program.bridged == 0  # there one at a time goes directly


def test_a_cut_is_overcome_with_the_same_ids(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    store = program.store()
    enqueue_now = store.enqueue_now

    def cut(jobs: Sequence[NewJob], wake: Collection[str] = ()) -> list[Enqueued]:
        enqueue_now(jobs, wake)
        raise StoreUnavailable("nobody knows")

    monkeypatch.setattr(store, "enqueue_now", cut)
    job = program.mail.delay(7)
    assert (program.stored(), program.bridged) == (1, 1)
    assert program.ask(job.read()).payload == '{"number":7}'


def test_patience_ends_and_refusals_are_told_at_once(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(error: Exception) -> Any:
        def enqueue_now(jobs: Sequence[NewJob], wake: Collection[str] = ()) -> list[Enqueued]:
            raise error

        return enqueue_now

    monkeypatch.setattr(program.store(), "enqueue_now", away(StoreRefused("no")))
    with pytest.raises(StoreRefused):
        program.mail.delay()
    monkeypatch.setattr(program.store(), "enqueue_now", away(StoreUnavailable("away")))
    monkeypatch.setattr(direct, "PATIENCE", -1.0)
    with pytest.raises(StoreUnavailable):
        program.mail.delay()
    assert (program.stored(), program.bridged) == (0, 0)


def test_an_app_that_is_shut_down_meanwhile_is_not_opened_again(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shut_down(jobs: Sequence[NewJob], wake: Collection[str] = ()) -> list[Enqueued]:
        thread = threading.Thread(target=program.app.shutdown)
        thread.start()
        thread.join(LONG)
        raise StoreUnavailable("the store is closed")

    monkeypatch.setattr(program.store(), "enqueue_now", shut_down)
    with pytest.raises(StoreUnavailable):
        program.mail.delay()
    assert not program.app._bridge.is_running


async def test_a_worker_hears_of_every_job_though_it_does_not_poll(store_url: str) -> None:
    program = await asyncio.to_thread(Program, store_url)
    async with program.app.worker():
        assert await asyncio.to_thread(program.ran_one.acquire, timeout=LONG)  # the one before all
        for start in (1, 2, 102):
            numbers = range(start, start + 1 if start == 1 else start + 100)
            for number in numbers:
                await asyncio.to_thread(program.mail.delay, number)
            for _ in numbers:
                assert await asyncio.to_thread(program.ran_one.acquire, timeout=LONG)
    assert program.ran >= set(range(1, 202))
    assert program.bridged == 0
    await program.app.close()


def test_a_call_in_a_signal_handler_does_not_wait_for_what_it_interrupts(
    on_a_file: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signal_handler() -> None:
        with pytest.raises(fairlead.ConfigError, match="signal handler"):
            on_a_file.mail.delay()

    monkeypatch.setattr(on_a_file.writer()._works, "_check", signal_handler)
    on_a_file.mail.delay()
    monkeypatch.undo()
    on_a_file.mail.delay()
    assert on_a_file.stored() == 2


@pytest.mark.postgres
def test_on_postgres_a_job_that_is_stored_already_is_not_stored_twice(on_postgres: Program) -> None:
    store, (job,) = on_postgres.store(), on_postgres.mail._build([{}], on_postgres.mail._shared())
    assert store.enqueue_now([job]) == [Enqueued(job.id, False)]
    assert store.enqueue_now([job]) is None
    assert on_postgres.stored() == 1


@pytest.mark.postgres
def test_on_postgres_whoever_finds_the_connection_taken_goes_the_common_way(on_postgres: Program) -> None:
    own = on_postgres.store()._own_thread
    taken = own._free.pop()
    on_postgres.mail.delay(1)
    assert (on_postgres.stored(), on_postgres.bridged) == (1, 1)
    own._take_back(taken)
    on_postgres.mail.delay(2)
    assert (on_postgres.stored(), on_postgres.bridged) == (2, 1)


@pytest.mark.postgres
def test_on_postgres_a_connection_that_broke_is_replaced(on_postgres: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = on_postgres.connect()
    with psycopg.connect(on_postgres.app.settings.database_url, autocommit=True) as other:
        other.execute("select pg_terminate_backend(%s, 5000)", [broken])
    on_postgres.mail.delay(1)
    assert (on_postgres.stored(), on_postgres.bridged) == (1, 1)
    monkeypatch.setattr(blocking, "PAUSE", 0.0)
    assert on_postgres.connect() != broken
    on_postgres.mail.delay(2)
    assert (on_postgres.stored(), on_postgres.bridged) == (2, 1)


@pytest.mark.postgres
def test_on_postgres_a_connection_that_is_not_used_is_closed(
    on_postgres: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.postgres
def test_on_postgres_a_connection_that_cannot_be_had_is_tried_for_now_and_then(
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


@pytest.mark.postgres
def test_on_postgres_a_server_that_does_not_answer_is_given_up(
    on_postgres: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock stands for whatever keeps it."""
    monkeypatch.setattr(blocking, "DEADLINE", 0.3)
    monkeypatch.setattr(direct, "PATIENCE", 0.0)
    with psycopg.connect(on_postgres.app.settings.database_url) as other:
        other.execute("lock table job in exclusive mode")
        with pytest.raises(StoreUnavailable, match="did not answer"):
            on_postgres.mail.delay(1)
        other.rollback()
    assert on_postgres.stored() == 0


@pytest.mark.postgres
def test_on_postgres_what_a_signal_handler_raises_reaches_the_caller(on_postgres: Program) -> None:
    """Also a TimeoutError, which is not ours; and nothing is held afterwards that anybody would wait for."""

    def alarm(number: int, frame: object) -> None:
        raise TimeoutError("mine")

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        with psycopg.connect(on_postgres.app.settings.database_url) as other:
            other.execute("lock table job in exclusive mode")
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(TimeoutError, match="mine"):
                on_postgres.mail.delay(1)
            other.rollback()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert on_postgres.store()._own_thread._free == []
    on_postgres.mail.delay(2)
    assert on_postgres.bridged == 1


def test_jobs_that_have_to_take_the_bridge_of_an_app_that_is_shut_down_are_refused(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shut_down(jobs: Sequence[NewJob], wake: Collection[str] = ()) -> None:
        thread = threading.Thread(target=program.app.shutdown)
        thread.start()
        thread.join(LONG)

    monkeypatch.setattr(program.store(), "enqueue_now", shut_down)
    with pytest.raises(StoreUnavailable, match="shut down"):
        program.mail.delay()
    assert not program.app._bridge.is_running


@pytest.mark.postgres
async def test_a_closed_store_says_so_and_can_be_opened_again(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    await store.open()
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        store._own_thread.run("notify", {"pool": "short"})
    store.wake_now(["short"])
    await store.open()
    store._own_thread.run("notify", {"pool": "short"})
    await store.close()
