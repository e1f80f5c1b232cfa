"""A synchronous program that submits, for tests of the ways on which it does."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import fairlead
from fairlead.client.blocking import run_through

LONG = 10.0


class Program:
    """A synchronous program with one handler, that has submitted before."""

    def __init__(self, url: str) -> None:
        self.app = fairlead.App(url, poll="60s")
        self.ran: set[int] = set()
        self.ran_one = threading.Semaphore(0)

        @self.app.handler("mail")
        async def mail(number: int = 0) -> None:
            self.ran.add(number)
            self.ran_one.release()

        self.mail = mail
        mail.delay()

    def ask(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Its result, over the bridge."""
        return self.app.sync(coroutine)

    def store(self) -> Any:
        """The store that blocking callers use."""

        async def own(client: Any) -> Any:
            return client.store

        return self.app.threads.run(own)

    def stored(self) -> int:
        """How many jobs there are beside the first."""
        counts: dict[Any, int] = run_through(self.store().reader.count_jobs())
        return sum(counts.values()) - 1

    def close(self) -> None:
        self.app.shutdown()
        asyncio.run(self.app.close())
