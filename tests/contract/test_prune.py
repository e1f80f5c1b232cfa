"""Pruning: finished jobs go when their retention is over, and what nothing needs goes with them."""

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from fairlead import wiring
from fairlead.core.jobs.model import Enqueued, Lane, Scope
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import (
    LANE,
    claim_one,
    enqueue_one,
    failed,
    finish,
    keyed_job,
    new_jobs,
    new_lease,
    run_to_end,
    state_of,
)
from tests.contract.world import World, open_world
from tests.support.postgres import DatabaseServer

DAY = 86400.0
REPORT = LANE._replace(type="report")


async def finished_job(store: Store, lane: Lane = LANE) -> str:
    """A job that ended well."""
    await enqueue_one(store, lane)
    claimed = await claim_one(store, new_lease(), lane)
    await finish(store, claimed)
    return claimed.id


async def test_nothing_goes_before_its_retention_is_over(world: World) -> None:
    job = await finished_job(world.store)
    world.advance(7 * DAY - 1)
    assert await world.store.jobs.prune({}, 7 * DAY, 1000) == 0
    assert await state_of(world.store, job) is State.SUCCEEDED


async def test_finished_jobs_go_at_most_two_days_after_their_retention(world: World) -> None:
    """PostgreSQL keeps whole days."""
    jobs = [await finished_job(world.store) for _ in range(3)]
    world.advance(9 * DAY)
    assert await world.store.jobs.prune({}, 7 * DAY, 1000) == 3
    assert [await world.store.reader.read(job) for job in jobs] == [None] * 3
    assert await world.store.jobs.prune({}, 7 * DAY, 1000) == 0


async def test_a_type_can_be_kept_for_less_time(world: World) -> None:
    mail, report = await finished_job(world.store), await finished_job(world.store, REPORT)
    world.advance(3601)
    assert await world.store.jobs.prune({"report": 3600}, 7 * DAY, 1000) == 1
    assert await world.store.reader.read(report) is None
    assert await state_of(world.store, mail) is State.SUCCEEDED


async def test_a_type_can_be_kept_for_more_time(world: World) -> None:
    mail, report = await finished_job(world.store), await finished_job(world.store, REPORT)
    world.advance(9 * DAY)
    assert await world.store.jobs.prune({"report": 100 * DAY}, 7 * DAY, 1000) == 1
    assert await world.store.reader.read(mail) is None
    assert await state_of(world.store, report) is State.SUCCEEDED


async def test_live_jobs_never_go(world: World) -> None:
    waiting = await enqueue_one(world.store)
    scheduled = await enqueue_one(world.store, delay=1.0)
    world.advance(1000 * DAY)
    assert await world.store.jobs.prune({}, DAY, 1000) == 0
    assert await state_of(world.store, waiting.id) is State.READY
    assert await state_of(world.store, scheduled.id) is State.SCHEDULED


async def test_pruning_goes_on_in_rounds_where_there_is_more_than_the_limit(world: World) -> None:
    await world.store.jobs.enqueue(new_jobs(9, REPORT))
    await run_to_end(world.store, new_lease(), REPORT)
    world.advance(3601)
    removed = [await world.store.jobs.prune({"report": 3600}, 7 * DAY, 2) for _ in range(6)]
    assert sum(removed) == 9
    assert max(removed) <= 4


async def test_attempts_go_with_their_job(world: World) -> None:
    await enqueue_one(world.store)
    claimed = await claim_one(world.store, new_lease())
    await world.store.jobs.settle([failed(claimed, permanent=True)])
    world.advance(9 * DAY)
    await world.store.jobs.prune({}, 7 * DAY, 1000)
    assert await world.store.reader.attempts(claimed.id) == []


async def test_attempts_of_a_job_that_is_kept_stay(world: World) -> None:
    await enqueue_one(world.store)
    claimed = await claim_one(world.store, new_lease())
    await world.store.jobs.settle([failed(claimed, permanent=True)])
    world.advance(6 * DAY)
    await world.store.jobs.prune({}, 7 * DAY, 1000)
    assert len(await world.store.reader.attempts(claimed.id)) == 1


