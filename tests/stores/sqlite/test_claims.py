"""Claims as rows of their own, to which the numbers in jobs refer."""

import uuid
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from fairlead.core.jobs.model import Claim, Ending, Hold, Lane, Lease, Priority, Quota, Settlement
from fairlead.core.jobs.states import State
from fairlead.core.jobs.workers import WorkerInfo
from fairlead.records.store import Store
from fairlead.stores.sqlite import verbs
from fairlead.stores.sqlite.migrate import migrate
from fairlead.stores.sqlite.store import SqliteStore
from fairlead.wiring import make_store
from tests.stores.sqlite.support import LANE, make_old, new_jobs
from tests.support.settling import succeed

BEFORE = 18  # the last schema in which each job named its owner and its lease


async def take(store: Store, count: int) -> list[Claim]:
    """A claim of so many new jobs by a new worker."""
    worker = WorkerInfo(str(uuid.uuid4()), "host", 1, ("short",), ("mail",), 1, "1")
    await store.workers.register(worker, 30)
    await store.jobs.enqueue(new_jobs(count))
    return await store.jobs.claim([Quota(LANE.id, count)], Lease(worker.id, str(uuid.uuid4())))


def ended(claims: Sequence[Claim], state: State, ending: Ending) -> list[Settlement]:
    return [Settlement(claim.id, claim.hold, state, 1, 0, ending) for claim in claims]


def claims_in(path: Path) -> int:
    return asked(path, "select count(*) from claim")


def wide(path: Path) -> int:
    """How many places the only claim names."""
    parts = "(select count(*) from json_each(places))"
    assert asked(path, f"select {parts} = wide from claim")
    return asked(path, "select wide from claim")


def asked(path: Path, question: str) -> int:
    connection = apsw.Connection(str(path))
    ((answer,),) = connection.execute(question)
    connection.close()
    return int(answer)


ENDS = [
    (State.SUCCEEDED, Ending.SUCCEEDED),
    (State.DEAD, Ending.FAILED),
    (State.RETRYING, Ending.FAILED),
    (State.READY, Ending.RELEASED),
]


@pytest.mark.parametrize(("state", "ending"), ENDS)
async def test_a_claim_is_gone_with_the_last_of_its_jobs(
    store: Store, path: Path, state: State, ending: Ending
) -> None:
    first, *others = await take(store, 3)
    assert len(await store.jobs.settle(ended(others, state, ending))) == 2
    assert claims_in(path) == 1
    assert len(await store.jobs.settle(ended([first], state, ending))) == 1
    assert claims_in(path) == 0


async def test_jobs_that_lie_apart_are_found_by_their_claim(store: Store) -> None:
    others = LANE._replace(tenant="other")
    for _ in range(3):
        await store.jobs.enqueue(new_jobs(2) + new_jobs(1, lane=others))
    owner, lease = str(uuid.uuid4()), str(uuid.uuid4())
    theirs = await store.jobs.claim([Quota(others.id, 3)], Lease(owner, lease))
    more = await store.jobs.claim([Quota(LANE.id, 2)], Lease(owner, lease))
    ids = {claim.id for claim in theirs + more}
    assert len(ids) == 5
    assert {held.id for held in await store.reader.lost(10)} == ids
    assert {held.id for held in await store.reader.claimed_under([Lease(owner, lease)])} == ids
    use = await store.limits.use()
    assert use.running == {LANE: 2, others: 3}


@pytest.mark.parametrize("apart", [1, 2])
async def test_jobs_are_claimed_and_settled_side_by_side_or_apart(store: Store, apart: int) -> None:
    others = Lane("short", "beta", "mail", Priority.DEFAULT, 1)
    for _ in range(20):
        await store.jobs.enqueue(new_jobs(1))
        await store.jobs.enqueue(new_jobs(apart - 1, lane=others))
    claims = await store.jobs.claim([Quota(LANE.id, 20)], Lease(str(uuid.uuid4()), str(uuid.uuid4())))
    assert len({claim.id for claim in claims}) == 20
    assert {claim.lane for claim in claims} == {LANE}
    places = [claim.place or 0 for claim in claims]
    assert [later - sooner for sooner, later in pairwise(places)] == [apart] * 19
    await store.jobs.settle(ended(claims[5:6], State.READY, Ending.RELEASED))
    assert await store.jobs.settle(succeed(claims[:10], repeat(None))) == (
        {claim.id for claim in claims[:10]} - {claims[5].id}
    )
    assert {held.id for held in await store.reader.claimed_under([claims[0].lease])} == {
        claim.id for claim in claims[10:]
    }
    states = [job.state for job in await store.reader.read_many([claim.id for claim in claims])]
    assert Counter(states) == {State.SUCCEEDED: 9, State.READY: 1, State.RUNNING: 10}


async def test_a_place_within_another_claim_is_of_the_claim_that_its_job_names(store: Store, path: Path) -> None:
    first, *others = await take(store, 3)
    await store.jobs.settle(ended(others, State.READY, Ending.RELEASED))
    theirs = await store.jobs.claim([Quota(LANE.id, 2)], Lease(str(uuid.uuid4()), str(uuid.uuid4())))
    assert [item.place for item in theirs] == [item.place for item in others]
    assert {held.id for held in await store.reader.claimed_under([first.lease])} == {first.id}
    assert {held.id for held in await store.reader.claimed_under([theirs[0].lease])} == {item.id for item in theirs}
    assert (await store.limits.use()).running == {LANE: 3}
    await store.jobs.settle(ended([first], State.SUCCEEDED, Ending.SUCCEEDED))
    assert claims_in(path) == 1


