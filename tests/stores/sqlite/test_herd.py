"""100,000 jobs of one lane that are due before all others cost the others nothing."""

import time
from collections.abc import Iterator

import apsw
import pytest

from fairlead.core.jobs.job_records import JobFilter
from fairlead.core.jobs.states import State
from fairlead.records import rows
from fairlead.stores.sqlite.connection import query
from fairlead.stores.sqlite.migrate import apply_missing

HERD = """
with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < 100000)
insert into job (id, shard, lane, state, attempt, crashes, fence, run_at, not_after, created_at, payload)
select
    printf('herd-%d', number), 0, 2, 'scheduled', 0, 0, 0, 1.0, case when number % 2 then 5e9 end, 1, '{}'
from numbers
"""
OTHERS = """
insert into job
(id, shard, lane, state, attempt, crashes, fence, run_at, not_after, created_at, payload) values
('a', 0, 1, 'scheduled', 0, 0, 0, 50.0, 60.0, 1, '{}'),
('b', 0, 3, 'retrying', 0, 0, 0, 50.0, 60.0, 1, '{}')
"""
FINISHED = """
insert into job_history (
    id, shard, lane, state, attempt, crashes, fence, run_at, created_at, finished_at, payload
)
select id, 0, 1, 'succeeded', 1, 0, 1, run_at, created_at, 2.0, payload from job where lane = 2
"""
STEPS = 1000


@pytest.fixture
def crowded() -> Iterator[apsw.Connection]:
    """A database with a herd in lane 2 and a job in each of the lanes beside it."""
    connection = apsw.Connection(":memory:")
    apply_missing(connection, time.time())
    connection.execute(HERD)
    connection.execute(OTHERS)
    yield connection
    connection.close()


def cost(connection: apsw.Connection, statement: str, **values: object) -> tuple[list[tuple[object, ...]], int]:
    """What a statement returns, and thousands of steps of SQLite's machine that it took."""
    taken = 0

    def count() -> bool:
        nonlocal taken
        taken += 1
        return False

    connection.set_progress_handler(count, STEPS)
    found = connection.execute(statement, {"shard": 0, "now": 100.0, **values}).fetchall()
    connection.set_progress_handler(None)
    return found, taken


def test_the_lanes_with_due_jobs_are_found(crowded: apsw.Connection) -> None:
    found, taken = cost(crowded, query("due_lanes"))
    assert found == [(1, 50.0), (2, 1.0), (3, 50.0)]
    assert taken < 3


def test_the_jobs_of_the_other_lanes_are_promoted(crowded: apsw.Connection) -> None:
    found, taken = cost(crowded, query("promote_lanes"), lane=3, most=10, since=0.0)
    assert (found, taken < 3) == ([(3,)], True)


def test_a_look_at_what_is_due_ends_at_its_limit(crowded: apsw.Connection) -> None:
    found, taken = cost(crowded, query("due"), limit=100)
    assert found[0][:2] == (2, 100)
    assert taken < 10


def test_late_jobs_are_found_among_many_that_are_not(crowded: apsw.Connection) -> None:
    found, taken = cost(crowded, query("late"), limit=100)
    assert [row[0] for row in found] == ["a", "b"]
    assert taken < 3


def test_live_jobs_are_listed_past_any_number_of_finished_ones(crowded: apsw.Connection) -> None:
    crowded.execute(FINISHED)
    crowded.execute("insert into lane (id, pool, tenant, type, priority, version) values (1, 'a', 'b', 'c', 2, 1)")
    crowded.execute("delete from job where lane = 2")
    given = rows.filter_row(JobFilter(states=(State.RUNNING, State.RETRYING)))
    beyond = {"limit": 10, "cursor": None, "floor": None, "containing": None}
    assert cost(crowded, query("list_jobs"), **given, **beyond) == ([], 0)
    given = rows.filter_row(JobFilter(states=(State.CANCELLED,)))
    assert cost(crowded, query("list_jobs"), **given, **beyond)[1] > 100


def test_a_look_at_the_whole_herd_would_be_seen(crowded: apsw.Connection) -> None:
    _, taken = cost(crowded, "select count(*) from job where payload <> 'x'")
    assert taken > 100