async def test_jobs_that_finished_long_after_the_last_pruning_go_too(world: World) -> None:
    """Nobody made partitions for those days."""
    world.advance(100 * DAY)
    job = await finished_job(world.store)
    world.advance(6 * DAY)
    assert await world.store.jobs.prune({}, 7 * DAY, 1000) == 0
    world.advance(3 * DAY)
    assert await world.store.jobs.prune({}, 7 * DAY, 1000) == 1
    assert await world.store.reader.read(job) is None


async def test_pruning_forgets_no_key_that_still_counts(world: World) -> None:
    waiting = keyed_job("active")
    window, forever = keyed_job("window", scope=Scope.WINDOW, window=100 * DAY), keyed_job("f", scope=Scope.FOREVER)
    await world.store.jobs.enqueue([window, forever])
    await run_to_end(world.store, new_lease())
    await world.store.jobs.enqueue([waiting])
    world.advance(50 * DAY)
    await world.store.jobs.prune({}, DAY, 1000)
    answers = await world.store.jobs.enqueue([keyed_job("active"), keyed_job("window"), keyed_job("f")])
    assert answers == [Enqueued(job.id, True) for job in (waiting, window, forever)]


async def test_pruning_forgets_keys_that_are_free(world: World) -> None:
    await world.store.jobs.enqueue([keyed_job("active"), keyed_job("window", scope=Scope.WINDOW, window=60)])
    await run_to_end(world.store, new_lease())
    world.advance(60)
    await world.store.jobs.prune({}, DAY, 1000)
    again = [keyed_job("active"), keyed_job("window")]
    assert await world.store.jobs.enqueue(again) == [Enqueued(job.id, False) for job in again]


async def test_workers_that_are_gone_for_a_day_are_forgotten(world: World) -> None:
    await world.worker(30)
    world.advance(DAY)
    await world.store.jobs.prune({}, 7 * DAY, 1000)
    assert len(await world.store.workers.all()) == 1
    world.advance(31)
    await world.store.jobs.prune({}, 7 * DAY, 1000)
    assert await world.store.workers.all() == []


async def test_a_worker_that_owns_a_job_is_not_forgotten(world: World) -> None:
    await enqueue_one(world.store)
    await claim_one(world.store, await world.worker(30))
    world.advance(3 * DAY)
    await world.store.jobs.prune({}, 7 * DAY, 1000)
    assert len(await world.store.workers.all()) == 1


async def test_pruning_can_run_twice_at_once(shared_world: World) -> None:
    other = await shared_world.another_store()
    await shared_world.store.jobs.enqueue(new_jobs(20, REPORT))
    await run_to_end(shared_world.store, new_lease(), REPORT)
    shared_world.advance(3601)
    removed = await asyncio.gather(
        *(store.jobs.prune({"report": 3600}, 7 * DAY, 1000) for store in (shared_world.store, other))
    )
    assert sum(removed) == 20


