"""A coroutine that is part of a task: what it awaits, what it is told, and what stays with it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest

from fairlead.worker.lead import lead

NAME: ContextVar[str] = ContextVar("NAME", default="nobody")


async def test_who_never_waits_ends_at_once_and_nobody_is_told() -> None:
    told: list[str] = []

    async def quick() -> str:
        return "done"

    assert await lead(quick(), lambda: told.append("waits")) == "done"
    assert told == []


async def test_who_waits_is_told_of_once_and_gets_what_it_waited_for() -> None:
    told: list[str] = []
    given = asyncio.get_running_loop().create_future()

    async def patient() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        return str(await given)

    given.set_result("news")
    assert await lead(patient(), lambda: told.append("waits")) == "news"
    assert told == ["waits"]


async def test_errors_pass_both_ways() -> None:
    given = asyncio.get_running_loop().create_future()
    given.set_exception(KeyError("away"))

    async def resilient() -> None:
        await asyncio.sleep(0)
        with pytest.raises(KeyError):
            await given
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await lead(resilient(), lambda: None)


async def test_a_cancellation_reaches_it_and_it_may_swallow_that() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "went on"
        return "never told"

    async def leading() -> str:
        return await lead(stubborn(), lambda: None)

    task = asyncio.create_task(leading())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "went on"


async def test_a_task_that_is_thrown_away_closes_it() -> None:
    closed: list[str] = []

    async def long() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(NAME.get())

    async def leading() -> None:
        NAME.set("mine")
        await lead(long(), lambda: None)

    running = leading()
    running.send(None)
    running.close()
    assert closed == ["mine"]


async def test_what_it_sets_stays_with_it_also_after_it_has_waited() -> None:
    async def named(name: str) -> list[str]:
        found = [NAME.get()]
        NAME.set(name)
        await asyncio.sleep(0)
        return [*found, NAME.get(), await asyncio.create_task(seen())]

    async def seen() -> str:
        return NAME.get()

    assert await lead(named("one"), lambda: None) == ["nobody", "one", "one"]
    assert await lead(named("two"), lambda: None) == ["nobody", "two", "two"]
    assert NAME.get() == "nobody"


@pytest.mark.parametrize("wait", [lambda: asyncio.sleep(60), lambda: asyncio.Event().wait()])
async def test_a_timeout_inside_ends_its_own_block(wait: Callable[[], Awaitable[object]]) -> None:
    async def impatient() -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await wait()
        return "in time"

    assert await lead(impatient(), lambda: None) == "in time"
