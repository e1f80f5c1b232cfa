"""Limits in the store: held whoever claims, counted from what runs, and forgotten when nobody needs them."""

import asyncio
from typing import Any

import psycopg
import pytest

from fairlead.core.jobs.model import Claim, Ending, Lane, Lease, NewJob, Quota
from fairlead.core.protection.controls import Control, Controls
from fairlead.core.protection.limits import LIMIT, LimitedQuota, Rules
from fairlead.core.protection.token_bucket import Bucket, RateLimit
from fairlead.errors import StoreUnavailable
from fairlead.records.limits import LimitedClaims
from fairlead.records.store import Store
from fairlead.stores.postgres.connection import explain, query
from tests.contract.making import LANE, done, ended, enqueue_one, finish, new_jobs, new_lease, state_of
from tests.contract.world import World

KEYED = LANE._replace(limits="stripe=7")
OTHER = LANE._replace(tenant="globex")
MONTH = 30 * 86400.0


def rules(**allowed: dict[str, Any]) -> Rules:
    """Rules by scope: type={"concurrent": 3} limits the type `mail`."""
    names = {"type": "type:mail", "tenant": "tenant:acme", "key": "limit:stripe=7"}
    controls = Controls()
    controls.follow(
        Control(LIMIT, names[scope], value, at + 1, 0.0) for at, (scope, value) in enumerate(allowed.items())
    )
    return Rules({}, {}, controls)


async def take(store: Store, by: Rules, most: int = 100, lanes: tuple[Lane, ...] = (LANE,)) -> LimitedClaims:
    """Claim from lanes under the limits that are in force for them."""
    wanted = [LimitedQuota(Quota(lane.id, most), lane, by.of(lane)) for lane in lanes]
    return await store.limits.claim(wanted, by, new_lease())


async def enqueue(store: Store, count: int, lane: Lane = LANE) -> list[NewJob]:
    """Store ready jobs."""
    jobs = new_jobs(count, lane)
    await store.jobs.enqueue(jobs)
    return jobs


async def test_no_more_than_the_limit_run_at_once(store: Store) -> None:
    by = rules(type={"concurrent": 3})
    jobs = await enqueue(store, 10)
    first = await take(store, by)
    assert [claim.id for claim in first.claims] == [job.id for job in jobs[:3]]
    assert first.full == {"type:mail": None}
    assert await take(store, by) == LimitedClaims([], {"type:mail": None})
    await finish(store, first.claims[0])
    second = await take(store, by)
    assert [claim.id for claim in second.claims] == [jobs[3].id]


async def test_who_runs_in_lanes_is_told_the_longest_first(world: World) -> None:
    store, lease = world.store, new_lease()
    for lane in (LANE, OTHER, KEYED):
        await enqueue(store, 2, lane)
    first = await store.jobs.claim([Quota(LANE.id, 1)], lease)
    world.advance(5)
    later = await store.jobs.claim([Quota(OTHER.id, 2), Quota(KEYED.id, 2)], lease)
    found = await store.limits.holders([LANE, OTHER], 10)
    assert [item.id for item in found][:1] == [first[0].id]
    assert {item.id for item in found[1:]} == {claim.id for claim in later if claim.lane == OTHER}
    assert (found[0].tenant, found[0].worker) == ("acme", lease.owner)
    assert found[1].since - found[0].since >= 5
    assert [item.id for item in await store.limits.holders([LANE, OTHER], 1)] == [first[0].id]
    assert await store.limits.holders([], 10) == []
    await finish(store, first[0])
    assert first[0].id not in [item.id for item in await store.limits.holders([LANE], 10)]


async def test_a_claim_below_the_limit_does_not_fill_it(store: Store) -> None:
    await enqueue(store, 2)
    answer = await take(store, rules(type={"concurrent": 3}))
    assert (len(answer.claims), answer.full) == (2, {})


async def test_a_limit_counts_all_lanes_under_it_also_those_claimed_without_it(store: Store) -> None:
    by = rules(type={"concurrent": 4})
    for lane in (LANE, OTHER):
        await enqueue(store, 5, lane)
    await store.jobs.claim([Quota(OTHER.id, 3)], new_lease())
    assert len((await take(store, by)).claims) == 1
    assert (await take(store, by, lanes=(LANE, OTHER))).claims == []