def partitions_of(url: str, table: str) -> list[str]:
    """The days of a table that have a partition."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "select inhrelid::regclass::text from pg_inherits where inhparent = %s::regclass", [table]
        )
        return sorted(name.removeprefix(f"{table}_") for (name,) in found if not name.endswith("_rest"))


@pytest.mark.postgres
@pytest.mark.parametrize("table", ["job_history", "attempt"])
async def test_postgres_makes_days_ahead_and_drops_them_after_retention(
    postgres_server: DatabaseServer, table: str
) -> None:
    url = postgres_server.create_database(f"fairlead_partitions_{table}")
    await wiring.migrate(url)
    first = partitions_of(url, table)
    assert len(first) == 4
    async with open_world(url) as world:
        world.advance(2 * DAY)
        await world.store.jobs.prune({}, 7 * DAY, 1000)
        ahead = partitions_of(url, table)
        assert (len(ahead), ahead[:4]) == (6, first)
        world.advance(8 * DAY)
        await world.store.jobs.prune({}, 7 * DAY, 1000)
        later = partitions_of(url, table)
        assert later[0] > first[0]
        assert set(later) & set(ahead) == set(ahead[2:])
        world.advance(30 * DAY)
        await world.store.jobs.prune({}, 7 * DAY, 1000)
        assert len(partitions_of(url, table)) == 4
        assert set(partitions_of(url, table)).isdisjoint(later)


@pytest.mark.postgres
async def test_postgres_counts_the_jobs_of_a_dropped_day(postgres_server: DatabaseServer) -> None:
    url = postgres_server.create_database("fairlead_partitions_counted")
    await wiring.migrate(url)
    async with open_world(url) as world:
        await finished_job(world.store)
        world.advance(30 * DAY)
        assert await world.store.jobs.prune({}, 7 * DAY, 1000) == 1


@pytest.mark.postgres
async def test_postgres_rotates_day_by_day_for_weeks(postgres_server: DatabaseServer) -> None:
    """Every day has its partition before the first row of it arrives, and goes when its retention is over."""
    url = postgres_server.create_database("fairlead_partitions_rotated")
    await wiring.migrate(url)
    async with open_world(url) as world:
        for _ in range(24):
            world.advance(DAY)
            day = datetime.fromtimestamp(world.clock(), UTC).date()
            kept = partitions_of(url, "job_history")
            assert f"{day:%Y%m%d}" in kept, "made before it is needed"
            await finished_job(world.store)
            await world.store.jobs.prune({}, 3 * DAY, 1000)
            kept = partitions_of(url, "job_history")
            assert kept[-1] == f"{day + timedelta(days=3):%Y%m%d}"
            assert kept[0] >= f"{day - timedelta(days=4):%Y%m%d}"
        assert len(kept) <= 8
        with psycopg.connect(url) as connection:
            assert connection.execute("select count(*) from job_history_rest").fetchone() == (0,)
            (count,) = connection.execute("select count(*) from job_history").fetchone() or (0,)
            assert 3 <= count <= 5


@pytest.mark.postgres
async def test_postgres_rotates_at_every_hour_of_the_day(postgres_server: DatabaseServer) -> None:
    """A prune at any time of the day, also around midnight, leaves the next three days ready."""
    url = postgres_server.create_database("fairlead_partitions_hours")
    await wiring.migrate(url)
    async with open_world(url) as world:
        for _ in range(50):
            world.advance(DAY / 24)
            await world.store.jobs.prune({}, DAY, 1000)
            for ahead in range(4):
                day = datetime.fromtimestamp(world.clock() + ahead * DAY, UTC)
                assert f"{day:%Y%m%d}" in partitions_of(url, "attempt")


async def test_dead_letters_are_kept_as_long_as_their_own_type(world: World) -> None:
    """Neither another type's shorter retention nor the default takes them."""
    dead = []
    for lane in (LANE, REPORT, LANE._replace(type="text")):
        job = await enqueue_one(world.store, lane)
        await world.store.jobs.settle([failed(await claim_one(world.store, new_lease(), lane), permanent=True)])
        dead.append(job.id)
    kept = {"report": 3600.0, "text": 365 * DAY}
    seen = []
    for days in (0.5, 4, 30, 366):
        world.advance(days * DAY)
        await world.store.jobs.prune(kept, 7 * DAY, 1000)
        seen.append([await state_of(world.store, job) for job in dead])
    gone, there = None, State.DEAD
    assert seen == [[there, gone, there], [there, gone, there], [gone, gone, there], [gone, gone, gone]]


async def test_a_retention_that_was_shortened_counts_for_what_is_there(world: World) -> None:
    jobs = [await finished_job(world.store, lane) for lane in (LANE, REPORT)]
    world.advance(3 * DAY)
    assert await world.store.jobs.prune({"report": 30 * DAY}, 7 * DAY, 1000) == 0
    assert await world.store.jobs.prune({"report": DAY}, 7 * DAY, 1000) == 1
    assert [await state_of(world.store, job) for job in jobs] == [State.SUCCEEDED, None]


