"""Runs a coroutine as part of a task that has more to do, and tells when it waits for the first time.

A coroutine that never waits needs no task of its own, which costs more than such a run does. What it sets in context
variables stays with it all the same.
"""

import types
from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from typing import Any, TypeVar

Value = TypeVar("Value")


@types.coroutine
def lead(coroutine: Coroutine[Any, Any, Value], on_wait: Callable[[], None]) -> Generator[Any, Any, Value]:
    """What the coroutine returns; `on_wait` is called once, when it begins to wait."""
    run = copy_context().run
    try:
        awaited = run(coroutine.send, None)
    except StopIteration as end:
        value: Value = end.value
        return value
    on_wait()
    return (yield from _follow(coroutine, awaited, run))


def _follow(coroutine: Coroutine[Any, Any, Value], awaited: Any, run: Callable[..., Any]) -> Generator[Any, Any, Value]:
    """Pass on what it awaits, and give it what comes of that."""
    while True:
        try:
            given = yield awaited
        except GeneratorExit:
            run(coroutine.close)
            raise
        except BaseException as error:
            resume: Callable[[Any], Any] = coroutine.throw
            given = error
        else:
            resume = coroutine.send
        try:
            awaited = run(resume, given)
        except StopIteration as end:
            value: Value = end.value
            return value
