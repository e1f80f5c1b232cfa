"""A synchronous program that submits, for tests of the ways on which it does."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

import fairlead
from fairlead.client import admission, places
from fairlead.client.blocking import Bridge
from fairlead.stores.postgres.blocking import OwnThread
from tests.worker.support import until

LONG = 10.0


def stay_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a client has read is new enough for a whole test."""
    monkeypatch.setattr(admission, "FRESH", 3600.0)
    monkeypatch.setattr(places, "FRESH", 3600.0)


class CountingBridge(Bridge):
    """A bridge that knows how often it was taken."""

    taken = 0

    def run(self, coroutine: Coroutine[Any, Any, Any], timeout: float | None = None) -> Any:
        self.taken += 1
        return super().run(coroutine, timeout)


class Program:
    """A synchronous program with one handler, that has submitted before; it counts how often it takes the bridge."""

    def __init__(self, url: str) -> None:
        self.app = fairlead.App(url, poll="60s")
        self.app._bridge = self._bridge = CountingBridge()
        self.ran: set[int] = set()
        self.ran_one = threading.Semaphore(0)

        @self.app.handler("mail")
        async def mail(number: int = 0) -> None:
            self.ran.add(number)
            self.ran_one.release()

        self.mail = mail
        mail.delay()
        self.is_postgres = url.startswith("postgres")
        if self.is_postgres:
            self.connect()
        self._bridge.taken = 0

    @property
    def bridged(self) -> int:
        """How often."""
        return self._bridge.taken

    def ask(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Its result, not counted."""
        return Bridge.run(self._bridge, coroutine)

    def store(self) -> Any:
        return self.ask(self.app.store())

    def writer(self) -> Any:
        """What writes to the SQLite file, once nobody stands in its line."""
        line = self.store()._database._writer
        self.ask(until(lambda: not line._awaited, "the line to be empty"))
        return line

    def connect(self) -> int:
        """Wait for PostgreSQL's connection for blocking callers, which is opened beside them; returns its number."""
        own: OwnThread = self.store()._own_thread
        own._want()
        self.ask(until(lambda: bool(own._free), "a connection"))
        return own._free[0].info.backend_pid

    def stored(self) -> int:
        """How many jobs there are beside the first."""
        counts: dict[Any, int] = self.ask(self.store().reader.count_jobs())
        return sum(counts.values()) - 1

    def close(self) -> None:
        self.app.shutdown()
        asyncio.run(self.app.close())
