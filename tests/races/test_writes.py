"""Writers that meet: of two decisions about one job exactly one counts, and nobody waits for ever."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from random import Random

import psycopg
import pytest

from fairlead import wiring
from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.cancel import CancelWrite
from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.model import CancelRequest, Claim, Ending, Enqueued, Held, Scope
from fairlead.core.jobs.settle import settle_as_cancelled
from fairlead.core.jobs.states import PENDING, State
from fairlead.operate.cancel_jobs import cancel_many
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator
from tests.contract.making import (
    LANE,
    claim,
    done,
    ended,
    failed,
    keyed_job,
    new_job,
    new_jobs,
    new_lease,
    run_to_end,
    same_worker,
    state_of,
)
from tests.races.conftest import OpenStore

JOBS = 1000


async def settle_in_portions(store: Store, jobs: Sequence[Claim | Held], ending: Ending, seed: int) -> set[str]:
    """Settle all in a random order and in portions, as several settlers do."""
    rng, accepted = Random(seed), set()
    order = rng.sample(list(jobs), len(jobs))
    while order:
        portion = [order.pop() for _ in range(min(len(order), rng.randint(1, 100)))]
        accepted |= await store.jobs.settle([ended(item, ending) for item in portion])
    return accepted


@pytest.mark.parametrize("ending", [Ending.SUCCEEDED, Ending.FAILED])
async def test_settle_against_recover(open_store: OpenStore, ending: Ending) -> None:
    """The owner is not registered, so that all its jobs count as lost while it settles them."""
    workers, recoverers = [await open_store() for _ in range(2)], [await open_store() for _ in range(2)]
    await workers[0].jobs.enqueue(new_jobs(JOBS))
    claims = await claim(workers[0], new_lease(), JOBS)
    lost = await recoverers[0].reader.lost(JOBS)
    assert len(lost) == JOBS

    async def recover(store: Store, seed: int) -> set[str]:
        accepted = set()
        for portion in portions(lost, seed):
            accepted |= await store.jobs.settle([ended(item, Ending.LOST) for item in portion], expired_only=True)
        return accepted

    won_by_worker = asyncio.gather(
        *(settle_in_portions(store, claims, ending, seed) for seed, store in enumerate(workers))
    )
    won_by_recoverer = asyncio.gather(*(recover(store, seed) for seed, store in enumerate(recoverers, 10)))
    kept, answers = set().union(*await won_by_worker), await won_by_recoverer
    waiting = sum(len(answer) for answer in answers)
    assert len(kept) + waiting == JOBS
    assert kept.union(*answers) == {item.id for item in claims}
    counts = await workers[0].reader.count_jobs()
    assert counts.get(("default", "ready"), 0) == waiting
    assert counts.get(("default", "running"), 0) == 0


def portions(jobs: list[Held], seed: int) -> list[list[Held]]:
    """Random portions in random order."""
    rng = Random(seed)
    order = rng.sample(jobs, len(jobs))
    return [order[start : start + 50] for start in range(0, len(order), 50)]


async def test_cancel_against_claim(open_store: OpenStore) -> None:
    claimer, canceller = await open_store(), await open_store()
    jobs = new_jobs(JOBS)
    await claimer.jobs.enqueue(jobs)
    waiting = [item for item in await canceller.reader.held([job.id for job in jobs]) if item.hold.state in PENDING]

    async def claim_all() -> set[str]:
        claimed: set[str] = set()
        while got := await claim(claimer, new_lease(), 37):
            claimed.update(item.id for item in got)
        return claimed

    claimed, cancelled = await asyncio.gather(claim_all(), settle_in_portions(canceller, waiting, Ending.CANCELLED, 1))
    assert claimed.isdisjoint(cancelled)
    assert claimed | cancelled == {job.id for job in jobs}


async def test_cancelling_all_against_claims_and_settlements_leaves_no_job_behind(open_store: OpenStore) -> None:
    """Each job is cancelled without a run, or runs and then succeeds or is cancelled; none waits, none runs twice."""
    claimer, canceller = await open_store(), await open_store()
    jobs = new_jobs(JOBS)
    await claimer.jobs.enqueue(jobs)
    runs: Counter[str] = Counter()

    async def work(seed: int) -> None:
        rng, fence = Random(seed), new_lease()
        while got := await claim(claimer, same_worker(fence), 17):
            runs.update(item.id for item in got)
            outcomes = [done(item) if rng.random() < 0.5 else failed(item) for item in got]
            settled = await claimer.jobs.settle(outcomes)
            refused = {item.id: item for item in outcomes if item.id not in settled}
            again = [settle_as_cancelled(refused[job.id], job) for job in await claimer.reader.held(refused)]
            await claimer.jobs.settle([item for item in again if item])

    ann = Operator("ann", "a race")
    counts, *_ = await asyncio.gather(cancel_many(canceller, JobFilter(type=LANE.type), ann), work(1), work(2))
    records = await canceller.reader.read_many([job.id for job in jobs])
    states = Counter(record.state for record in records)
    assert states.keys() <= {State.SUCCEEDED, State.CANCELLED, State.RETRYING}
    assert states[State.CANCELLED] >= counts.cancelled
    assert all(runs[record.id] == (record.fence > 0) for record in records), "a cancelled job never starts"
    never_ran = [record for record in records if record.fence == 0]
    assert {record.state for record in never_ran} <= {State.CANCELLED}
    retrying = [record.id for record in records if record.state is State.RETRYING]
    assert all(job.cancel is None for job in await canceller.reader.held(retrying)), (
        "whoever was asked is not run again"
    )


async def test_a_wish_against_a_settlement_is_heeded_or_too_late(open_store: OpenStore) -> None:
    worker, operator = await open_store(), await open_store()
    await worker.jobs.enqueue(new_jobs(JOBS))
    claims = await claim(worker, new_lease(), JOBS)
    wish = CancelRequest("ann", None, 5.0)
    note = AuditNote("ann", "cancel", "jobs")

    async def ask() -> set[str]:
        asked: set[str] = set()
        for start in range(0, JOBS, 50):
            demands = [CancelWrite(item.id, item.hold, wish) for item in claims[start : start + 50]]
            asked |= (await operator.changes.cancel([], demands, note)).asked
        return asked

    asked, settled = await asyncio.gather(ask(), settle_in_portions(worker, claims, Ending.FAILED, 1))
    assert asked.isdisjoint(settled), "a run that was asked to end does not become a retry"
    held = {item.id: item for item in await operator.reader.held([item.id for item in claims])}
    for job_id in asked:
        assert (held[job_id].hold.state, held[job_id].cancel) == (State.RUNNING, wish)
    for job_id in settled:
        assert (held[job_id].hold.state, held[job_id].cancel) == (State.RETRYING, None)


async def test_one_key_from_many_tasks_makes_one_job(open_store: OpenStore) -> None:
    stores = [await open_store() for _ in range(4)]
    for number in range(5):
        jobs = [keyed_job(f"k{number}") for _ in range(8)]
        answers = await asyncio.gather(*(stores[index % 4].jobs.enqueue([job]) for index, job in enumerate(jobs)))
        assert sorted(answer.duplicate for (answer,) in answers) == [False] + [True] * 7
        (winner,) = {answer.id for (answer,) in answers}
        assert [job.id for job in jobs if await stores[0].reader.read(job.id)] == [winner]


async def test_keys_that_are_free_are_taken_over_once_whatever_the_order(open_store: OpenStore) -> None:
    """Batches with the same keys in opposite order must not block each other."""
    stores = [await open_store() for _ in range(2)]
    names = [f"k{number}" for number in range(200)]
    for _ in range(3):
        await stores[0].jobs.enqueue([keyed_job(name) for name in names])
        assert len(await run_to_end(stores[0], new_lease())) == len(names)
        batches = [keyed_job(name) for name in names], [keyed_job(name) for name in reversed(names)]
        answers = await asyncio.gather(
            *(store.jobs.enqueue(batch) for store, batch in zip(stores, batches, strict=True))
        )
        by_name = dict(zip(names, answers[0], strict=True)), dict(zip(reversed(names), answers[1], strict=True))
        for name in names:
            assert by_name[0][name].id == by_name[1][name].id
            assert by_name[0][name].duplicate != by_name[1][name].duplicate
        assert len(await run_to_end(stores[0], new_lease())) == len(names)


async def test_a_job_enqueued_twice_at_once_is_stored_once(open_store: OpenStore) -> None:
    """A client repeats a submission while the first one is still on its way."""
    stores = [await open_store() for _ in range(2)]
    for job in [*new_jobs(10), *[keyed_job(f"k{number}") for number in range(10)]]:
        answers = await asyncio.gather(stores[0].jobs.enqueue([job]), stores[1].jobs.enqueue([job], again=True))
        assert [*answers] == [[Enqueued(job.id, False)]] * 2
    assert len(await claim(stores[0], new_lease())) == 20


async def test_a_repeat_against_a_settlement_does_not_bring_the_job_back(open_store: OpenStore) -> None:
    worker, client = await open_store(), await open_store()
    for _ in range(5):
        jobs = new_jobs(50)
        await client.jobs.enqueue(jobs)
        claims = await claim(worker, new_lease())
        await asyncio.gather(worker.jobs.settle([done(item) for item in claims]), client.jobs.enqueue(jobs, again=True))
        assert await worker.reader.count_jobs() == {}
        assert await state_of(client, jobs[0].id) is State.SUCCEEDED


async def test_two_promoters_promote_each_job_once(open_store: OpenStore) -> None:
    stores = [await open_store() for _ in range(2)]
    await stores[0].jobs.enqueue([new_job(delay=0.0, state=State.SCHEDULED) for _ in range(JOBS)])

    async def promote_all(store: Store) -> int:
        total = 0
        while moved := (await store.promotion.promote(70))[0]:
            total += moved
        return total

    promoted = await asyncio.gather(*(promote_all(store) for store in stores))
    promoted.append(await promote_all(stores[0]))  # a store passes over what another one is just promoting
    assert sum(promoted) == JOBS
    assert len(await claim(stores[0], new_lease(), 2 * JOBS)) == JOBS


async def test_new_lanes_from_many_stores_at_once(open_store: OpenStore) -> None:
    stores = [await open_store() for _ in range(4)]
    lanes = [LANE._replace(tenant=f"tenant-{number}") for number in range(50)]
    batches = [[new_job(lane) for lane in Random(seed).sample(lanes, len(lanes))] for seed in range(4)]
    await asyncio.gather(*(store.jobs.enqueue(batch) for store, batch in zip(stores, batches, strict=True)))
    assert len(await stores[0].reader.active_lanes()) == len(lanes)


async def test_pruning_against_submissions_leaves_one_live_job_for_each_key(open_store: OpenStore) -> None:
    pruner, client = await open_store(), await open_store()

    async def prune_always(over: asyncio.Event) -> None:
        while not over.is_set():
            await pruner.jobs.prune({}, 86400.0, 1000)

    over = asyncio.Event()
    pruning = asyncio.create_task(prune_always(over))
    try:
        for _ in range(20):
            names = [f"k{number}" for number in range(20)]
            first = await client.jobs.enqueue([keyed_job(name) for name in names])
            second = await client.jobs.enqueue([keyed_job(name, scope=Scope.ACTIVE) for name in names])
            assert [answer.id for answer in second] == [answer.id for answer in first]
            await run_to_end(client, new_lease())
    finally:
        over.set()
        await pruning


async def test_failures_from_many_settlers_are_each_recorded_once(open_store: OpenStore) -> None:
    stores = [await open_store() for _ in range(2)]
    await stores[0].jobs.enqueue(new_jobs(100))
    claims = await claim(stores[0], new_lease())
    answers = await asyncio.gather(*(store.jobs.settle([failed(item) for item in claims]) for store in stores))
    assert sum(len(answer) for answer in answers) == len(claims)
    for item in claims[::10]:
        assert len(await stores[0].reader.attempts(item.id)) == 1


@pytest.mark.postgres
async def test_pruning_passes_over_a_key_that_somebody_is_taking(postgres_url: str) -> None:
    store = wiring.make_store(postgres_url)
    await store.open()
    try:
        await store.jobs.enqueue([keyed_job("k"), keyed_job("other")])
        await run_to_end(store, new_lease())
        taker = keyed_job("k")
        async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
            await store.jobs.enqueue_within(connection, [taker])
            await asyncio.wait_for(store.jobs.prune({}, 86400.0, 1000), 5)
        assert await store.jobs.enqueue([keyed_job("k")]) == [Enqueued(taker.id, True)]
        async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
            cursor = await connection.execute("select key from idempotency")
            assert await cursor.fetchall() == [("k",)]
    finally:
        await store.close()
