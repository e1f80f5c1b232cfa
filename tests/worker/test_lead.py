"""A coroutine that is part of a task: what it awaits, what it is told, and what stays with it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

import pytest

from fairlead.worker.lead import Waiting, lead

NAME: ContextVar[str] = ContextVar("NAME", default="nobody")

Value = TypeVar("Value")


async def led(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """What comes of a coroutine in the end."""
    found = lead(coroutine)
    return await found if isinstance(found, Waiting) else found


async def test_who_never_waits_ends_at_once() -> None:
    async def quick() -> str:
        return "done"

    assert lead(quick()) == "done"


async def test_who_waits_gets_what_it_waited_for() -> None:
    given = asyncio.get_running_loop().create_future()

    async def patient() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        return str(await given)

    given.set_result("news")
    found = lead(patient())
    assert isinstance(found, Waiting)
    assert await found == "news"


async def test_errors_pass_both_ways() -> None:
    given = asyncio.get_running_loop().create_future()
    given.set_exception(KeyError("away"))

    async def resilient() -> None:
        await asyncio.sleep(0)
        with pytest.raises(KeyError):
            await given
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await led(resilient())


async def test_a_cancellation_reaches_it_and_it_may_swallow_that() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "went on"
        return "never told"

    async def leading() -> str:
        return await led(stubborn())

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
        await led(long())

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

    assert await led(named("one")) == ["nobody", "one", "one"]
    assert await led(named("two")) == ["nobody", "two", "two"]
    assert NAME.get() == "nobody"


@pytest.mark.parametrize("wait", [lambda: asyncio.sleep(60), lambda: asyncio.Event().wait()])
async def test_a_timeout_inside_ends_its_own_block(wait: Callable[[], Awaitable[object]]) -> None:
    async def impatient() -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await wait()
        return "in time"

    assert await led(impatient()) == "in time"
