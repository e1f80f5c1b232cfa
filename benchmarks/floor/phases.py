"""What one process does in a phase of the floor; as a program it performs the parts that it reads, a line each."""

import time
from collections.abc import Callable
from typing import NamedTuple

from benchmarks.floor.loops import Loop, create_tables, open_loop
from benchmarks.subprocesses import Done, serve


class Part(NamedTuple):
    """The share of one process in a phase."""

    url: str
    phase: str
    jobs: int
    batch: int
    payload: str


def perform(part: Part) -> Done:
    """Connect, and move jobs."""
    loop = open_loop(part.url)
    try:
        began = time.monotonic()
        return Done(PHASES[part.phase](loop, part), began, time.monotonic())
    finally:
        loop.close()


def _prepare(loop: Loop, part: Part) -> int:
    """New tables, with as many jobs as the part says."""
    create_tables(part.url)
    return _insert(loop, part)


def _insert(loop: Loop, part: Part) -> int:
    payloads = [part.payload] * part.batch
    for _ in range(0, part.jobs, part.batch):
        loop.insert(payloads)
    return -(-part.jobs // part.batch) * part.batch


def _drain(loop: Loop, part: Part) -> int:
    moved = 0
    while ids := loop.claim(part.batch):
        loop.settle(ids)
        moved += len(ids)
    return moved


def _flow(loop: Loop, part: Part) -> int:
    payloads, moved = [part.payload] * part.batch, 0
    while moved < part.jobs:
        loop.insert(payloads)
        ids = loop.claim(part.batch)
        loop.settle(ids)
        moved += len(ids)
    return moved


PHASES: dict[str, Callable[[Loop, Part], int]] = {
    "prepare": _prepare,
    "insert": _insert,
    "drain": _drain,
    "flow": _flow,
}


if __name__ == "__main__":
    serve(lambda given: perform(Part(*given)))
