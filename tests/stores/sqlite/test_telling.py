"""What a claim tells by columns is what it would tell job by job."""

import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import apsw
import pytest

from fairlead.core.jobs.model import Claim, Ending, Lease, NewJob, Quota, Scope, Settlement, Unique
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from fairlead.stores.sqlite import telling, verbs
from fairlead.stores.sqlite.migrate import migrate
from fairlead.wiring import make_store
from tests.stores.sqlite.support import LANE, new_jobs

OTHER = LANE._replace(tenant="other")
THIRD = LANE._replace(tenant="third")
LEASE = Lease("00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002")
ALL = [Quota(LANE.id, 200)]
BOTH = [Quota(LANE.id, 200), Quota(OTHER.id, 200)]
ODD = '{"text":"gr\u00fc\u00dfe \U0001f600 , \\u001e \\" }{"}'


class Twins:
    """Two files with the same jobs at the same times; from the second one each job is told of in a row of its own."""

    def __init__(self, stores: Sequence[Store], paths: Sequence[Path]) -> None:
        self.stores, self.paths, self.now = stores, paths, [1_795_000_000.123456789]

    async def enqueue(self, jobs: Sequence[NewJob]) -> None:
        self.now[0] += random.Random(len(jobs)).random()
        for store in self.stores:
            await store.jobs.enqueue(jobs)

    async def claim(self, quotas: Sequence[Quota], monkeypatch: pytest.MonkeyPatch) -> tuple[list[Claim], set[str]]:
        """What is told, which is the same in both, and by which statements in the first."""
        self.now[0] += 1.5
        asked, execute = set[str](), verbs.execute

        def noting(connection: apsw.Connection, name: str, *given: object) -> object:
            asked.add(name)
            return execute(connection, name, *given)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(verbs, "execute", noting)
            claims = await self.stores[0].jobs.claim(quotas, LEASE)
        with monkeypatch.context() as patch:
            patch.setattr(telling, "ID_LENGTH", 1)
            whole = await self.stores[1].jobs.claim(quotas, LEASE)
        assert [_rounded(claim) for claim in claims] == [_rounded(claim) for claim in whole]
        assert all(0 <= theirs.ready_at - ours.ready_at < 2e-6 for ours, theirs in zip(claims, whole, strict=True))
        return claims, {name for name in asked if name.startswith("read")}


def _rounded(claim: Claim) -> Claim:
    return claim._replace(ready_at=round(claim.ready_at, 4), age=round(claim.age, 4))


@pytest.fixture
async def twins(tmp_path: Path) -> AsyncIterator[Twins]:
    paths = [tmp_path / "columns.db", tmp_path / "rows.db"]
    made = Twins([], paths)
    for path in paths:
        await migrate(f"sqlite:///{path}")
    made.stores = [make_store(f"sqlite:///{path}", lambda: made.now[0]) for path in paths]
    for store in made.stores:
        await store.open()
    yield made
    for store in made.stores:
        await store.close()


