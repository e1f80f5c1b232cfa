"""Plain `def` handlers: as many at once as there are slots, quick ones without a thread for each."""

import threading
from contextvars import ContextVar

import fairlead

SLOTS = 20
NAME: ContextVar[str] = ContextVar("NAME", default="nobody")


async def test_handlers_that_block_run_all_at_once() -> None:
    app, barrier = fairlead.App("sqlite:///:memory:", poll="50ms"), threading.Barrier(SLOTS)

    @app.handler("meet")
    def meet(number: int) -> int:
        barrier.wait(20)
        return number

    async with app, app.worker(concurrency=SLOTS):
        for _ in range(3):
            jobs = await meet.enqueue_many([{"number": number} for number in range(SLOTS)])
            assert [await job.wait(30) for job in jobs] == list(range(SLOTS))


async def test_each_call_has_a_context_of_its_own() -> None:
    app = fairlead.App("sqlite:///:memory:", poll="50ms")

    @app.handler("mark")
    def mark(number: int) -> str:
        before = NAME.get()
        NAME.set(f"job {number}")
        return before

    async with app, app.worker(concurrency=4):
        jobs = await mark.enqueue_many([{"number": number} for number in range(40)])
        assert {await job.wait(30) for job in jobs} == {"nobody"}


async def test_a_job_that_waits_for_a_thread_is_given_back_without_a_run() -> None:
    """Its slot is free, but all threads are taken by handlers that were given up."""
    app, released, ran = fairlead.App("sqlite:///:memory:", poll="50ms", drain="100ms"), threading.Event(), list[int]()

    @app.handler("hold")
    def hold(number: int) -> None:
        ran.append(number)
        released.wait(30)

    async with app:
        jobs = await hold.enqueue_many([{"number": number} for number in range(3)])
        async with app.worker(concurrency=1) as worker:
            while not ran:
                await worker.slots.freed.wait() if worker.slots.freed.is_set() else await jobs[0].read()
        released.set()
        assert [await job.state() for job in jobs] == [fairlead.State.READY] * 3
        assert len(ran) == 1
