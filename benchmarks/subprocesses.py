"""Processes that perform parts of a benchmark: a line of JSON in for each part, a line of JSON out when it is done."""

import asyncio
import contextlib
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

from fairlead.errors import StoreUnavailable

LONGEST_ANSWER = 256 * 1024 * 1024  # bytes; one that tells of each job of a long run is a long line


class Done(NamedTuple):
    """How many jobs a process moved, and from when to when by the monotonic clock, which all processes share."""

    jobs: int
    began: float
    ended: float


class Helper:
    """A process that performs parts, one after the other."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def perform(self, part: Sequence[Any]) -> Done:
        """Perform a part; returns how many jobs it moved, and when."""
        return Done(*await self.ask(part))

    async def ask(self, part: Sequence[Any]) -> list[Any]:
        """Send a part; returns the answer."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(part).encode() + b"\n")
        answer = await self._process.stdout.readline()
        if not answer:
            raise StoreUnavailable("a process of the benchmark failed; its error stands above")
        found: list[Any] = json.loads(answer)
        return found

    async def end(self) -> None:
        """Kill the process and wait for its end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.communicate()


@contextlib.asynccontextmanager
async def opened_helpers(module: str, count: int) -> AsyncIterator[list[Helper]]:
    """Start so many processes, each running the module as a program."""
    helpers: list[Helper] = []
    try:
        for _ in range(count):
            command = (sys.executable, "-m", module)
            started = asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=LONGEST_ANSWER)
            helpers.append(Helper(await started))
        yield helpers
    finally:
        for helper in helpers:
            await helper.end()


async def perform_together(helpers: Sequence[Helper], part: Sequence[Any]) -> int:
    """Perform the part in all processes at once; returns their jobs a second."""
    done = await asyncio.gather(*(helper.perform(part) for helper in helpers))
    seconds = max(one.ended for one in done) - min(one.began for one in done)
    return round(sum(one.jobs for one in done) / seconds)


def serve(perform: Callable[[list[Any]], Sequence[Any]]) -> None:
    """Perform the parts that arrive on standard input: the main loop of such a program."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group; the parent ends us
    for line in sys.stdin:
        print(json.dumps(perform(json.loads(line))), flush=True)
