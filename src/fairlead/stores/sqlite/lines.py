"""A line of works that wait for one thread and its connection.

Asynchronous and blocking callers stand in the same line. The thread takes all that wait, up to a bound, and who comes
until it may write or soon after; it runs them in one transaction and answers each event loop once for the whole group:
waking a loop costs more than most statements.

A blocking caller that finds nobody in the line and the connection unused does its work itself, on its own thread: to
hand it over and to be woken again takes longer than the work. Whoever has the turn uses the connection, nobody else.
"""

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import apsw

from fairlead.errors import StoreUnavailable
from fairlead.stores.sqlite.connection import DEADLINE
from fairlead.stores.sqlite.transactions import Result, Transactions, Work

LOOK_AROUND = 1.0

Answer = asyncio.Future[Any] | Future[Any]


class Request(NamedTuple):
    """A work and where its result goes; it is not begun after `latest`."""

    work: Work
    answer: Answer
    latest: float


class Line(threading.Thread):
    """Owns a connection from `start` to `end`; it ends by itself when the program has nothing else left to do."""

    def __init__(
        self,
        name: str,
        connect: Callable[[], apsw.Connection],
        transactions: Callable[[apsw.Connection], Transactions],
        group: int,
        after_group: Callable[[apsw.Connection], None] = lambda connection: None,
        before_close: Callable[[apsw.Connection], None] = lambda connection: None,
    ) -> None:
        super().__init__(name=name, daemon=False)
        self._connect = connect
        self._transactions = transactions
        self._group = group
        self._after_group = after_group
        self._before_close = before_close
        self._queue: SimpleQueue[Request | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._awaited = False  # whether somebody stands in the line, or is being served
        self._ended = False
        self._opened: Future[None] = Future()

    def open(self) -> None:
        """Start the thread; returns when it is connected, or raises why it cannot be."""
        self.start()
        try:
            self._opened.result()
        except BaseException:
            self.join()
            raise

    def end(self) -> None:
        """Answer what waits, close the connection and end the thread."""
        with self._lock:
            self._ended = True
            self._queue.put(None)
        self.join()

    def submit(self, work: Work, answer: Answer) -> None:
        """Join the line."""
        with self._lock:
            if self._ended:
                raise _closed()
            self._awaited = True
            self._queue.put(Request(work, answer, time.monotonic() + DEADLINE))

    def run_here(self, work: Work) -> Result | None:
        """What became of a work that was run on the calling thread; None where it has to join the line."""
        if self._awaited or self._turn.locked():
            return None
        with self._turn:
            if self._ended:
                return None
            (result,) = self._works.run([work])
            self._after_group(self._connection)
            return result

    def run(self) -> None:
        """The thread: connect, serve, close."""
        try:
            self._connection = self._connect()
        except BaseException as error:
            self._ended = True
            self._opened.set_exception(error)
            return
        self._works = self._transactions(self._connection)
        self._opened.set_result(None)
        try:
            self._serve()
        finally:
            self._refuse_rest()
            with self._turn:
                self._before_close(self._connection)
                self._connection.close()

    def _serve(self) -> None:
        while (first := self._first()) is not None:
            with self._turn:
                self._serve_group(_on_time([first, *self._waiting(self._group - 1)]))
            with self._lock:
                self._awaited = not self._queue.empty()

    def _serve_group(self, group: list[Request]) -> None:
        if group:
            answers = self._works.run([request.work for request in group], partial(self._join, group))
            answer_all(group, answers)
            self._after_group(self._connection)

    def _join(self, group: list[Request]) -> list[Work]:
        """Add who has come meanwhile to the group."""
        joined = _on_time(self._waiting(self._group - len(group)))
        group += joined
        return [request.work for request in joined]

    def _refuse_rest(self) -> None:
        """Nobody waits for a line that has ended."""
        with self._lock, suppress(Empty):
            self._ended = True
            while True:
                request = self._queue.get_nowait()
                if request is not None:
                    answer_all([request], [Result(error=_closed())])

    def _waiting(self, most: int) -> list[Request]:
        """Who waits now; nobody but this thread takes anybody out of the line."""
        found: list[Request] = []
        while len(found) < most and not self._queue.empty():
            following = self._queue.get_nowait()
            if following is None:
                self._queue.put(None)
                break
            found.append(following)
        return found

    def _first(self) -> Request | None:
        """Wait for the next one; None when the line has ended."""
        while True:
            try:
                return self._queue.get(timeout=LOOK_AROUND)
            except Empty:
                if _program_is_over():
                    with self._lock:
                        self._ended = True
                        self._queue.put(None)


def _on_time(requests: Sequence[Request]) -> list[Request]:
    """Those whose callers still wait; who waited too long is told so."""
    if not requests:
        return []
    moment = time.monotonic()
    wanted = [request for request in requests if not request.answer.cancelled()]
    late = [request for request in wanted if request.latest < moment]
    answer_all(late, [Result(error=_too_late()) for _ in late])
    return [request for request in wanted if request.latest >= moment]


def answer_all(requests: Sequence[Request], results: Sequence[Result]) -> None:
    """Hand out results, with one wake-up for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Answer, Result]]] = defaultdict(list)
    for request, result in zip(requests, results, strict=True):
        if isinstance(request.answer, asyncio.Future):
            by_loop[request.answer.get_loop()].append((request.answer, result))
        else:
            _complete([(request.answer, result)])
    for loop, answers in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_complete, answers)


def _complete(answers: Sequence[tuple[Answer, Result]]) -> None:
    for answer, result in answers:
        if answer.done():
            continue
        if result.error is not None:
            answer.set_exception(result.error)
        else:
            answer.set_result(result.value)


def _closed() -> StoreUnavailable:
    return StoreUnavailable("the store is closed; open it first")


def _too_late() -> StoreUnavailable:
    return StoreUnavailable(
        f"the database did not get to this within {DEADLINE:.0f} s; nothing was done: it is locked or overloaded"
    )


def _program_is_over() -> bool:
    """Whether the main thread has ended and only lines keep the process alive: somebody forgot to close a store."""
    threads = [thread for thread in threading.enumerate() if thread.is_alive()]
    return all(thread.daemon or isinstance(thread, Line) for thread in threads)