async def test_what_was_taken_over_before_it_was_told_is_not_told(store: Store, path: Path) -> None:
    await store.jobs.enqueue(new_jobs(2))
    lease = Lease(str(uuid.uuid4()), str(uuid.uuid4()))
    ours: dict[str, Any] = {}

    def work(connection: apsw.Connection, now: float) -> Any:
        ours["telling"] = verbs.claim([Quota(LANE.id, 2)], lease)(connection, now)

    await cast(SqliteStore, store.jobs)._database.run(work)
    lost = [held.id for held in await store.reader.claimed_under([lease])]
    hold = Hold(State.RUNNING, 1, lease.owner, lease.token, False)
    await store.jobs.settle([Settlement(lost[0], hold, State.READY, 0, 1, Ending.LOST)])
    (taken,) = await store.jobs.claim([Quota(LANE.id, 1)], Lease(str(uuid.uuid4()), str(uuid.uuid4())))
    assert taken.id == lost[0]
    told = await cast(SqliteStore, store.jobs)._database.run(lambda connection, now: ours["telling"].read())
    assert [row[0] for row in verbs.claimed(told)] == [lost[1]]


async def test_a_claim_of_which_little_is_left_names_only_that(store: Store, path: Path) -> None:
    other = LANE._replace(tenant="other")
    for _ in range(100):
        await store.jobs.enqueue(new_jobs(1) + new_jobs(1, lane=other))
    claims = await store.jobs.claim([Quota(LANE.id, 100)], Lease(str(uuid.uuid4()), str(uuid.uuid4())))
    assert (wide(path), len(claims)) == (100, 100)
    for number, item in enumerate(claims[:80]):
        await store.jobs.settle(ended([item], *ENDS[number % len(ENDS)]))
    assert wide(path) == 100
    await store.jobs.settle(ended(claims[80:98], State.SUCCEEDED, Ending.SUCCEEDED))
    assert wide(path) == 2
    assert {held.id for held in await store.reader.claimed_under([claims[0].lease])} == {
        item.id for item in claims[98:]
    }
    await store.jobs.settle(ended(claims[98:], State.SUCCEEDED, Ending.SUCCEEDED))
    assert claims_in(path) == 0


async def test_a_job_that_is_claimed_twice_under_one_lease_counts_once(store: Store, path: Path) -> None:
    await store.jobs.enqueue(new_jobs(3))
    lease = Lease(str(uuid.uuid4()), str(uuid.uuid4()))
    first, second = await store.jobs.claim([Quota(LANE.id, 2)], lease)
    await store.jobs.settle(ended([second], State.READY, Ending.RELEASED))
    again = await store.jobs.claim([Quota(LANE.id, 2)], lease)
    assert second.id in {item.id for item in again}
    assert (await store.limits.use()).running == {LANE: 3}
    assert len(await store.jobs.settle(ended([first, *again], State.SUCCEEDED, Ending.SUCCEEDED))) == 3
    assert claims_in(path) == 0


async def test_a_number_that_is_used_again_lets_nobody_settle_for_another(store: Store, path: Path) -> None:
    (old,) = await take(store, 1)
    await store.jobs.settle(ended([old], State.READY, Ending.RELEASED))
    lease = Lease(str(uuid.uuid4()), str(uuid.uuid4()))
    (new,) = await store.jobs.claim([Quota(LANE.id, 1)], lease)
    assert new.id == old.id
    assert claims_in(path) == 1
    late = old._replace(fence=new.fence)
    assert await store.jobs.settle(ended([late], State.SUCCEEDED, Ending.SUCCEEDED)) == set()
    assert await store.jobs.settle(ended([late], State.DEAD, Ending.FAILED)) == set()
    assert await store.jobs.settle(ended([new], State.SUCCEEDED, Ending.SUCCEEDED)) == {new.id}


async def test_jobs_that_run_while_the_schema_changes_stay_their_owners(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, lease = str(uuid.uuid4()), str(uuid.uuid4())
    running, waiting, lost = (job.id for job in new_jobs(3))
    make_old(path, BEFORE, tmp_path, monkeypatch)
    connection = apsw.Connection(str(path))
    odd = (lost, "running", (None, None))  # by none of our versions, but it must not be in the way of all others
    for job_id, state, held in ((running, "running", (owner, lease)), (waiting, "ready", (None, None)), odd):
        connection.execute(
            "insert into job (id, shard, lane, state, attempt, crashes, fence, owner, lease, run_at, ready_at, "
            "created_at, payload) values (?, 0, ?, ?, 1, 0, 1, ?, ?, 1, 1, 1, '{}')",
            (job_id, LANE.id, state, *held),
        )
    connection.close()
    assert await migrate(f"sqlite:///{path}") != []
    store = make_store(f"sqlite:///{path}")
    await store.open()
    try:
        assert {held.id for held in await store.reader.lost(10)} == {running, lost}
        hold = Hold(State.RUNNING, 1, owner, lease, False)
        settlement = Settlement(running, hold, State.SUCCEEDED, 1, 0, Ending.SUCCEEDED)
        assert await store.jobs.settle([settlement]) == {running}
        assert await store.jobs.settle([settlement._replace(id=waiting)]) == set()
        (odd_one,) = await store.reader.held([lost])
        assert await store.jobs.settle([Settlement(lost, odd_one.hold, State.READY, 1, 1, Ending.LOST)]) == {lost}
        assert claims_in(path) == 0
        claims = await store.jobs.claim([Quota(LANE.id, 5)], Lease(owner, lease))
        assert {claim.id for claim in claims} == {waiting, lost}
    finally:
        await store.close()