async def test_a_type_that_comes_later_is_pruned_too(world: World) -> None:
    await finished_job(world.store)
    await world.store.jobs.prune({}, 7 * DAY, 1000)
    world.advance(DAY)
    late = await finished_job(world.store, REPORT)
    world.advance(7200)
    assert await world.store.jobs.prune({"report": 3600.0}, 7 * DAY, 1000) == 1
    assert await state_of(world.store, late) is None


async def test_a_type_that_comes_later_and_is_kept_for_longer_is_pruned_too(world: World) -> None:
    await finished_job(world.store)
    await world.store.jobs.prune({}, 7 * DAY, 1000)
    world.advance(DAY)
    late = await finished_job(world.store, REPORT)
    for days, state in ((1, State.SUCCEEDED), (20, State.SUCCEEDED), (20, None)):
        world.advance(days * DAY)
        await world.store.jobs.prune({"report": 30 * DAY}, 7 * DAY, 1000)
        assert await state_of(world.store, late) is state


async def test_attempts_of_dead_letters_go_with_them_and_those_of_kept_ones_stay(world: World) -> None:
    dead = {}
    for lane in (LANE, REPORT, LANE._replace(type="text")):
        dead[lane.type] = (await enqueue_one(world.store, lane)).id
        await world.store.jobs.settle([failed(await claim_one(world.store, new_lease(), lane), permanent=True)])
    world.advance(2 * DAY)
    await world.store.jobs.prune({"report": 3600.0, "text": 365 * DAY}, 7 * DAY, 1000)
    assert await world.store.reader.attempts(dead["report"]) == []
    world.advance(10 * DAY)
    await world.store.jobs.prune({"report": 3600.0, "text": 365 * DAY}, 7 * DAY, 1000)
    assert await world.store.reader.attempts(dead["mail"]) == []
    assert len(await world.store.reader.attempts(dead["text"])) == 1


@pytest.mark.postgres
async def test_a_type_that_is_kept_for_long_leaves_days_to_be_dropped(postgres_server: DatabaseServer) -> None:
    """What others keep is not deleted row by row because of it, and what it keeps is still found."""
    url = postgres_server.create_database("fairlead_long_retention")
    await wiring.migrate(url)
    async with open_world(url) as world:
        kept, short = await finished_job(world.store, REPORT), await finished_job(world.store)
        world.advance(10 * DAY)
        assert await world.store.jobs.prune({"report": 365 * DAY}, 7 * DAY, 1000) == 1
        assert (await state_of(world.store, kept), await state_of(world.store, short)) == (State.SUCCEEDED, None)
        with psycopg.connect(world.url) as connection:
            found = connection.execute("select tableoid::regclass::text from job_history").fetchall()
        assert [name.rpartition(".")[2] for (name,) in found] == ["job_history_rest"]
        world.advance(360 * DAY)
        assert await world.store.jobs.prune({"report": 365 * DAY}, 7 * DAY, 1000) == 1


@pytest.mark.postgres
async def test_attempts_of_a_dropped_day_stay_only_with_jobs_that_stay(postgres_server: DatabaseServer) -> None:
    url = postgres_server.create_database("fairlead_dropped_attempts")
    await wiring.migrate(url)
    async with open_world(url) as world:
        for lane in (REPORT, LANE):
            await enqueue_one(world.store, lane)
            await world.store.jobs.settle([failed(await claim_one(world.store, new_lease(), lane), permanent=True)])
        world.advance(10 * DAY)
        await world.store.jobs.prune({"report": 365 * DAY}, 7 * DAY, 1000)
        with psycopg.connect(url) as connection:
            assert connection.execute("select count(*) from attempt").fetchone() == (1,)
            assert connection.execute("select count(*) from attempt_rest").fetchone() == (1,)
