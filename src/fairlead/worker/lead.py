"""Runs a coroutine as part of a task that has more to do, up to where it waits for the first time.

A coroutine that never waits needs no task of its own, which costs more than such a run does. What it sets in context
variables stays with it all the same.
"""

from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Waiting(Generic[Value]):
    """A coroutine that has begun to wait; whoever awaits this runs the rest of it."""

    __slots__ = ("_awaited", "_coroutine", "_run")

    def __init__(self, coroutine: Coroutine[Any, Any, Value], awaited: Any, run: Callable[..., Any]) -> None:
        self._coroutine = coroutine
        self._awaited = awaited
        self._run = run

    def __await__(self) -> Generator[Any, Any, Value]:
        """Pass on what it awaits, and give it what comes of that."""
        coroutine, awaited, run = self._coroutine, self._awaited, self._run
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
            finally:
                given = None  # an error would refer to this frame, and this frame to it


def lead(coroutine: Coroutine[Any, Any, Value]) -> Value | Waiting[Value]:
    """What the coroutine returns, if it does so without waiting for anything."""
    run = copy_context().run
    try:
        return Waiting(coroutine, run(coroutine.send, None), run)
    except StopIteration as end:
        value: Value = end.value
        return value
