"""What a handler that runs in a thread asks of its worker, whose event loop is in another thread."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from inspect import isawaitable, iscoroutine
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import from_json

from fairlead.core.durations import Duration
from fairlead.errors import ConfigError, LeaseLost, StoreUnavailable
from fairlead.handlers.checkpoints import SAME, Key, Upgrade
from fairlead.ports.jobs import BlockingTransaction

if TYPE_CHECKING:
    from fairlead.handlers.context import Context

PATIENCE = 120.0

Value = TypeVar("Value")


class Blocking:
    """`ctx.blocking`: the same verbs as of the context, without await."""

    def __init__(self, context: "Context") -> None:
        if _on_a_loop():
            raise ConfigError(
                "ctx.blocking is for handlers in threads; "
                "in a coroutine await ctx.once, ctx.progress or ctx.transaction"
            )
        self._context = context

    def once(self, name: str, effect: Callable[[], Any]) -> Any:
        """The result of a side effect that this job has once; see Context.once. The effect runs in this thread."""
        effects = self._context.effects
        text = self._wait(effects.recall(name))
        if text is None:
            result = effect()
            if isawaitable(result):
                _close(result)
                raise ConfigError("in a thread the effect must be a plain function; a coroutine needs an async handler")
            text = self._wait(effects.remember(name, result))
        return from_json(text)

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far this run has come; see Context.progress. It waits for nothing."""
        self._context.tell_progress(done, total, message)

    def checkpoint(self, state: Any = SAME, *, version: int | None = None, now: bool = False) -> None:
        """Save how far the handler has come; see Context.checkpoint."""
        self._wait(self._context.checkpoint(state, version=version, now=now))

    def load_checkpoint(self, type_: Any = None, *, version: int | None = None, upgrade: Upgrade | None = None) -> Any:
        """The state of the newest checkpoint, or None; see Context.load_checkpoint."""
        return self._wait(self._context.load_checkpoint(type_, version=version, upgrade=upgrade))

    def step(self, name: str) -> bool:
        """Whether a step is still to be done; see Context.step."""
        return self._wait(self._context.step(name))

    def resume(
        self, rows: Iterable[Any], *, key: Key | None = None, every: Duration = 1.0, name: str | None = None
    ) -> Iterator[Any]:
        """The rows that are not done yet; see Context.resume. It ends with LeaseLost where the run has ended."""
        checkpoints = self._context.checkpoints
        self._wait(checkpoints.read())
        return checkpoints.resume_blocking(rows, checkpoints.loop(name, key, every))

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A psycopg connection whose transaction is committed with this job's success; see Context.transaction."""
        context = self._context
        opened = self._begin()
        try:
            yield opened.connection
            if self._wait(context.end_block(opened)):
                return
        except BaseException:
            context.forget_block()
            opened.release(keep=False)
            raise
        if not opened.release(keep=True):
            raise LeaseLost(f"the run of job {context.job_id} was ended meanwhile; nothing of its transaction is kept")

    def _begin(self) -> BlockingTransaction:
        opened = self._context.tools.begin_blocking()
        try:
            self._wait(self._context.join(opened))
        except BaseException:
            opened.release(keep=False)
            raise
        return opened

    def _wait(self, coroutine: Coroutine[Any, Any, Value]) -> Value:
        """The coroutine's result, from the worker's event loop."""
        try:
            answer = asyncio.run_coroutine_threadsafe(coroutine, self._context.tools.loop)
        except RuntimeError as error:
            coroutine.close()
            raise LeaseLost("the worker that ran this job has ended; nothing is kept of what it does now") from error
        try:
            return answer.result(PATIENCE)
        except TimeoutError as error:
            answer.cancel()
            raise StoreUnavailable(f"the worker did not answer its handler within {PATIENCE:g} s") from error


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _close(awaitable: Any) -> None:
    if iscoroutine(awaitable):
        awaitable.close()
