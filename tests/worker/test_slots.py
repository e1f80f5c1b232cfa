"""Runs that never wait share a task, runs that wait fill the slots, and each has a context of its own."""

import asyncio
import gc
from contextvars import ContextVar
from typing import Annotated

import pytest
from pydantic import AfterValidator

import fairlead
from fairlead.core.jobs.model import Outcome
from fairlead.handlers.spec import HandlerSpec
from fairlead.telemetry.events import Event, JobEnded, JobStarted
from fairlead.worker import runner
from tests.worker.support import until

NAME: ContextVar[str] = ContextVar("NAME", default="nobody")
MANY = 40


class Desk:
    """An app whose handler does what its job says and tells in which task; some mark their context."""

    def __init__(self, marks: bool) -> None:
        self.app = fairlead.App("sqlite:///:memory:", poll="50ms", drain="1s")
        self.marks = marks
        self.tasks: dict[int, asyncio.Task[object] | None] = {}
        self.names: dict[int, str] = {}
        self.go = asyncio.Event()
        self.started, self.ended = set[str](), set[str]()

        @self.app.handler("act", retry=fairlead.Retry(attempts=1))
        async def act(number: int, what: str = "nothing") -> int:
            self.tasks[number], self.names[number] = asyncio.current_task(), NAME.get()
            if marks:
                NAME.set(f"job {number}")
            if what == "wait":
                await self.go.wait()
            elif what == "fail":
                raise ValueError("on purpose")
            elif what == "cancel myself":
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            elif what == "listen":
                self.app.telemetry.listen(self.hear)
            elif what == "hang":
                await asyncio.sleep(60)
            return number

        self.act = act

    def hear(self, event: Event) -> None:
        if isinstance(event, JobStarted):
            self.started.add(event.job)
        elif isinstance(event, JobEnded):
            self.ended.add(event.job)

    async def submit(self, *acts: str) -> list[fairlead.Job]:
        return await self.act.enqueue_many([{"number": number, "what": what} for number, what in enumerate(acts)])


@pytest.fixture(params=[True, False], ids=["marked", "unmarked"])
def desk(request: pytest.FixtureRequest) -> Desk:
    return Desk(request.param)


async def warm(desk: Desk) -> None:
    """Let the worker run a job."""
    await (await desk.act.enqueue(-1)).wait(10)
    desk.tasks.clear()


async def test_runs_that_do_not_wait_share_a_task_and_nothing_else(desk: Desk) -> None:
    async with desk.app, desk.app.worker(concurrency=8):
        await warm(desk)
        jobs = await desk.submit(*["nothing"] * MANY)
        assert [await job.wait(10) for job in jobs] == list(range(MANY))
        tasks = len(set(desk.tasks.values()))
        assert tasks == MANY if desk.marks else tasks < MANY / 2, "a marked context is its run's own"
        assert set(desk.names.values()) == {"nobody"}


async def test_one_that_waits_keeps_nobody_waiting_and_can_be_stopped(desk: Desk) -> None:
    async with desk.app, desk.app.worker(concurrency=8) as worker:
        await warm(desk)
        jobs = await desk.submit("nothing", "wait", "nothing", "hang", "nothing", "nothing")
        for number in (0, 2, 4, 5):
            assert await jobs[number].wait(10) == number
        await until(lambda: len(worker.slots.running) == 2)
        waiting, hanging = desk.tasks[1], desk.tasks[3]
        assert waiting is not hanging
        assert not {waiting, hanging} & {desk.tasks[4], desk.tasks[5]}
        await desk.app.cancel(jobs[3].id, reason="hangs")
        await until(lambda: len(worker.slots.running) == 1)
        assert await jobs[3].state() is fairlead.State.CANCELLED
        desk.go.set()
        assert await jobs[1].wait(10) == 1


