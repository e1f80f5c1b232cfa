"""Live jobs are listed from among the finished ones, few or many of them."""

from collections.abc import AsyncIterator

import apsw
import pytest

from fairlead.core.jobs.model import Ending, JobFilter, Lease, NewJob, Page, Quota, Settlement
from fairlead.core.jobs.settle import succeed
from fairlead.core.jobs.states import FINAL, LIVE, State
from fairlead.stores.sqlite import listing
from fairlead.stores.sqlite.connection import query
from fairlead.stores.sqlite.migrate import apply_missing
from fairlead.stores.sqlite.store import SqliteStore
from tests.stores.sqlite.support import LANE, new_jobs
from tests.stores.sqlite.test_herd import cost

LEASE = Lease("00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002")
HISTORY = """
with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < 100000)
insert into entry (id, shard, lane, state, attempt, crashes, fence, run_at, created_at, finished_at, payload)
select printf('done-%06d', number), 0, 1, 'succeeded', 1, 0, 1, 1, 1, 2, '{}'
from numbers
"""
BURIED = """
insert into entry (id, shard, lane, state, aside, attempt, crashes, fence, run_at, ready_at, created_at, payload) values
('a', 0, 1, 'ready', null, 0, 0, 0, 1, 1, 1, '{}'), ('b', 0, 1, 'scheduled', 'scheduled', 0, 0, 0, 1, null, 1, '{}')
"""
QUICK = (State.READY, State.RUNNING, State.SUCCEEDED)
NOTHING = dict.fromkeys(
    ("states", "key", "type", "tenant", "pool", "priority", "error_type", "fingerprint", "finished_after",
     "finished_before", "cursor")
)  # fmt: skip


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = SqliteStore("sqlite:///:memory:")
    await opened.open()
    yield opened
    await opened.close()


async def some_of_each_state(store: SqliteStore) -> dict[str, State]:
    """Two jobs in most states, the finished ones between the live ones."""
    older = await one_of_each_state(store)
    for held in await store.find_live(JobFilter(states=(State.READY,)), 10):
        await store.settle([Settlement(held.id, held.hold, State.CANCELLED, 0, 0, Ending.CANCELLED)])
        older[held.id] = State.CANCELLED
    return older | await one_of_each_state(store)


async def one_of_each_state(store: SqliteStore) -> dict[str, State]:
    """Jobs that nobody has cancelled."""
    jobs = new_jobs(7)
    later = NewJob(jobs[5].id, LANE, "{}", State.SCHEDULED, delay=500.0)
    blocked = NewJob(jobs[6].id, LANE, "{}", State.BLOCKED)
    await store.enqueue([*jobs[:4], later, blocked])
    claims = await store.claim([Quota(LANE.id, 4)], LEASE)
    await store.settle(succeed([claims[0]], [None]))
    await store.settle([Settlement(claims[1].id, claims[1].hold, State.DEAD, 1, 0, Ending.FAILED)])
    await store.settle([Settlement(claims[2].id, claims[2].hold, State.RETRYING, 1, 0, Ending.FAILED, 500.0)])
    await store.enqueue(jobs[4:5])
    states = (State.SUCCEEDED, State.DEAD, State.RETRYING, State.RUNNING)
    found = {claim.id: state for claim, state in zip(claims, states, strict=True)}
    return found | {jobs[4].id: State.READY, later.id: State.SCHEDULED, blocked.id: State.BLOCKED}


async def pages(store: SqliteStore, wanted: JobFilter) -> list[str]:
    """All that is listed, two at a time."""
    page = await store.list_jobs(wanted, 2)
    found = list(page.jobs)
    while page.cursor:
        page = await store.list_jobs(wanted, 2, page.cursor)
        found += page.jobs
    return [job.id for job in found]


@pytest.mark.parametrize("few", [0, 50_000])
async def test_jobs_are_listed_by_their_states(store: SqliteStore, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    states = await some_of_each_state(store)
    monkeypatch.setattr(listing, "FEW", few)
    monkeypatch.setattr(listing, "FEW_AFTER", few)
    assert set(states.values()) == {
        State.READY, State.SCHEDULED, State.RETRYING, State.BLOCKED, State.RUNNING,
        State.SUCCEEDED, State.DEAD, State.CANCELLED,
    }  # fmt: skip
    for wanted in [(state,) for state in State] + [(State.READY, State.RUNNING), (State.READY, State.DEAD), ()]:
        expected = sorted((key for key, state in states.items() if not wanted or state in wanted), reverse=True)
        assert await pages(store, JobFilter(states=wanted)) == expected, wanted
    live = sorted((key for key, state in states.items() if state in LIVE), reverse=True)
    first = await store.find_live(JobFilter(), 3)
    rest = await store.find_live(JobFilter(), 100, first[-1].id)
    assert [held.id for held in first + rest] == live
    assert sum((await store.count_live(JobFilter())).values()) == len(live)


async def test_an_empty_page_ends_the_list(store: SqliteStore) -> None:
    assert await store.list_jobs(JobFilter(states=(State.RUNNING,)), 10) == Page((), None)


@pytest.mark.parametrize("name", ["find_few_live", "list_few_live", "count_live"])
def test_a_few_live_jobs_are_found_below_many_finished_ones(name: str) -> None:
    connection = apsw.Connection(":memory:")
    apply_missing(connection, 1.0)
    connection.execute("insert into lane values (1, 'short', 'acme', 'mail', 0, 1, '', null)")
    connection.execute(BURIED)
    connection.execute(HISTORY)
    found, taken = cost(connection, query(name), limit=10, **NOTHING)
    assert len(found) == 2
    assert taken < 3
    connection.close()


@pytest.mark.parametrize("name", ["find_few_live", "list_few_live", "count_live", "live_beyond"])
def test_what_runs_is_found_beside_many_that_wait(name: str) -> None:
    connection = apsw.Connection(":memory:")
    apply_missing(connection, 1.0)
    connection.execute("insert into lane values (1, 'short', 'acme', 'mail', 0, 1, '', null)")
    connection.execute(HISTORY.replace("'succeeded'", "'ready'").replace("finished_at", "ready_at"))
    given = {**NOTHING, "states": '["running"]', "limit": 10, "most": 10}
    assert cost(connection, query(name), **given) == ([], 0)
    connection.close()


def test_all_live_jobs_are_live_and_no_others() -> None:
    connection = apsw.Connection(":memory:")
    apply_missing(connection, 1.0)
    connection.execute("insert into claim values (1, 'owner', 'lease', 1, 1, '[[1, 100]]')")
    for state in State:
        ended = 1.0 if state in FINAL else None
        connection.execute(
            "insert into entry (id, shard, lane, state, aside, attempt, crashes, fence, claim, run_at, ready_at, "
            "created_at, finished_at, payload) values (?, 0, 1, ?, ?, 0, 0, 0, 1, 1, 1, 1, ?, '{}')",
            (state, state, None if state in QUICK else state, ended),
        )
    found = connection.execute("select entry.id, live.state from live join entry using (place)").fetchall()
    assert sorted(found) == sorted((state, state) for state in LIVE)
    connection.close()