async def test_of_several_limits_the_tightest_counts(store: Store) -> None:
    by = rules(type={"concurrent": 4}, tenant={"concurrent": 1})
    for lane in (LANE, OTHER):
        await enqueue(store, 5, lane)
    answer = await take(store, by, lanes=(LANE, OTHER))
    assert sorted(claim.lane.tenant for claim in answer.claims) == ["acme", "globex", "globex", "globex"]
    assert answer.full == {"tenant:acme": None, "type:mail": None}


async def test_a_key_has_a_limit_of_its_own(store: Store) -> None:
    by = rules(key={"concurrent": 1})
    eight = LANE._replace(limits="stripe=8")
    for lane in (KEYED, eight):
        await enqueue(store, 3, lane)
    assert by.of(eight) == ()
    assert len((await take(store, by, lanes=(KEYED,))).claims) == 1
    assert len(await store.jobs.claim([Quota(eight.id, 9)], new_lease())) == 3


async def test_many_who_claim_at_once_do_not_exceed_it_together(world: World) -> None:
    by = rules(type={"concurrent": 7}, tenant={"concurrent": 5})
    for lane in (LANE, OTHER):
        await enqueue(world.store, 50, lane)
    others = [] if world.url.endswith(":memory:") else [await world.another_store() for _ in range(3)]
    answers = await asyncio.gather(
        *[take(store, by, 3, (LANE, OTHER)) for store in (world.store, *others) for _ in range(5)]
    )
    claims = [claim for answer in answers for claim in answer.claims]
    assert len(claims) == len({claim.id for claim in claims}) == 7
    assert sum(claim.lane == LANE for claim in claims) <= 5


async def test_a_lost_workers_jobs_count_until_they_are_recovered(world: World) -> None:
    by = rules(type={"concurrent": 2})
    lease = await world.worker(30)
    await enqueue(world.store, 5)
    wanted = [LimitedQuota(Quota(LANE.id, 9), LANE, by.of(LANE))]
    assert len((await world.store.limits.claim(wanted, by, lease)).claims) == 2
    world.advance(31)
    assert (await take(world.store, by)).claims == []
    lost = await world.store.reader.lost(10)
    await world.store.jobs.settle([ended(job, Ending.LOST) for job in lost], expired_only=True)
    assert len((await take(world.store, by)).claims) == 2


async def test_a_rate_holds_over_all_who_claim_by_the_stores_clock(world: World) -> None:
    by = rules(type={"rate": "2/s", "burst": 5})
    await enqueue(world.store, 60)
    other = world.store if world.url.endswith(":memory:") else await world.another_store()
    assert len((await take(world.store, by)).claims) == 5
    answer = await take(other, by)
    assert (answer.claims, answer.full) == ([], {"type:mail": 0.5})
    starts = 5
    for number in range(1, 21):
        world.advance(0.3)
        starts += len((await take(other if number % 2 else world.store, by)).claims)
        assert starts <= 5 + 2 * 0.3 * number
    assert starts >= 5 + 2 * 0.3 * 20 - 1
    world.advance(1_000)
    assert len((await take(other, by)).claims) == 5, "what was not used does not add up beyond the burst"


async def test_a_token_is_spent_only_by_a_job_that_starts(world: World) -> None:
    by = rules(type={"rate": "1/s", "burst": 3})
    await enqueue(world.store, 1)
    assert len((await take(world.store, by)).claims) == 1
    await enqueue(world.store, 5)
    assert len((await take(world.store, by)).claims) == 2


async def test_another_bound_acts_on_the_next_claim(store: Store) -> None:
    await enqueue(store, 20)
    assert len((await take(store, rules(type={"concurrent": 5}))).claims) == 5
    assert (await take(store, rules(type={"concurrent": 2}))).claims == []
    assert len((await take(store, rules(type={"concurrent": 8}))).claims) == 3


async def test_what_runs_and_what_is_left_of_buckets_can_be_read(world: World) -> None:
    by = rules(type={"concurrent": 5, "rate": "1/s", "burst": 4})
    for lane in (LANE, KEYED):
        await enqueue(world.store, 2, lane)
    await take(world.store, by, 2)
    await take(world.store, by, 1, (KEYED,))
    use = await (world.store if world.url.endswith(":memory:") else await world.another_store()).limits.use()
    assert use.running == {LANE: 2, KEYED: 1}
    assert use.buckets == {"type:mail": Bucket(1.0, world.clock())}


