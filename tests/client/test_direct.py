"""Submitting from synchronous code: on the caller's thread where the store can, and by the bridge otherwise."""

import asyncio
import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import fairlead
from fairlead.client import direct
from fairlead.client.gather import COMPANY
from fairlead.client.handler import ALONE
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.core.jobs.states import State
from fairlead.errors import StoreRefused, StoreUnavailable
from fairlead.operate.audit import Operator
from fairlead.operate.backpressure import set_depth
from tests.client.program import LONG, Program, stay_fresh
from tests.worker.support import until

MEMORY = "sqlite:///:memory:"


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_fresh(monkeypatch)


@pytest.fixture(params=["file", "memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    fixtures = {"file": "sqlite_url", "postgres": "postgres_url"}
    made = Program(request.getfixturevalue(fixtures[request.param]) if request.param in fixtures else MEMORY)
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
    enqueue_now = store.jobs.enqueue_now

    def cut(jobs: Sequence[NewJob], wake: Collection[str] = ()) -> list[Enqueued]:
        enqueue_now(jobs, wake)
        raise StoreUnavailable("nobody knows")

    monkeypatch.setattr(store.jobs, "enqueue_now", cut)
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
