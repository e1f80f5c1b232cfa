"""Who follows hints in vain lets others go first, for a moment that grows."""

from functools import partial
from random import Random

import pytest

import fairlead
from fairlead.worker import eagerness
from fairlead.worker.eagerness import Eagerness
from tests.worker.support import until


class Utmost(Random):
    """Always the most that is possible."""

    def uniform(self, a: float, b: float) -> float:
        return b


@pytest.mark.parametrize(
    ("followed", "pause"),
    [
        ([], 0.0),
        ([False] * 7, 0.0),
        ([False] * 8, 0.001),
        ([False] * 9, 0.002),
        ([False] * 11, 0.008),
        ([False] * 12, eagerness.LONGEST),
        ([False] * 10_000, eagerness.LONGEST),
        ([False] * 10_000 + [True], 0.0),
        ([False] * 10_000 + [True] + [False] * 8, 0.001),
    ],
)
def test_the_pause_grows_with_hints_in_vain_and_ends_with_one_that_was_not(followed: list[bool], pause: float) -> None:
    eager = Eagerness(Utmost())
    for found in followed:
        eager.followed(found)
    assert eager.pause() == pause


def test_a_pause_is_anything_up_to_that() -> None:
    eager = Eagerness(Random(1))
    for _ in range(12):
        eager.followed(False)
    pauses = [eager.pause() for _ in range(200)]
    assert 0.0 <= min(pauses) < eagerness.LONGEST / 5
    assert eagerness.LONGEST * 4 / 5 < max(pauses) <= eagerness.LONGEST


def more_than(eager: Eagerness, before: int) -> bool:
    return eager._vain > before


async def test_a_worker_counts_hints_that_bring_nothing_until_one_does() -> None:
    app = fairlead.App("sqlite:///:memory:", poll="60s")

    @app.handler("work")
    async def work() -> None: ...

    async with app, app.worker(concurrency=4) as worker:
        while worker._eagerness._vain < 5:
            before = worker._eagerness._vain
            worker._on_wake("short")
            await until(partial(more_than, worker._eagerness, before))
        await (await work.enqueue()).wait(10)
        await until(lambda: worker._eagerness._vain == 0)
