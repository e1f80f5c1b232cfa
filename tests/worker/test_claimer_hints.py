"""What a hint leads to: a look for lanes that are not in the view."""

from collections.abc import Collection, Sequence

import psycopg
import pytest

import fairlead
from fairlead.core.fairness.share import Balance
from fairlead.core.jobs.model import ActiveLane, Claim, Lease, Quota
from fairlead.runtime.operator import Operator
from fairlead.worker import claimer as claiming
from fairlead.worker.claimer import Claimer
from tests.support.settings import pause

OWNER = "00000000-0000-7000-8000-000000000001"
NEVER = 1e9


class Scene:
    """Two tenants, one with a backlog, and a claimer that has seen the backlog."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.app = fairlead.App("sqlite:///:memory:", clock=lambda: self.now)
        self.looks: list[int] = []  # how many lanes each one left out

        @self.app.handler("work")
        async def work() -> None: ...

        @self.app.handler("other", pool="long")
        async def other() -> None: ...

        @self.app.handler("bounded", limit=fairlead.Limit("one", concurrent=1))
        async def bounded() -> None: ...

        self.small, self.large = work.options(tenant="small"), work.options(tenant="large")
        self.bounded = bounded
        self.other = other

    async def begin(self, monkeypatch: pytest.MonkeyPatch, small: int = 0) -> None:
        store = await self.app.store()
        active_lanes = store.reader.active_lanes

        async def counted(besides: Collection[int] = ()) -> list[ActiveLane]:
            self.looks.append(len(besides))
            return await active_lanes(besides)

        monkeypatch.setattr(store.reader, "active_lanes", counted)
        monkeypatch.setattr(claiming, "THRIFTY", NEVER)
        await self.large.enqueue_many([{}] * 40)
        for _ in range(small):
            await self.small.enqueue()
        self.claimer = Claimer(store, OWNER, frozenset({"short"}), self.app.registry)
        assert "large" in tenants(await self.claimer.take(6))
        assert self.looks == [0]


def tenants(claims: list[Claim]) -> set[str]:
    return {claim.lane.tenant for claim in claims}


async def test_after_a_hint_only_lanes_that_are_not_in_the_view_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    async with scene.app:
        await scene.begin(monkeypatch)
        await scene.small.enqueue()
        assert tenants(await scene.claimer.take(2)) == {"large"}
        scene.claimer.hint()
        assert "small" in tenants(await scene.claimer.take(2))
        assert scene.looks == [0, 1]


async def test_lanes_of_others_and_closed_ones_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claiming, "PATIENT", 0)
    monkeypatch.setattr(claiming, "CONTROLS_FRESH", 0.0)
    scene = Scene()
    async with scene.app:
        await scene.begin(monkeypatch)
        await scene.other.enqueue()
        await scene.small.enqueue()
        await pause(await scene.app.store(), "tenant", "small", Operator("me", "a test"))
        for _ in range(2):
            scene.claimer.hint()
            assert tenants(await scene.claimer.take(2)) == {"large"}
        assert scene.looks == [0, 1, 3]


async def test_where_many_have_work_a_hint_leads_to_a_look_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claiming, "MANY", 0)
    monkeypatch.setattr(claiming, "PATIENT", 0)
    scene = Scene()
    async with scene.app:
        await scene.begin(monkeypatch)
        await scene.small.enqueue()
        scene.claimer.hint()
        assert "small" in tenants(await scene.claimer.take(2))
        assert scene.looks == [0, 0]


async def test_a_hint_that_comes_too_soon_for_a_look_is_followed_when_the_view_is_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claiming, "PATIENT", NEVER)
    scene = Scene()
    async with scene.app:
        await scene.begin(monkeypatch)
        scene.claimer.hint()
        await scene.claimer.take(2)
        await scene.small.enqueue()
        scene.claimer.hint()
        assert tenants(await scene.claimer.take(2)) == {"large"}
        assert len(await scene.claimer.take(50)) == 30
        assert "small" in tenants(await scene.claimer.take(2))


async def test_a_lane_that_a_limit_keeps_back_is_remembered_for_when_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claiming, "PATIENT", 0)
    scene = Scene()
    async with scene.app:
        await scene.bounded.options(tenant="first").enqueue_many([{}] * 5)
        await scene.begin(monkeypatch)
        await scene.bounded.options(tenant="second").enqueue()
        scene.claimer.hint()
        await scene.claimer.take(2)
        assert scene.looks == [0, 2]
        kept = {active.lane.tenant for active in scene.claimer.gate.aside.values()}
        assert kept == {"first", "second"}


async def test_what_was_committed_late_is_looked_for_after_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its transaction began before that of jobs that were claimed meanwhile."""
    scene, asked = Scene(), list[float]()
    async with scene.app:
        await scene.begin(monkeypatch)
        store = await scene.app.store()
        claim = store.jobs.claim

        async def heard(quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
            asked.extend(quota.since for quota in quotas)
            return await claim(quotas, lease)

        monkeypatch.setattr(store.jobs, "claim", heard)
        await scene.claimer.take(2)
        scene.claimer.hint()
        await scene.claimer.take(2)
        await scene.claimer.take(2)
        assert asked == pytest.approx([scene.now, scene.now - claiming.LATE, scene.now], rel=0, abs=1e-5)


async def test_others_are_told_at_once_of_long_jobs_but_not_of_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guess is mostly too long, and soon put right; what others were told raises the floors of all meanwhile."""
    scene = Scene()
    async with scene.app:
        await scene.begin(monkeypatch)
        await scene.claimer.take(2)
        assert not scene.claimer.long_jobs.is_set()
        scene.claimer.usage.ended([((await scene.claimer.take(1))[0].lane, 5.0)])
        scene.claimer.usage.settle([])
        await scene.claimer.take(2)
        assert scene.claimer.long_jobs.is_set()


async def test_a_long_job_is_announced_before_it_is_claimed_and_left_to_a_worker_that_was_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both tenants have long jobs, and it is the small one's turn, until another worker says that it has taken one."""
    scene = Scene()
    announced: list[str] = []
    async with scene.app:
        await scene.begin(monkeypatch, small=10)
        claimer, queue = scene.claimer, scene.claimer.queue
        lanes = {active.lane.tenant: active.lane for active in queue.lanes()}
        for lane in lanes.values():
            claimer.usage.estimates.learn(lane, 20, 40.0)
        queue.correct(lanes["large"], 100.0, 0.0)
        queue.correct(lanes["small"], -9.0, 0.0)
        queue.tell()

        async def announce() -> bool:
            announced.extend(charge.account for charge in queue.tell() if charge.virtual)
            if len(announced) == 2:
                queue.hear([Balance("short", "small", 1000.0, 0.0)])
            return True

        async def nobody() -> bool:
            return False

        assert tenants(await claimer.take(1, announce=nobody)) == {"small"}
        queue.tell()
        claimer.usage.settle([])
        assert tenants(await claimer.take(1, announce=announce)) == {"small"}
        assert announced == ["small"]
        assert tenants(await claimer.take(1, announce=announce)) == {"small"}
        assert announced == ["small"], "it already has a job here"
        claimer.usage.settle([])
        claimer.long_jobs.clear()
        claimer.usage.estimates.learn(lanes["large"], 2000, 20.0)
        assert tenants(await claimer.take(1, announce=announce)) == {"large"}
        assert announced == ["small", "small"]
        assert claimer.long_jobs.is_set()
        refund = {charge.account: charge.virtual for charge in queue.tell()}["small"]
        assert refund == pytest.approx(-0.2)


async def test_nobody_is_asked_before_a_claim_of_short_jobs_or_where_nobody_competes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene()

    async def announce() -> bool:
        raise AssertionError("no need")

    async with scene.app:
        await scene.begin(monkeypatch)
        (lane,) = (active.lane for active in scene.claimer.queue.lanes())
        scene.claimer.usage.estimates.learn(lane, 20, 40.0)
        assert await scene.claimer.take(1, announce=announce)
        scene.claimer.usage.estimates.learn(lane, 2000, 20.0)
        await scene.small.enqueue()
        scene.claimer.hint()
        scene.claimer.usage.estimates.learn(lane._replace(tenant="small"), 20, 0.2)
        assert await scene.claimer.take(1, announce=announce)


@pytest.mark.postgres
async def test_a_job_that_was_committed_later_than_those_after_it_is_found_after_its_hint(postgres_url: str) -> None:
    async with fairlead.App(postgres_url) as app:
        work = app.handler("work")(lambda: None)
        claimer = Claimer(await app.store(), OWNER, frozenset({"short"}), app.registry)
        async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
            early = await work.options(connection=connection).enqueue()
            await work.enqueue_many([{}] * 4)
            first = await claimer.take(2)
            assert len(first) == 2
            late_by = "to_timestamp(%s) - interval '10 ms'"
            set_ready_at = f"update job set run_at = {late_by}, ready_at = {late_by} where id = %s"
            await connection.execute(set_ready_at, [max(claim.ready_at for claim in first)] * 2 + [early.id])
        claimer.hint()
        assert early.id in {claim.id for claim in await claimer.take(10)}
