"""Callers that block: they submit on their own threads, and wait for results over a background event loop.

A submission is the client's own coroutine, on a store whose verbs never wait for an event loop, so it is run through on
the calling thread. Only what has to wait, such as for a job's end, goes over the bridge.
"""

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from fairlead.client.admission import Admission
from fairlead.client.client import Client
from fairlead.client.gather import Bounds, hints, store_patiently
from fairlead.config import Settings
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.errors import ConfigError, StoreError, StoreUnavailable
from fairlead.records.store import Store

END_PATIENCE = 1.0
SHUT_DOWN = "the app was shut down while this call waited for it; nobody knows whether it was done"
SHORTEST_PAUSE = 0.002  # between two hints
LONGEST_PAUSE = 0.05
THRIFT = 10  # times what a hint took, the next one waits
LINGER = 1.0  # seconds without hints, after which their thread ends

Result = TypeVar("Result")

_forked: "weakref.WeakSet[Bridge | ThreadClient]" = weakref.WeakSet()


class Guard:
    """Knows which threads are in the middle of a blocking call."""

    def __init__(self) -> None:
        self._busy: set[int] = set()

    def require_free(self) -> None:
        """ConfigError where a blocking call would stop an event loop, or wait for a call that it has interrupted."""
        if asyncio._get_running_loop() is not None:
            raise ConfigError(
                "this call blocks, and it was made on an event loop that it would stop; use the async form with await"
            )
        if threading.get_ident() in self._busy:
            raise ConfigError(
                "this call blocks, and it was made by a signal handler or finalizer that has interrupted another "
                "blocking call, which it would wait for without end; set a flag there, or raise, and call afterwards"
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """A blocking call on this thread, during which there is no other."""
        self.require_free()
        caller = threading.get_ident()
        try:
            self._busy.add(caller)
            yield
        finally:
            self._busy.discard(caller)

    def begin_anew(self) -> None:
        """In a forked child, which has none of the other threads."""
        self._busy = set()


class ThreadClient:
    """The client of all threads that block, opened at the first use; it submits on the calling thread."""

    def __init__(self, make_store: Callable[[], Store], settings: Settings, admission: Admission, guard: Guard) -> None:
        self._make_store = make_store
        self._settings = settings
        self._admission = admission
        self._guard = guard
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._parents: object = None
        _forked.add(self)

    def run(self, use: Callable[[Client], Coroutine[Any, Any, Result]]) -> Result:
        """The result of a coroutine that uses the client, run on this thread."""
        with self._guard.held():
            return run_through(use(self._client or self._opened()))

    def close(self) -> None:
        """Send the hints that are left, and disconnect."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            run_through(client.close())
            run_through(client.store.close())

    def begin_anew(self) -> None:
        """In a forked child: what is open belongs to the parent and is kept as it is; the next call opens its own."""
        self._parents = self._parents, self._client
        self._lock, self._client = threading.Lock(), None
        self._admission.begin_anew()

    def _opened(self) -> Client:
        with self._lock:
            if self._client is None:
                store = self._make_store()
                run_through(store.open())
                self._client = Client(store, self._settings, self._admission, LoneSender(store))
            return self._client


class LoneSender:
    """Sends each submission by itself, on the thread of its caller."""

    abreast = 1

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hints = ThreadHints(store)
        self._closed = threading.Event()

    async def submit(self, jobs: Sequence[NewJob], bounds: Bounds = ()) -> list[Enqueued]:
        """Store the jobs; returns when they are durable. A hint that is due goes with the commit."""
        wanted = hints(jobs)
        due = self._hints.due(wanted)
        answers = await store_patiently(self._store, jobs, bounds, due, self._sleep)
        self._hints.leave(wanted - due)
        return answers

    async def send(self, jobs: Sequence[NewJob], bounds: Bounds = ()) -> list[Enqueued]:
        """The same."""
        return await self.submit(jobs, bounds)

    async def close(self) -> None:
        """Let nobody wait for the store any more, and send the hints that are left."""
        self._closed.set()
        self._hints.close()

    async def _sleep(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise StoreUnavailable("the app was shut down while this job was submitted; it is not known to be stored")


class ThreadHints:
    """Hints of callers on many threads: one goes with a commit; those of the next moments are sent together.

    They are sent by a thread at the end of a pause, which is ten times as long as the last hint took: a database that
    has much to do gets fewer. A hint that fails is only a slower start.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._left: set[str] = set()
        self._pause_until = 0.0
        self._sender: threading.Thread | None = None
        self._wanted = threading.Event()
        self._closed = False

    def due(self, pools: frozenset[str]) -> frozenset[str]:
        """The hints to send with the commit that is about to happen; `leave` the others after it."""
        now = time.monotonic()
        with self._lock:
            if not pools or self._left or now < self._pause_until:
                return frozenset()
            self._pause_until = now + SHORTEST_PAUSE
        return pools

    def leave(self, pools: frozenset[str]) -> None:
        """Leave hints to the thread."""
        if not pools:
            return
        with self._lock:
            self._left |= pools
            if self._sender is None and not self._closed:
                self._sender = threading.Thread(target=self._send_all, name="fairlead-hints", daemon=True)
                self._sender.start()
        self._wanted.set()

    def close(self) -> None:
        """Send what is left."""
        with self._lock:
            self._closed, sender = True, self._sender
        self._wanted.set()
        if sender is not None:
            sender.join(END_PATIENCE)
        self._send()

    def _send_all(self) -> None:
        pause = SHORTEST_PAUSE
        while self._wanted.wait(LINGER) or not self._may_end():
            self._wanted.clear()
            if self._closed:
                return
            time.sleep(pause)
            pause = min(max(SHORTEST_PAUSE, THRIFT * self._send()), LONGEST_PAUSE)

    def _send(self) -> float:
        """Send what is left; returns how long that took."""
        with self._lock:
            pools, self._left = self._left, set()
            self._pause_until = time.monotonic() + SHORTEST_PAUSE
        began = time.monotonic()
        if pools:
            with suppress(StoreError):
                run_through(self._store.jobs.wake(pools))
        return time.monotonic() - began

    def _may_end(self) -> bool:
        """Whether nothing is left; whoever comes next starts another thread."""
        with self._lock:
            if self._left:
                return False
            self._sender = None
        return True


def run_through(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} waits for an event loop; run it with app.sync(...)")


class Bridge:
    """Runs coroutines on a thread of its own, started at the first use."""

    def __init__(self, guard: Guard | None = None) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._parents: object = None
        self._guard = guard or Guard()
        _forked.add(self)

    @property
    def is_running(self) -> bool:
        """Whether anything was run yet."""
        return self._loop is not None

    def runs_here(self) -> bool:
        """Whether the caller is on the bridge's own loop."""
        return self._thread is threading.current_thread()

    def run(self, coroutine: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """The coroutine's result, waiting for it."""
        try:
            self._guard.require_free()
        except ConfigError:
            coroutine.close()
            raise
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
        self._lock, self._loop, self._thread = threading.Lock(), None, None
        self._guard.begin_anew()

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


def _after_fork() -> None:
    for item in list(_forked):
        item.begin_anew()


os.register_at_fork(after_in_child=_after_fork)
