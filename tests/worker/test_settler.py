"""Settlements on their way to the store: in groups, two of them at once."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

import fairlead
from fairlead.core.jobs.model import Ending, Hold, Settlement
from fairlead.core.jobs.states import State
from fairlead.telemetry.events import Telemetry
from fairlead.worker import settler as settling
from fairlead.worker.settler import Settler
from tests.support.doubles import store_of


class SlowStore:
    """Takes groups and answers when the test says so."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.answers: list[asyncio.Future[None]] = []

    async def settle(self, settlements: Sequence[Settlement]) -> set[str]:
        self.groups.append([item.id for item in settlements])
        self.answers.append(asyncio.get_running_loop().create_future())
        await self.answers[-1]
        return {item.id for item in settlements}


class Scene:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(settling, "GROUP", 2)
        self.store = SlowStore()
        self.settled: list[str] = []
        self.settler = Settler(store_of(jobs=self.store), Telemetry(), self._note)

    def _note(self, settlements: list[Settlement]) -> None:
        self.settled += [item.id for item in settlements]

    def add(self, *ids: str) -> None:
        hold = Hold(State.RUNNING, 1, "owner", "lease")
        self.settler.add([Settlement(each, hold, State.SUCCEEDED, 1, 0, Ending.SUCCEEDED) for each in ids])

    async def answer(self, number: int) -> None:
        self.store.answers[number].set_result(None)
        await turns()


async def turns() -> None:
    """Let everything happen that can happen now."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    scene = Scene(monkeypatch)
    tasks = [asyncio.create_task(scene.settler.run()) for _ in range(settling.ABREAST)]
    yield scene
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_second_group_does_not_wait_for_the_first_and_a_third_one_does(scene: Scene) -> None:
    scene.add("a", "b", "c", "d", "e")
    await turns()
    assert scene.store.groups == [["a", "b"], ["c", "d"]]
    scene.add("f")
    await scene.answer(1)
    assert scene.store.groups == [["a", "b"], ["c", "d"], ["e", "f"]]
    assert scene.settled == ["c", "d"]


async def test_a_worker_that_stops_waits_until_the_ends_of_its_runs_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    app = fairlead.App("sqlite:///:memory:", poll="50ms", drain="5s")
    begun = asyncio.Event()

    @app.handler("work")
    async def work() -> str:
        begun.set()
        await asyncio.sleep(0.1)
        return "done"

    async with app:
        store = await app.store()
        settle = store.jobs.settle

        async def slowly(settlements: Sequence[Settlement], expired_only: bool = False) -> set[str]:
            await asyncio.sleep(0.3)
            return await settle(settlements, expired_only)

        monkeypatch.setattr(store.jobs, "settle", slowly)
        async with app.worker():
            job = await work.enqueue()
            await begun.wait()
        record = await job.read()
        assert (record.state, record.result, record.attempt) == (State.SUCCEEDED, "done", 1)


async def test_the_backlog_is_what_waits_and_what_is_on_its_way(scene: Scene) -> None:
    scene.add("a", "b", "c", "d", "e")
    await turns()
    assert scene.settler.backlog == 5
    await scene.answer(0)
    assert scene.settler.backlog == 3


async def test_it_is_flushed_when_both_groups_are_stored(scene: Scene) -> None:
    scene.add("a", "b", "c")
    await turns()
    flushed = asyncio.create_task(scene.settler.flushed())
    await scene.answer(1)
    assert not flushed.done()
    await scene.answer(0)
    assert flushed.done()
    assert scene.settler.backlog == 0