async def test_one_lane_side_by_side(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    for payload in ("{}", ODD, '{"a":1}'):
        await twins.enqueue(new_jobs(30, payload))
    claims, asked = await twins.claim(ALL, monkeypatch)
    assert asked == {"read_fresh_run"}
    assert [claim.payload for claim in claims] == ["{}"] * 30 + [ODD] * 30 + ['{"a":1}'] * 30
    assert len({claim.ready_at for claim in claims}) == 3


async def test_a_single_job(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    await twins.enqueue(new_jobs(1, ODD))
    claims, asked = await twins.claim(ALL, monkeypatch)
    assert ([claim.payload for claim in claims], asked) == ([ODD], {"read_fresh_run"})


async def test_two_runs_of_one_lane(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    await twins.enqueue(new_jobs(40) + new_jobs(5, lane=OTHER) + new_jobs(40))
    claims, asked = await twins.claim(ALL, monkeypatch)
    assert (len(claims), asked) == (80, {"read_fresh_runs"})
    assert sorted(claim.place or 0 for claim in claims) == [*range(1, 41), *range(46, 86)]


async def test_two_lanes_side_by_side(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    await twins.enqueue(new_jobs(20) + new_jobs(20, lane=OTHER))
    claims, asked = await twins.claim(BOTH, monkeypatch)
    assert asked - {"read_lanes"} == {"read_fresh_run"}
    assert [claim.lane for claim in claims] == [LANE] * 20 + [OTHER] * 20


async def test_several_runs_of_several_lanes(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for with different limits, so that they are picked by two statements."""
    jobs = new_jobs(40) + new_jobs(30, lane=OTHER) + new_jobs(1, lane=THIRD) + new_jobs(40, ODD)
    await twins.enqueue(jobs)
    wanted = [Quota(OTHER.id, 20), Quota(LANE.id, 70), Quota(THIRD.id, 0)]
    claims, asked = await twins.claim(wanted, monkeypatch)
    assert asked - {"read_lanes"} == {"read_fresh_runs"}
    lanes = {claim.place: claim.lane for claim in claims}
    assert lanes == dict.fromkeys([*range(1, 41), *range(72, 102)], LANE) | dict.fromkeys(range(41, 61), OTHER)
    assert {claim.id: claim.payload for claim in claims} == {
        jobs[place - 1].id: jobs[place - 1].payload for place in lanes if place is not None
    }


async def test_jobs_that_lie_apart(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(20):
        await twins.enqueue(new_jobs(1, ODD) + new_jobs(1, lane=OTHER))
    claims, asked = await twins.claim(ALL, monkeypatch)
    assert (len(claims), asked) == (20, {"read_fresh"})
    assert [claim.place for claim in claims] == list(range(1, 40, 2))


@pytest.mark.parametrize(
    "special",
    [{"not_after": 1_795_000_900.0}, {"unique": Unique("key", Scope.ACTIVE)}, {"options": '{"timeout":5}'}],
    ids=["deadline", "key", "options"],
)
async def test_one_with_more_to_tell(twins: Twins, special: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    (job,) = new_jobs(1)
    await twins.enqueue([*new_jobs(10), NewJob(job.id, LANE, "{}", **special), *new_jobs(10)])  # type: ignore[arg-type]
    claims, asked = await twins.claim(ALL, monkeypatch)
    assert (len(claims), asked) == (21, {"read_fresh_run", "read_run"})
    (one,) = [claim for claim in claims if claim.id == job.id]
    assert (one.time_left is not None) + (one.key is not None) + (one.options is not None) == 1


async def test_one_that_was_claimed_before_or_had_to_wait(twins: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    await twins.enqueue(new_jobs(10))
    claims, _ = await twins.claim([Quota(LANE.id, 1)], monkeypatch)
    back = [Settlement(claim.id, claim.hold, State.READY, 1, 0, Ending.FAILED) for claim in claims]
    for store in twins.stores:
        assert await store.jobs.settle(back) == {claims[0].id}
    again, asked = await twins.claim(ALL, monkeypatch)
    assert asked == {"read_fresh_run", "read_run"}
    assert {claim.attempt for claim in again} == {1, 2}
    (late,) = new_jobs(1)
    await twins.enqueue([NewJob(late.id, LANE, "{}", state=State.SCHEDULED, delay=1.0)])
    twins.now[0] += 60
    for store in twins.stores:
        await store.promotion.promote(10)
    (claim,), asked = await twins.claim(ALL, monkeypatch)
    assert asked == {"read_fresh_run", "read_run"}
    assert claim.age > 60


@pytest.mark.parametrize(
    "change",
    [
        "update entry set payload = '\"' || char(30) || '\"' where place = 2",
        "update entry set id = 'short' where place = 2",
    ],
)
async def test_texts_that_cannot_be_taken_apart(twins: Twins, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await twins.enqueue(new_jobs(5))
    for path in twins.paths:
        connection = apsw.Connection(str(path))
        connection.execute(change)
        connection.close()
    claims, asked = await twins.claim(ALL, monkeypatch)
    assert (len(claims), asked) == (5, {"read_fresh_run", "read_run"})


async def test_a_row_that_is_claimed_and_ends_well_stays_as_long_as_it_was(twins: Twins) -> None:
    """So it is written over where it is, however many claims there were."""
    for _ in range(300):
        await twins.enqueue(new_jobs(2, '{"number":1}'))
    lengths = [_used(twins.paths[0])]
    for number in range(300):
        claims = await twins.stores[0].jobs.claim([Quota(LANE.id, 2)], LEASE._replace(token=f"{number:036}"))
        done = [
            Settlement(one.id, one.hold, State.SUCCEEDED, 1, 0, Ending.SUCCEEDED, place=one.place) for one in claims
        ]
        if number == 150:
            lengths.append(_used(twins.paths[0]))
        assert len(await twins.stores[0].jobs.settle(done)) == 2
    assert [*lengths, _used(twins.paths[0])] == [lengths[0]] * 3


def _used(path: Path) -> int:
    """The bytes that all rows take."""
    connection = apsw.Connection(str(path))
    ((size,),) = connection.execute("select sum(payload) from dbstat where name = 'entry'")
    connection.close()
    return int(size)
