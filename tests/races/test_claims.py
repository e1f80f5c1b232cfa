"""Many claimers on the same jobs: each job goes to exactly one of them."""

import asyncio
import multiprocessing
import threading
from collections.abc import Awaitable, Callable
from multiprocessing.queues import Queue
from random import Random

import pytest

from fairlead import wiring
from fairlead.core.jobs.model import Claim, Quota
from fairlead.records.store import Store
from tests.contract.making import LANE, done, new_jobs, new_lease
from tests.races.conftest import OpenStore

JOBS = 10_000
LANES = [LANE._replace(tenant=f"tenant-{number}") for number in range(4)]


async def fill(store: Store) -> set[str]:
    """Store all jobs; returns their ids."""
    ids: set[str] = set()
    for lane in LANES:
        jobs = new_jobs(JOBS // len(LANES), lane)
        await store.jobs.enqueue(jobs)
        ids.update(job.id for job in jobs)
    return ids


async def drain(store: Store, seed: int, settle: bool = False) -> list[Claim]:
    """Claim in random portions from random lanes until nothing is left."""
    rng, claimed = Random(seed), []
    while active := await store.reader.active_lanes():
        lanes = rng.sample(active, rng.randint(1, len(active)))
        claims = await store.jobs.claim(
            [Quota(lane.lane.id, rng.randint(1, 300), lane.since) for lane in lanes], new_lease()
        )
        claimed += claims
        if settle:
            assert len(await store.jobs.settle([done(item) for item in claims])) == len(claims)
    return claimed


def require_each_once(claims: list[Claim], ids: set[str]) -> None:
    """Nothing lost, nothing doubled."""
    assert len(claims) == len(ids)
    assert {item.id for item in claims} == ids
    assert {item.fence for item in claims} == {1}


@pytest.mark.parametrize("settle", [False, True])
async def test_tasks_with_their_own_stores_share_the_jobs(open_store: OpenStore, settle: bool) -> None:
    stores = [await open_store() for _ in range(3)]
    ids = await fill(stores[0])
    shares = await asyncio.gather(*(drain(store, seed, settle) for seed, store in enumerate(stores)))
    require_each_once([item for share in shares for item in share], ids)
    assert sum(1 for share in shares if share) > 1


def in_thread(work: Callable[[], Awaitable[None]], failures: list[BaseException]) -> threading.Thread:
    """A thread with an event loop of its own."""

    def run() -> None:
        try:
            asyncio.run(work())  # type: ignore[arg-type]
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


async def test_threads_share_the_jobs(shared_url: str, open_store: OpenStore) -> None:
    ids = await fill(await open_store())
    claims: list[Claim] = []
    failures: list[BaseException] = []

    def drainer(seed: int) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            store = wiring.make_store(shared_url)
            await store.open()
            try:
                claims.extend(await drain(store, seed))
            finally:
                await store.close()

        return work

    threads = [in_thread(drainer(seed), failures) for seed in range(2)]
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert failures == []
    require_each_once(claims, ids)


def drain_in_process(url: str, seed: int, results: "Queue[list[tuple[str, int]]]") -> None:
    """What a worker process does."""

    async def work() -> None:
        store = wiring.make_store(url)
        await store.open()
        try:
            results.put([(item.id, item.fence) for item in await drain(store, seed, settle=True)])
        finally:
            await store.close()

    asyncio.run(work())


async def test_processes_share_the_jobs(shared_url: str, open_store: OpenStore) -> None:
    ids = await fill(await open_store())
    context = multiprocessing.get_context("spawn")
    results: Queue[list[tuple[str, int]]] = context.Queue()
    processes = [context.Process(target=drain_in_process, args=(shared_url, seed, results)) for seed in range(2)]
    for process in processes:
        process.start()
    shares = [await asyncio.to_thread(results.get, timeout=60) for _ in processes]
    for process in processes:
        await asyncio.to_thread(process.join)
        process.close()
    results.close()
    results.join_thread()
    claimed = [item for share in shares for item in share]
    assert len(claimed) == len(ids)
    assert {job_id for job_id, _ in claimed} == ids
    assert {fence for _, fence in claimed} == {1}
