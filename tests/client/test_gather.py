"""Gathering: a lone caller goes straight to the store, company shares a statement, and hints leave with commits."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

import pytest

import fairlead
from fairlead.client import gather
from fairlead.client.gather import Gatherer
from fairlead.core.jobs.model import Enqueued, NewJob
from fairlead.errors import StoreRefused, StoreUnavailable
from fairlead.runtime.hints import HintSender
from tests.contract.making import new_job
from tests.support.doubles import store_of


class SlowStore:
    """Writes down what it is given, and answers when it is let go."""

    def __init__(self, writers: int = 1) -> None:
        self.writers = writers
        self.batches: list[list[str]] = []
        self.hints: list[set[str]] = []
        self.go = asyncio.Event()
        self.refused: set[str] = set()

    async def enqueue(
        self, jobs: Sequence[NewJob], again: bool = False, wake: Collection[str] = (), bounds: Any = ()
    ) -> list[Enqueued]:
        """One batch."""
        self.batches.append([job.id for job in jobs])
        self.hints.append(set(wake))
        await self.go.wait()
        if self.refused & {job.id for job in jobs}:
            raise StoreRefused("no")
        return [Enqueued(job.id, False) for job in jobs]

    async def wake(self, pools: Collection[str]) -> None:
        """A hint without a commit."""
        self.hints.append(set(pools))


def gatherer_on(store: SlowStore) -> tuple[Gatherer, HintSender]:
    """A gatherer and its waker."""
    waker = HintSender(store_of(jobs=store))
    return Gatherer(store_of(jobs=store), waker), waker


@pytest.mark.parametrize(("writers", "count"), [(1, 30), (8, gather.FEW)])
async def test_those_who_come_while_a_batch_is_on_its_way_leave_together(writers: int, count: int) -> None:
    store = SlowStore(writers)
    gatherer, waker = gatherer_on(store)
    jobs = [new_job() for _ in range(count)]
    callers = [asyncio.create_task(gatherer.submit([job])) for job in jobs]
    await turns(5)
    assert store.batches == [[jobs[0].id]]
    store.go.set()
    answers = await asyncio.gather(*callers)
    assert [answer[0].id for answer in answers] == [job.id for job in jobs]
    assert store.batches == [[jobs[0].id], [job.id for job in jobs[1:]]]
    await gatherer.close()
    await waker.close()


async def test_those_who_go_on_at_once_leave_together_again() -> None:
    store = SlowStore()
    gatherer, waker = gatherer_on(store)

    async def submit_twice() -> None:
        await gatherer.submit([new_job()])
        await gatherer.submit([new_job()])

    callers = [asyncio.create_task(submit_twice()) for _ in range(5)]
    await asyncio.sleep(0)
    store.go.set()
    await asyncio.gather(*callers)
    assert [len(batch) for batch in store.batches] == [1, 4, 5]
    await gatherer.close()
    await waker.close()


async def test_a_store_that_writes_for_several_gets_one_half_while_it_is_at_work_for_the_other() -> None:
    store = SlowStore(writers=8)
    gatherer, waker = gatherer_on(store)
    callers = [asyncio.create_task(gatherer.submit([new_job()])) for _ in range(18)]
    await turns(5)
    assert [len(batch) for batch in store.batches] == [1, 9]
    store.go.set()
    await asyncio.gather(*callers)
    assert [len(batch) for batch in store.batches] == [1, 9, 8]
    await gatherer.close()
    await waker.close()


async def test_a_caller_that_gives_up_while_others_wait_does_not_hold_them_up() -> None:
    store = SlowStore(writers=8)
    gatherer, waker = gatherer_on(store)
    callers = [asyncio.create_task(gatherer.submit([new_job()])) for _ in range(20)]
    await turns(5)
    assert [len(batch) for batch in store.batches] == [1, 10]
    for caller in (callers[0], callers[1], callers[-1]):  # alone, under way in company, waiting
        caller.cancel()
    store.go.set()
    answers = await asyncio.gather(*callers, return_exceptions=True)
    assert [isinstance(answer, list) for answer in answers] == [False, False, *[True] * 17, False]
    assert [len(batch) for batch in store.batches] == [1, 10, 8]
    assert len(await gatherer.submit([new_job()])) == 1
    await gatherer.close()
    await waker.close()


@pytest.mark.parametrize("begun", [False, True])
async def test_cancelled_senders_leave_nobody_waiting_and_nothing_behind(begun: bool) -> None:
    """Whoever ends a program by cancelling all tasks cancels ours, too."""
    store = SlowStore(writers=8)
    gatherer, waker = gatherer_on(store)
    callers = [asyncio.create_task(gatherer.submit([new_job()])) for _ in range(18)]
    while not gatherer._senders:
        await turns(1)
    await turns(3 if begun else 0)
    for sender in gatherer._senders:
        sender.cancel()
    store.go.set()
    answers = await asyncio.gather(*callers, return_exceptions=True)
    assert [isinstance(answer, list) for answer in answers] == [True, *[False] * 9, *[True] * 8]
    assert (gatherer._sending, gatherer._under_way) == (0, 0)
    assert len(await gatherer.submit([new_job()])) == 1
    await gatherer.close()
    await waker.close()


@pytest.mark.parametrize("callers", [2, 8, 9, 16, 50])
async def test_no_batch_is_empty_and_nobody_is_left_over(callers: int) -> None:
    store = SlowStore(writers=8)
    gatherer, waker = gatherer_on(store)
    store.go.set()

    async def submit_many() -> None:
        for _ in range(20):
            await gatherer.submit([new_job()])

    await asyncio.gather(*(submit_many() for _ in range(callers)))
    assert all(store.batches)
    assert sum(map(len, store.batches)) == 20 * callers
    await gatherer.close()
    assert (gatherer._sending, gatherer._under_way, gatherer._waiting) == (0, 0, [])
    await waker.close()


async def test_the_first_hint_leaves_with_the_commit_and_the_next_after_a_pause() -> None:
    store = SlowStore()
    store.go.set()
    gatherer, waker = gatherer_on(store)
    first, second = new_job(), new_job()
    await gatherer.submit([first])
    await gatherer.submit([second])
    assert store.hints == [{first.lane.pool}, set()]
    await waker.close()
    assert store.hints == [{first.lane.pool}, set(), {first.lane.pool}]


async def test_a_lone_caller_that_gives_up_does_not_hold_up_the_next() -> None:
    store = SlowStore()
    gatherer, waker = gatherer_on(store)
    lone = asyncio.create_task(gatherer.submit([new_job()]))
    await asyncio.sleep(0)
    follower = asyncio.create_task(gatherer.submit([new_job()]))
    await asyncio.sleep(0)
    lone.cancel()
    store.go.set()
    assert len(await follower) == 1
    assert len(await gatherer.submit([new_job()])) == 1
    await gatherer.close()
    await waker.close()


async def test_a_refused_submission_takes_nobody_else_down() -> None:
    store = SlowStore()
    gatherer, waker = gatherer_on(store)
    jobs = [new_job() for _ in range(4)]
    store.refused = {jobs[2].id}
    callers = [asyncio.create_task(gatherer.submit([job])) for job in jobs]
    await asyncio.sleep(0)
    store.go.set()
    answers: list[Any] = await asyncio.gather(*callers, return_exceptions=True)
    with pytest.raises(StoreRefused):
        raise answers[2]
    assert [answers[at][0].id for at in (0, 1, 3)] == [jobs[at].id for at in (0, 1, 3)]
    await gatherer.close()
    await waker.close()


async def turns(count: int) -> None:
    """Let the others have so many turns."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("run_in", [None, "1h"])