async def test_tokens_are_taken_all_that_are_there_or_none(world: World) -> None:
    way = RateLimit(2.0, 10.0)
    assert await world.store.limits.take_tokens("submit:acme", way, 4, 6) == (6, 0.0)
    assert await world.store.limits.take_tokens("submit:acme", way, 2, 9) == (4, 0.0)
    assert await world.store.limits.take_tokens("submit:acme", way, 3, 3) == (0, 1.5)
    world.advance(1.5)
    assert await world.store.limits.take_tokens("submit:acme", way, 3, 3) == (3, 0.0)


async def test_a_forgotten_bucket_is_made_again_and_was_full(world: World) -> None:
    by = rules(type={"rate": "1/s", "burst": 2})
    await enqueue(world.store, 9)
    assert len((await take(world.store, by)).claims) == 2
    assert await world.store.limits.prune(MONTH, 100) == 0
    assert (await take(world.store, by)).claims == []
    world.advance(3_700)
    await world.store.limits.prune(MONTH, 100)
    assert (await world.store.limits.use()).buckets == {}
    assert len((await take(world.store, by)).claims) == 2


async def test_a_job_keeps_its_key_when_it_is_read_and_when_it_comes_back(store: Store) -> None:
    job = await enqueue_one(store, KEYED)
    record = await store.reader.read(job.id)
    assert record
    assert record.limits == "stripe=7"
    (active,) = await store.reader.active_lanes()
    assert active.lane == KEYED


async def claim_plain(store: Store, lane: Lane, lease: Lease | None = None) -> list[Claim]:
    """Claim as if there were no limits."""
    return await store.jobs.claim([Quota(lane.id, 100)], lease or new_lease())


async def test_a_lane_with_a_key_is_removed_when_nothing_was_in_it_for_long(world: World) -> None:
    job = await enqueue_one(world.store, KEYED)
    await enqueue_one(world.store, LANE)
    (claim,) = await claim_plain(world.store, KEYED)
    world.advance(3 * MONTH)
    assert await world.store.limits.prune(MONTH, 100) == 0, "a job runs in it"
    await finish(world.store, claim)
    assert await world.store.limits.prune(MONTH, 100) == 0, "it is idle only since now"
    world.advance(MONTH - 1)
    assert await world.store.limits.prune(MONTH, 100) == 0
    assert await state_of(world.store, job.id) is not None
    world.advance(2)
    assert await world.store.limits.prune(MONTH, 100) == 1
    assert await world.store.limits.prune(MONTH, 100) == 0


async def test_whoever_submits_to_an_idle_lane_keeps_it(world: World) -> None:
    await enqueue_one(world.store, KEYED)
    await world.store.jobs.settle([done(claim) for claim in await claim_plain(world.store, KEYED)])
    await world.store.limits.prune(MONTH, 100)
    world.advance(MONTH + 1)
    await enqueue_one(world.store, KEYED)
    await world.store.jobs.settle([done(claim) for claim in await claim_plain(world.store, KEYED)])
    assert await world.store.limits.prune(MONTH, 100) == 0, "it was used a moment ago"


async def test_a_process_that_knew_a_removed_lane_makes_it_again(world: World) -> None:
    await enqueue_one(world.store, KEYED)
    await world.store.jobs.settle([done(claim) for claim in await claim_plain(world.store, KEYED)])
    await world.store.limits.prune(MONTH, 100)
    world.advance(MONTH + 1)
    assert await world.store.limits.prune(MONTH, 100) == 1
    job = await enqueue_one(world.store, KEYED)
    reader = world.store if world.url.endswith(":memory:") else await world.another_store()
    (active,) = await reader.reader.active_lanes()
    assert active.lane == KEYED
    record = await reader.reader.read(job.id)
    assert record
    assert record.type == "mail"


async def test_one_who_freezes_with_the_lock_in_its_hands_stops_the_others_only_briefly(postgres_world: World) -> None:
    by = rules(type={"concurrent": 3})
    await enqueue(postgres_world.store, 3)
    first = await take(postgres_world.store, by, 1)
    with psycopg.connect(postgres_world.url) as frozen:
        frozen.execute(query("lock_limits").encode(), {"rows": '[{"name": "type:mail"}]'})
        second = await take(postgres_world.store, by, 1)
        with pytest.raises(psycopg.Error) as ended:
            frozen.execute("select 1")
        assert isinstance(explain(ended.value), StoreUnavailable)
    assert (len(first.claims), len(second.claims)) == (1, 1)