async def test_no_more_wait_at_once_than_there_are_slots(desk: Desk) -> None:
    async with desk.app, desk.app.worker(concurrency=3) as worker:
        await warm(desk)
        jobs = await desk.submit(*["wait"] * 6)
        await until(lambda: len(desk.tasks) == 3)
        await asyncio.sleep(0.05)
        assert (len(desk.tasks), len(worker.slots.running)) == (3, 3)
        desk.go.set()
        assert [await job.wait(10) for job in jobs] == list(range(6))


async def test_one_that_fails_or_cancels_its_task_does_no_harm_to_the_next(desk: Desk) -> None:
    async with desk.app, desk.app.worker(concurrency=8):
        await warm(desk)
        jobs = await desk.submit("nothing", "fail", "nothing", "cancel myself", "nothing", "wait", "nothing")
        desk.go.set()
        for number in (0, 2, 3, 4, 5, 6):
            assert await jobs[number].wait(10) == number
        await until(lambda: 1 in desk.tasks)
        assert await jobs[1].state() is fairlead.State.DEAD


async def test_a_long_row_of_turns_lets_others_have_theirs() -> None:
    app, beats = fairlead.App("sqlite:///:memory:", poll="50ms"), 0

    @app.handler("spin")
    async def spin() -> int:
        until_then = asyncio.get_running_loop().time() + 0.01
        while asyncio.get_running_loop().time() < until_then:
            pass
        return beats

    async with app, app.worker(concurrency=20):
        await (await spin.enqueue()).wait(10)

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0)
                beats += 1

        beating = asyncio.create_task(beat())
        found = [await job.wait(10) for job in await spin.enqueue_many([{}] * 10)]
        beating.cancel()
        assert len(set(found)) > 3


async def test_a_defect_in_the_middle_of_turns_keeps_nobody_else_waiting(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    defects = ["once"]
    async with desk.app, desk.app.worker(concurrency=8):
        await warm(desk)
        told = list[object]()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))

        def fail(error: BaseException, spec: HandlerSpec) -> Outcome:
            raise RuntimeError(defects.pop())

        monkeypatch.setattr(runner, "outcome_of", fail)
        jobs = await desk.submit("nothing", "nothing", "fail", "nothing", "nothing")
        assert [await job.wait(10) for job in jobs if job is not jobs[2]] == [0, 1, 3, 4]
        assert not defects
        desk.tasks.clear()
        gc.collect()
        await until(lambda: len(told) == 1)


async def test_what_reading_the_arguments_sets_stays_with_the_run() -> None:
    app, found = fairlead.App("sqlite:///:memory:", poll="50ms"), ContextVar("found", default="nothing")

    def look(value: int) -> int:
        found.set(NAME.get())
        NAME.set(f"job {value}")
        return value

    @app.handler("read")
    async def read(number: Annotated[int, AfterValidator(look)]) -> list[str]:
        return [found.get(), NAME.get()]

    async with app, app.worker(concurrency=8):
        jobs = await read.enqueue_many([{"number": number} for number in range(MANY)])
        assert [await job.wait(10) for job in jobs] == [["nobody", f"job {number}"] for number in range(MANY)]


async def test_who_begins_to_listen_in_the_middle_of_turns_hears_of_no_start_without_its_end(desk: Desk) -> None:
    async with desk.app, desk.app.worker(concurrency=50):
        await warm(desk)
        for job in await desk.submit(*["nothing"] * 5, "listen", *["nothing"] * MANY):
            await job.wait(10)
        (later,) = await desk.submit("nothing")
        await later.wait(10)
        await until(lambda: later.id in desk.ended)
        assert desk.started <= desk.ended


async def test_a_stored_traceback_begins_with_the_handler(desk: Desk) -> None:
    async with desk.app, desk.app.worker(concurrency=8):
        await warm(desk)
        (job,) = await desk.submit("fail")
        with pytest.raises(fairlead.JobFailed):
            await job.wait(10)
        error = (await job.attempts())[0].error
        assert error is not None
        assert (error.traceback or "").splitlines()[1].strip().startswith(f'File "{__file__}"')
