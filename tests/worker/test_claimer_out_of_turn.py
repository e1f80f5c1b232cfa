"""What a worker takes after a hint when it has nothing to do, before it looks who has work."""

from collections.abc import Sequence

import psycopg
import pytest

import fairlead
from fairlead.core.jobs.model import ActiveLane, Claim, Lane, Lease, Priority, Quota
from fairlead.errors import StoreUnavailable
from fairlead.worker import claimer as claiming
from fairlead.worker import recent
from fairlead.worker.claimer import Claimer
from fairlead.worker.recent import RecentLanes

OWNER = "00000000-0000-7000-8000-000000000001"


class Scene:
    """A claimer that has worked off all there was, and knows the lane of tenant `a`."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.in_hand = 0
        self.app = fairlead.App("sqlite:///:memory:", clock=lambda: self.now)

        @self.app.handler("work")
        async def work() -> None: ...

        @self.app.handler("other", pool="medium")
        async def other() -> None: ...

        self.a, self.b, self.other = work.options(tenant="a"), work.options(tenant="b"), other

    async def begin(self) -> Claim:
        """The last job that it has claimed."""
        pools = frozenset({"short", "medium"})
        self.claimer = Claimer(await self.app.store(), OWNER, pools, self.app.registry, lambda pool: self.in_hand)
        await self.a.enqueue()
        (last,) = await self.claimer.take(40)
        assert await self.claimer.take(40) == []
        return last

    async def learn_other(self) -> None:
        """Let it know the lane of a pool that bounds how many jobs a worker has."""
        await self.other.enqueue()
        self.claimer.hint()
        assert len(await self.claimer.take(40)) == 1
        assert await self.claimer.take(40) == []

    def charged(self) -> float:
        """Slot-seconds of tenant `a`."""
        share = self.claimer.queue._account("short", "a")
        return share.virtual * share.weight


async def test_it_is_charged_when_its_jobs_have_started() -> None:
    scene = Scene()
    async with scene.app:
        await scene.begin()
        for account in (scene.claimer.account, lambda: None):  # the next look does it where nobody else has
            before = scene.charged()
            await scene.a.enqueue()
            scene.claimer.hint()
            (claim,) = await scene.claimer.take(40)
            assert (scene.charged(), scene.claimer.has_unaccounted) == (before, True)
            account()
            assert await scene.claimer.take(40) == []
            cost = scene.claimer.tally.estimates.of("short", claim.lane.type)
            assert scene.charged() == pytest.approx(before + cost)
            assert not scene.claimer.has_unaccounted


async def test_a_claim_that_fails_charges_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    async with scene.app:
        await scene.begin()
        before = scene.charged()

        async def fail(quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
            raise StoreUnavailable("away")

        with monkeypatch.context() as away:
            away.setattr((await scene.app.store()).jobs, "claim", fail)
            scene.claimer.hint()
            with pytest.raises(StoreUnavailable):
                await scene.claimer.take(40)
        assert await scene.claimer.take(40) == []
        assert scene.charged() == before


async def test_a_claim_in_vain_does_not_take_a_lane_out_of_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs may have come between the claim and the look that follows."""
    scene = Scene()
    async with scene.app:
        await scene.begin()
        store = await scene.app.store()
        claim, calls = store.jobs.claim, list[int]()

        async def too_early(quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
            calls.append(len(quotas))
            return [] if len(calls) == 1 else await claim(quotas, lease)

        monkeypatch.setattr(store.jobs, "claim", too_early)
        for tenant in (scene.a, scene.b):
            await tenant.enqueue_many([{}] * 10)
        scene.claimer.hint()
        taken = [claim for _ in range(5) for claim in await scene.claimer.take(4)]
        assert {claim.lane.tenant for claim in taken} == {"a", "b"}
        assert len(taken) == 20


async def test_what_was_claimed_before_is_not_passed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's index keeps what was claimed until it is vacuumed."""
    scene, asked = Scene(), list[Quota]()
    async with scene.app:
        last = await scene.begin()
        store = await scene.app.store()
        claim = store.jobs.claim

        async def noted(quotas: Sequence[Quota], lease: Lease) -> list[Claim]:
            asked.extend(quotas)
            return await claim(quotas, lease)

        monkeypatch.setattr(store.jobs, "claim", noted)
        scene.now += 60
        await scene.a.enqueue()
        scene.claimer.hint()
        assert len(await scene.claimer.take(40)) == 1
        assert [quota.since for quota in asked] == [last.ready_at - claiming.LATE]


@pytest.mark.postgres
async def test_a_job_that_is_older_than_what_was_claimed_last_is_found_at_once(postgres_url: str) -> None:
    """Its transaction took long, or the clock was set back: the claim passes it, and the look after it does not."""
    app = fairlead.App(postgres_url)

    @app.handler("work")
    async def work() -> None: ...

    async with app:
        claimer = Claimer(await app.store(), OWNER, frozenset({"short"}), app.registry)
        await work.enqueue()
        assert len(await claimer.take(4)) == 1
        assert await claimer.take(4) == []
        old = await work.enqueue()
        async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
            await connection.execute("update job set ready_at = ready_at - interval '1 hour' where state = 'ready'")
        claimer.hint()
        assert [claim.id for claim in await claimer.take(4)] == [old.id]


async def test_a_pool_that_has_no_room_gets_nothing() -> None:
    scene = Scene()
    async with scene.app:
        await scene.begin()
        await scene.learn_other()
        scene.in_hand = 1_000
        await scene.other.enqueue()
        scene.claimer.hint()
        assert await scene.claimer.take(40) == []
        assert scene.claimer.is_held_back


async def test_a_pool_gets_as_much_as_it_has_room_for_and_others_are_not_kept_from_theirs() -> None:
    scene = Scene()
    async with scene.app:
        await scene.begin()
        await scene.learn_other()
        scene.in_hand = 5
        await scene.other.enqueue_many([{}] * 20)
        await scene.a.enqueue()
        scene.claimer.hint()
        claims = await scene.claimer.take(40)
        assert scene.claimer.has_unaccounted
        assert sorted(claim.lane.pool for claim in claims) == ["medium"] * 3 + ["short"]


async def test_where_hints_never_end_there_is_a_look_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    async with scene.app:
        await scene.begin()
        monkeypatch.setattr(recent, "LONGEST", -1.0)
        await scene.b.enqueue()
        for _ in range(3):
            await scene.a.enqueue()
        scene.claimer.hint()
        assert {claim.lane.tenant for claim in await scene.claimer.take(40)} == {"a", "b"}


async def test_after_a_look_they_go_first_again() -> None:
    scene = Scene()
    async with scene.app:
        await scene.begin()
        scene.claimer._recent._since = 0.0  # hints have come for long
        for is_first in (False, True):
            await scene.a.enqueue()
            scene.claimer.hint()
            assert len(await scene.claimer.take(40)) == 1
            assert scene.claimer.has_unaccounted == is_first
            assert await scene.claimer.take(40) == []


def test_recent_lanes_go_first_for_a_while_after_each_look(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("fairlead.worker.recent.time.monotonic", lambda: now)
    lanes = RecentLanes()
    assert not lanes.may_go_first()
    lanes.remember([ActiveLane(Lane("short", "a", "work", Priority.DEFAULT, 1), 5.0)])
    assert lanes.may_go_first()
    now += 2 * recent.LONGEST
    assert not lanes.may_go_first()
    lanes.looked()
    now += 2 * recent.LONGEST
    assert lanes.may_go_first()


def test_the_lanes_that_had_work_last_are_known() -> None:
    lanes = RecentLanes()
    known = [ActiveLane(Lane("short", str(number), "work", Priority.DEFAULT, 1), 5.0) for number in range(20)]
    lanes.remember(known)
    lanes.remember([known[4]._replace(since=6.0)])
    assert list(lanes) == [*known[5:], known[4]._replace(since=6.0)]
