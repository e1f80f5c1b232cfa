"""Runs plain `def` handlers in threads and hands their results to the event loop, many in one call.

A thread that takes a call wakes the next thread if more calls wait. So a handler that blocks is joined by another
thread at once, while handlers that return quickly are run one after the other by a thread that is awake already.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any


class ThreadCall:
    """A function to call in a thread; once `done` has its result, exactly one of `value` and `error` counts."""

    __slots__ = ("_context", "_function", "_ticket", "done", "error", "is_over", "value")

    def __init__(self, function: Callable[[], Any], done: "asyncio.Future[None]") -> None:
        self.done = done
        self.value: Any = None
        self.error: BaseException | None = None
        self.is_over = False
        self._function = function
        self._context = copy_context()
        self._ticket = [None]

    def run(self) -> None:
        """Call the function in this thread, unless the call was withdrawn."""
        if self._take_ticket():
            try:
                self.value = self._context.run(self._function)
            except BaseException as error:
                self.error = error
        self.is_over = True

    def withdraw(self) -> bool:
        """Prevent the call; False if a thread has begun it."""
        return self._take_ticket()

    def _take_ticket(self) -> bool:
        """Whether the caller is the first one here: list.pop is atomic."""
        try:
            self._ticket.pop()
        except IndexError:
            return False
        return True


class HandlerThreads:
    """At most `most` threads, started on demand."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._loop = asyncio.get_running_loop()
        self._calls: deque[ThreadCall] = deque()
        self._threads: list[threading.Thread] = []
        self._idle: deque[None] = deque()  # an entry for each thread that waits
        self._wake_ups: SimpleQueue[bool] = SimpleQueue()  # True: look for a call; False: end
        self._is_waking = False  # a thread was woken and has not looked for a call yet
        self._results: deque[ThreadCall] = deque()
        self._is_delivering = False

    def submit(self, function: Callable[[], Any]) -> ThreadCall:
        """Have the function called in a thread."""
        call = ThreadCall(function, self._loop.create_future())
        self._calls.append(call)
        self._wake()
        return call

    @property
    def has_running_calls(self) -> bool:
        """Whether a handler runs in some thread."""
        return len(self._idle) < sum(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Withdraw the calls that wait, and end each thread as soon as its handler returns."""
        self._calls.clear()
        for _ in self._threads:
            self._wake_ups.put(False)

    def _wake(self) -> None:
        """Have a thread look for a call, unless one is about to."""
        if not self._is_waking:
            self._is_waking = True
            if not self._idle and len(self._threads) < self._most:
                thread = threading.Thread(target=self._work, name=f"fairlead-handler-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._wake_ups.put(True)

    def _work(self) -> None:
        while True:
            self._idle.append(None)
            goes_on = self._wake_ups.get()
            if not goes_on:
                return
            self._idle.pop()
            self._is_waking = False
            self._run_calls()

    def _run_calls(self) -> None:
        while True:
            try:
                call = self._calls.popleft()
            except IndexError:
                return
            if self._calls:
                self._wake()
            call.run()
            self._deliver(call)

    def _deliver(self, call: ThreadCall) -> None:
        self._results.append(call)
        if not self._is_delivering:
            self._is_delivering = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for results
                self._loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        """On the event loop: tell everyone whose call has ended."""
        self._is_delivering = False
        while self._results:
            done = self._results.popleft().done
            if not done.done():
                done.set_result(None)
