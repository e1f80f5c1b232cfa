"""The column that says which state a job has that is not on the quick way, and files from before there was one."""

from itertools import repeat
from pathlib import Path

import apsw
import pytest
from fairlead.core.jobs.job_records import JobFilter

from fairlead.core.jobs.model import Lease, Quota
from fairlead.core.jobs.states import LIVE, State
from fairlead.stores.sqlite.migrate import migrate
from fairlead.wiring import make_store
from tests.stores.sqlite.support import LANE, make_old, new_jobs
from tests.support.migrations import later_than
from tests.support.settling import succeed

BEFORE = 20  # the last schema in which indexes asked for the state
LEASE = Lease("00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002")
OLD = (
    "insert into record (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, finished_at, "
    "fingerprint, payload) values (?, 0, ?, ?, 0, 0, 1, 1, ?, 1, ?, 'f', '{}')"
)


async def test_waiting_and_dead_jobs_of_an_older_file_are_found(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = ("ready", "scheduled", "retrying", "succeeded", "dead", "cancelled", "expired")
    ids = dict(zip(states, (job.id for job in new_jobs(len(states))), strict=True))
    make_old(path, BEFORE, tmp_path, monkeypatch)
    fill_old(path, ids)
    assert await migrate(f"sqlite:///{path}") == later_than(BEFORE)
    with pytest.raises(apsw.SQLError, match="no such table: record"):
        fill_old(path, ids)  # as a process does that was not stopped before
    store = make_store(f"sqlite:///{path}", lambda: 1_000.0)
    await store.open()
    try:
        found = {job.id: job.state.value for job in await store.reader.read_many(ids.values())}
        assert found == {job_id: state for state, job_id in ids.items()}
        assert [job.id for job in (await store.reader.list_jobs(JobFilter(states=(State.DEAD,)), 10)).jobs] == [
            ids["dead"]
        ]
        assert (await store.promotion.promote(10)).moved == 2
        claims = await store.jobs.claim([Quota(LANE.id, 10)], LEASE)
        assert {claim.id for claim in claims} == {ids[state] for state in ("ready", "scheduled", "retrying")}
        assert len(await store.jobs.settle(succeed(claims, repeat(None)))) == 3
        assert not (await store.reader.list_jobs(JobFilter(states=tuple(LIVE)), 10)).jobs
    finally:
        await store.close()


def fill_old(path: Path, ids: dict[str, str]) -> None:
    """A job in each of these states."""
    connection = apsw.Connection(str(path))
    try:
        for state, job_id in ids.items():
            finished = 2.0 if state in ("succeeded", "dead", "cancelled", "expired") else None
            connection.execute(OLD, (job_id, LANE.id, state, 1.0 if state == "ready" else None, finished))
    finally:
        connection.close()