async def test_a_large_submission_is_stored_whole(store_url: str, run_in: str | None) -> None:
    app = fairlead.App(store_url)

    @app.handler("count")
    async def count(number: int) -> None: ...

    async with app:
        jobs = await count.options(run_in=run_in).enqueue_many([{"number": number} for number in range(2_300)])
        assert len({job.id for job in jobs}) == 2_300
        assert sum((await (await app.store()).reader.count_jobs()).values()) == 2_300
        for number in (0, 999, 1_100, 2_299):
            assert (await jobs[number].read()).payload == f'{{"number":{number}}}'


async def test_nothing_of_a_large_submission_is_stored_where_one_argument_is_wrong(store_url: str) -> None:
    app = fairlead.App(store_url)

    @app.handler("count")
    async def count(number: int) -> None: ...

    async with app:
        with pytest.raises(fairlead.InvalidArguments):
            await count.enqueue_many([*[{"number": number} for number in range(2_300)], {"number": "many"}])
        assert sum((await (await app.store()).reader.count_jobs()).values()) == 0


async def test_a_large_submission_whose_answer_was_lost_is_not_stored_twice(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = fairlead.App(store_url)

    @app.handler("count")
    async def count(number: int) -> None: ...

    async with app:
        store = await app.store()
        enqueue, lost = store.jobs.enqueue, [True]

        async def lose_an_answer(jobs: Sequence[NewJob], *more: Any) -> list[Enqueued]:
            answers: list[Enqueued] = await enqueue(jobs, *more)
            if lost:
                raise StoreUnavailable("the connection broke" if lost.pop() else "")
            return answers

        await count.enqueue(0)
        monkeypatch.setattr(store.jobs, "enqueue", lose_an_answer)
        jobs = await count.enqueue_many([{"number": number} for number in range(1_500)])
        assert not lost
        assert len({job.id for job in jobs}) == 1_500
        assert sum((await store.reader.count_jobs()).values()) == 1_501
        assert (await jobs[7].read()).payload == '{"number":7}'


async def test_after_a_batch_of_a_large_submission_that_is_refused_no_other_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = fairlead.App("sqlite:///:memory:")

    @app.handler("count")
    async def count(number: int) -> None: ...

    async with app:
        store = await app.store()
        batches: list[int] = []

        async def refuse(jobs: Sequence[NewJob], *more: Any) -> list[Enqueued]:
            batches.append(len(jobs))
            raise StoreRefused("no")

        monkeypatch.setattr(store.jobs, "enqueue", refuse)
        with pytest.raises(StoreRefused):
            await count.enqueue_many([{"number": number} for number in range(5_500)])
        assert batches == [1_000]
