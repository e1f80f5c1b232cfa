"""Submitting from synchronous code, on the caller's thread: every kind of submission, and no event loop."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import fairlead
from fairlead.client import admission, gather
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.core.jobs.states import State
from fairlead.errors import StoreRefused, StoreUnavailable
from fairlead.runtime.operator import Operator
from tests.client.program import LONG, Program
from tests.support.settings import set_depth, set_rate

MEMORY = "sqlite:///:memory:"


@pytest.fixture(params=["file", "memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    fixtures = {"file": "sqlite_url", "postgres": "postgres_url"}
    made = Program(request.getfixturevalue(fixtures[request.param]) if request.param in fixtures else MEMORY)
    yield made
    made.close()


def test_every_kind_of_submission_is_stored_without_an_event_loop(program: Program) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=5)
    parent = program.mail.delay(1)
    first = program.mail.options(idempotency_key="k", tenant="acme", priority="high").delay()
    again = program.mail.options(idempotency_key="k", tenant="acme").delay()
    later = program.mail.options(run_at=soon, exact=True, parent=parent.id, pool="medium", timeout="9s").delay()
    many = program.mail.delay_many([{"number": number} for number in range(2_300)])
    keyed = program.mail.options(tenant="new", retry=fairlead.Retry(attempts=2), run_in="1h").delay_many([{}] * 3)
    with pytest.raises(fairlead.UnknownCallback):
        program.mail.options(callback="nowhere").delay()
    named = program.app.delay("mail", {"number": 7}, tenant="acme") if _registered(program) else parent
    assert not program.app._bridge.is_running
    assert (first.duplicate, again.duplicate, again.id) == (False, True, first.id)
    assert program.stored() == 1 + 1 + 1 + 2_300 + 3 + 1
    record = program.ask(later.read())
    assert (record.state, record.parent, record.pool) == (State.SCHEDULED, parent.id, "medium")
    assert abs(record.run_at - soon) < timedelta(milliseconds=1)
    assert program.ask(many[-1].read()).payload == '{"number":2299}'
    assert (program.ask(named.read()).payload, program.ask(keyed[0].read()).tenant) == ('{"number":7}', "new")


def _registered(program: Program) -> bool:
    """Let the type be known by its name, as a worker does."""
    from fairlead.client.blocking import run_through

    run_through(program.store().types.register([program.mail.spec.job_type()]))
    return True


def test_rules_of_admission_are_kept(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "FRESH", 0.0)
    program.mail.delay()
    program.app.admission.postpone()  # what is known is old from now on
    program.ask(set_depth(program.store(), "tenant", "default", 4, Operator("ada", "a flood")))
    with pytest.raises(fairlead.TenantQueueFull):
        program.mail.delay_many([{}] * 3)
    program.mail.delay_many([{}] * 2)
    program.ask(set_rate(program.store(), "tenant", "acme", "1/h", Operator("ada", "a flood"), burst=2))
    acme = program.mail.options(tenant="acme")
    acme.delay_many([{}] * 2)
    with pytest.raises(fairlead.TenantRateExceeded):
        acme.delay()


def test_invalid_arguments_store_nothing(program: Program) -> None:
    with pytest.raises(fairlead.InvalidArguments):
        program.mail.delay_many([{"number": 1}, {"number": "many"}])
    assert program.stored() == 0


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


def test_a_cut_is_overcome_with_the_same_ids(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    store = program.store().jobs
    enqueue, cuts = store.enqueue, [True]

    async def cut(jobs: Sequence[NewJob], *more: Any) -> list[Enqueued]:
        answers: list[Enqueued] = await enqueue(jobs, *more)
        if cuts and cuts.pop():
            raise StoreUnavailable("nobody knows")
        return answers

    monkeypatch.setattr(store, "enqueue", cut)
    job = program.mail.delay(7)
    assert (program.stored(), cuts) == (1, [])
    assert program.ask(job.read()).payload == '{"number":7}'


def test_patience_ends_and_refusals_are_told_at_once(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(error: Exception) -> Any:
        async def enqueue(jobs: Sequence[NewJob], *more: Any) -> list[Enqueued]:
            raise error

        return enqueue

    monkeypatch.setattr(program.store().jobs, "enqueue", away(StoreRefused("no")))
    with pytest.raises(StoreRefused):
        program.mail.delay()
    monkeypatch.setattr(program.store().jobs, "enqueue", away(StoreUnavailable("away")))
    monkeypatch.setattr(gather, "PATIENCE", -1.0)
    with pytest.raises(StoreUnavailable):
        program.mail.delay()
    assert program.stored() == 0


def test_a_shut_down_ends_the_wait_for_a_store_that_is_away(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    async def shut_down(jobs: Sequence[NewJob], *more: Any) -> list[Enqueued]:
        tries.append(len(jobs))
        thread = threading.Thread(target=program.app.shutdown)
        thread.start()
        thread.join(LONG)
        raise StoreUnavailable("the store is closed")

    monkeypatch.setattr(program.store().jobs, "enqueue", shut_down)
    with pytest.raises(StoreUnavailable, match="shut down"):
        program.mail.delay()
    assert tries == [1]


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
    await program.app.close()


def test_a_call_in_a_signal_handler_does_not_wait_for_what_it_interrupts(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = program.store().jobs
    enqueue = store.enqueue

    async def interrupted(jobs: Sequence[NewJob], *more: Any) -> list[Enqueued]:
        with pytest.raises(fairlead.ConfigError, match="signal handler"):
            program.mail.delay()
        answers: list[Enqueued] = await enqueue(jobs, *more)
        return answers

    monkeypatch.setattr(store, "enqueue", interrupted)
    program.mail.delay()
    monkeypatch.undo()
    program.mail.delay()
    assert program.stored() == 2
