"""The one bridge from synchronous code: a background event loop that runs what the async client offers."""

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from fairlead.errors import ConfigError, StoreUnavailable

END_PATIENCE = 1.0
SHUT_DOWN = "the app was shut down while this call waited for it; nobody knows whether it was done"

Argument = TypeVar("Argument")
Result = TypeVar("Result")

_bridges: weakref.WeakSet["Bridge"] = weakref.WeakSet()


class Bridge:
    """Runs coroutines on a thread of its own, started at the first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._busy: set[int] = set()  # threads that do their work themselves, without the loop
        self._parents: object = None
        _bridges.add(self)

    @property
    def is_running(self) -> bool:
        """Whether anything was run yet."""
        return self._loop is not None

    def runs_here(self) -> bool:
        """Whether the caller is on the bridge's own loop."""
        return self._thread is threading.current_thread()

    def loop_in_reach(self) -> asyncio.AbstractEventLoop | None:
        """The loop, where it runs and `run` would not refuse the caller."""
        return None if threading.get_ident() in self._busy or _inside_loop() else self._loop

    def run_here(self, action: Callable[[Argument], Result], argument: Argument) -> Result:
        """The result of an action on the calling thread, during which `run` refuses it."""
        caller = threading.get_ident()
        try:
            self._busy.add(caller)
            return action(argument)
        finally:
            self._busy.discard(caller)

    def run(self, coroutine: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """The coroutine's result, waiting for it."""
        if _inside_loop():
            coroutine.close()
            raise ConfigError(
                "this call blocks, and it was made on an event loop that it would stop; use the async form with await"
            )
        if threading.get_ident() in self._busy:
            coroutine.close()
            raise ConfigError(
                "this call blocks, and it was made by a signal handler or finalizer that has interrupted another "
                "blocking call, which it would wait for without end; set a flag there, or raise, and call afterwards"
            )
        with self._lock:  # so that it is there before the loop is stopped
            future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()
            raise
        except CancelledError:
            raise StoreUnavailable(SHUT_DOWN) from None

    def close(self) -> None:
        """Stop the thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop and thread:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def begin_anew(self) -> None:
        """In a forked child: the thread has stayed with the parent, and whatever its loop has open is the parent's.

        All of that is kept as it is, since to end it here would disturb the parent; the next call makes its own.
        """
        self._parents = self._parents, self._loop, self._thread
        self._lock, self._loop, self._thread, self._busy = threading.Lock(), None, None, set()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_serve, args=[self._loop], name="fairlead-bridge", daemon=True)
            self._thread.start()
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.run_until_complete(_end_all())


async def _end_all() -> None:
    """Cancel what others wait for, so that nobody waits for ever; not for tasks of libraries that do not heed it."""
    await asyncio.sleep(0)  # what was handed over last becomes a task
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=END_PATIENCE)


def _inside_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _after_fork() -> None:
    for bridge in list(_bridges):
        bridge.begin_anew()


os.register_at_fork(after_in_child=_after_fork)
