"""Dead letters: filtered, grouped, revived, edited, cancelled; and what the audit says of it."""

import asyncio
import json
from dataclasses import replace

import pytest

from fairlead.core.insight.audit import AuditNote
from fairlead.core.jobs.dead_letters import DeadHold, Refusal, cancel_dead, edit_dead, revive
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import JobFilter, JobRecord
from fairlead.core.jobs.model import Ending, ErrorInfo, NewJob, Priority, Scope
from fairlead.core.jobs.states import State
from fairlead.records.store import Store
from tests.contract.making import (
    LANE,
    claim,
    claim_one,
    done,
    ended,
    enqueue_one,
    failed,
    keyed_job,
    new_id,
    new_job,
    new_jobs,
    new_lease,
    run_to_end,
    state_of,
)
from tests.contract.world import World

NOTE = AuditNote("ann@desk", "replay", "dead letters", {"reason": "mended"})
DEAD = JobFilter(states=(State.DEAD,))
REPORT = LANE._replace(type="report")
SOON = 60.0


def dying(fingerprint: str, kind: str = "ValueError", message: str = "no") -> ErrorInfo:
    return ErrorInfo(kind, message, "Traceback ...", FailureClass.PERMANENT, fingerprint=fingerprint)


async def kill(store: Store, job: NewJob, error: ErrorInfo | None = None) -> JobRecord:
    """Store a job and let its first run be its last."""
    await store.jobs.enqueue([job])
    (claimed,) = await claim(store, new_lease(), 1, job.lane)
    assert claimed.id == job.id
    return await kill_claimed(store, claimed, error)


async def kill_claimed(store: Store, claimed: object, error: ErrorInfo | None = None) -> JobRecord:
    settlement = ended(claimed, Ending.FAILED, error=error or dying("f" * 12))  # type: ignore[arg-type]
    assert await store.jobs.settle([settlement]) == {settlement.id}
    return await record_of(store, settlement.id)


async def record_of(store: Store, job_id: str) -> JobRecord:
    record = await store.reader.read(job_id)
    assert record is not None
    return record


async def test_a_dead_job_keeps_the_fingerprint_of_its_error(store: Store) -> None:
    dead = await kill(store, new_job(), dying("abc"))
    assert dead.error is not None
    assert (dead.error.fingerprint, dead.replays) == ("abc", 0)
    (attempt,) = await store.reader.attempts(dead.id)
    assert attempt.error is not None
    assert attempt.error.fingerprint == "abc"


async def test_an_attempt_that_is_retried_keeps_its_fingerprint(store: Store) -> None:
    await enqueue_one(store)
    running = await claim_one(store, new_lease())
    await store.jobs.settle([failed(running)])
    (attempt,) = await store.reader.attempts(running.id)
    assert attempt.error is not None
    assert attempt.error.fingerprint


async def test_dead_letters_are_filtered(world: World) -> None:
    store = world.store
    first = await kill(store, new_job(), dying("aaa"))
    world.advance(10)
    second = await kill(store, new_job(REPORT), dying("bbb", "KeyError"))
    third = await kill(store, new_job(LANE._replace(tenant="globex")), dying("aaa"))
    await enqueue_one(store)
    assert second.finished_at
    moment = second.finished_at.timestamp()
    for wanted, expected in (
        (replace(DEAD, fingerprint="aaa"), [third.id, first.id]),
        (replace(DEAD, error_type="KeyError"), [second.id]),
        (replace(DEAD, finished_after=moment), [third.id, second.id]),
        (replace(DEAD, finished_before=moment), [first.id]),
        (replace(DEAD, type="mail", tenant="globex"), [third.id]),
        (JobFilter(fingerprint="aaa"), [third.id, first.id]),
        (JobFilter(finished_after=moment), [third.id, second.id]),
        (JobFilter(error_type="ValueError"), [third.id, first.id]),
        (replace(DEAD, fingerprint="other"), []),
    ):
        assert [job.id for job in (await store.reader.list_jobs(wanted, 10)).jobs] == expected, wanted


async def test_pages_of_dead_letters_follow_each_other(store: Store) -> None:
    dead = [(await kill(store, new_job())).id for _ in range(5)]
    wanted, seen, cursor = replace(DEAD, fingerprint="f" * 12), [], None
    for _ in range(3):
        page = await store.reader.list_jobs(wanted, 2, cursor)
        seen += [job.id for job in page.jobs]
        cursor = page.cursor
    assert (seen, cursor) == (dead[::-1], None)


async def test_groups_have_the_largest_first_and_their_newest_as_a_sample(world: World) -> None:
    store = world.store
    assert await store.dead_letters.groups(DEAD, 10) == []
    await kill(store, new_job(REPORT), dying("rare", "KeyError", "k"))
    first = await kill(store, new_job(), dying("often", message="first"))
    world.advance(10)
    last = await kill(store, new_job(LANE._replace(tenant="globex")), dying("often", message="last"))
    often, rare = await store.dead_letters.groups(DEAD, 10)
    assert (often.fingerprint, often.type, often.error_type, often.message) == ("often", "mail", "ValueError", "last")
    assert (often.count, often.tenants, often.sample) == (2, 2, last.id)
    assert (often.first_at, often.last_at) == (first.finished_at, last.finished_at)
    assert (rare.fingerprint, rare.type, rare.count) == ("rare", "report", 1)
    assert [group.fingerprint for group in await store.dead_letters.groups(DEAD, 1)] == ["often"]
    assert [group.count for group in await store.dead_letters.groups(replace(DEAD, tenant="globex"), 10)] == [1]


async def test_the_trend_counts_deaths_by_their_age(world: World) -> None:
    store = world.store
    assert await store.dead_letters.trend(DEAD, 60.0, 3) == {}
    await kill(store, new_job(), dying("often"))
    await kill(store, new_job(LANE._replace(tenant="globex")), dying("often"))
    await kill(store, new_job(REPORT), dying("rare"))
    assert await store.dead_letters.trend(DEAD, 60.0, 3) == {
        ("often", "mail"): [0, 0, 2],
        ("rare", "report"): [0, 0, 1],
    }
    assert await store.dead_letters.trend(replace(DEAD, tenant="globex"), 60.0, 3) == {("often", "mail"): [0, 0, 1]}
    world.advance(61)
    await kill(store, new_job(), dying("often"))
    found = await store.dead_letters.trend(DEAD, 60.0, 3)
    assert found[("often", "mail")] == [0, 2, 1]
    assert found[("rare", "report")] == [0, 1, 0]
    world.advance(121)
    assert await store.dead_letters.trend(DEAD, 60.0, 3) == {("often", "mail"): [1, 0, 0]}


async def test_one_fingerprint_in_two_types_is_two_groups(store: Store) -> None:
    for lane in (LANE, REPORT):
        await kill(store, new_job(lane), dying("same"))
    assert {(group.type, group.count) for group in await store.dead_letters.groups(DEAD, 10)} == {
        ("mail", 1),
        ("report", 1),
    }


async def test_a_revived_job_starts_afresh_and_keeps_its_fence(world: World) -> None:
    store = world.store
    dead = await kill(store, new_job(payload='{"a":1}', options='{"timeout":5}'))
    world.advance(30)
    revived = await store.dead_letters.revive([revive(dead)], NOTE)
    assert revived.ids == {dead.id}
    assert revived.refused == {}
    live = await record_of(store, dead.id)
    assert (live.state, live.attempt, live.crashes, live.fence, live.replays) == (State.READY, 0, 0, 1, 1)
    assert (live.payload, live.options, live.created_at, live.error) == (
        dead.payload,
        dead.options,
        dead.created_at,
        None,
    )
    assert (live.worker, live.started_at, live.finished_at) == (None, None, None)
    running = await claim_one(store, new_lease())
    assert (running.id, running.attempt, running.fence) == (dead.id, 1, 2)
    assert await store.jobs.settle([done(running, '"ok"')]) == {dead.id}
    ended_well = await record_of(store, dead.id)
    assert (ended_well.state, ended_well.replays, ended_well.result) == (State.SUCCEEDED, 1, '"ok"')
    assert [attempt.fence for attempt in await store.reader.attempts(dead.id)] == [1]


async def test_a_job_can_die_and_come_back_many_times(store: Store) -> None:
    dead = await kill(store, new_job())
    for replays in (1, 2, 3):
        assert (await store.dead_letters.revive([revive(dead)], NOTE)).ids == {dead.id}
        dead = await kill_claimed(store, await claim_one(store, new_lease()))
        assert (dead.replays, dead.fence) == (replays, replays + 1)
    assert [attempt.fence for attempt in await store.reader.attempts(dead.id)] == [1, 2, 3, 4]


async def test_a_late_worker_cannot_settle_a_revived_job(store: Store) -> None:
    await enqueue_one(store)
    late = await claim_one(store, new_lease())
    dead = await kill_claimed(store, late)
    await store.dead_letters.revive([revive(dead)], NOTE)
    assert await store.jobs.settle([done(late)]) == set()
    await claim_one(store, new_lease())
    assert await store.jobs.settle([done(late)]) == set()
    assert await state_of(store, dead.id) is State.RUNNING


async def test_an_edited_payload_comes_back_in_the_lane_of_its_version(store: Store) -> None:
    dead = await kill(store, new_job(payload='{"a":1}'))
    await store.dead_letters.revive([revive(dead, '{"b":2}', 7)], NOTE)
    (claimed,) = await claim(store, new_lease(), 1, LANE._replace(version=7))
    assert (claimed.id, claimed.payload, claimed.lane.version) == (dead.id, '{"b":2}', 7)


async def test_a_revival_that_comes_second_is_refused(store: Store) -> None:
    dead = await kill(store, new_job())
    await store.dead_letters.revive([revive(dead)], NOTE)
    assert (await store.dead_letters.revive([revive(dead)], NOTE)).refused == {dead.id: Refusal.CHANGED}
    again = await kill_claimed(store, await claim_one(store, new_lease()))
    stale = await store.dead_letters.revive([revive(dead)], NOTE)
    assert (stale.ids, stale.refused) == (frozenset(), {dead.id: Refusal.CHANGED})
    assert (await store.dead_letters.revive([revive(dead), revive(again), revive(again)], NOTE)).ids == {dead.id}
    assert len(await store.audit.read(10)) == 2


async def test_what_was_never_there_or_is_not_dead_is_refused(store: Store) -> None:
    dead = await kill(store, new_job())
    missing = revive(replace(dead, id=new_id()))
    assert dead.finished_at
    moved = revive(dead)._replace(hold=DeadHold(dead.id, dead.fence + 1, dead.finished_at))
    revived = await store.dead_letters.revive([missing, moved], NOTE)
    assert revived.refused == {missing.id: Refusal.CHANGED, dead.id: Refusal.CHANGED}
    assert await store.audit.read(10) == []
    assert (await store.dead_letters.revive([], NOTE)).ids == frozenset()


async def test_a_job_whose_last_moment_has_passed_stays_dead(world: World) -> None:
    late = await kill(world.store, new_job(not_after=world.clock() + 5))
    early = await kill(world.store, new_job(not_after=world.clock() + 500))
    world.advance(10)
    revived = await world.store.dead_letters.revive([revive(late), revive(early)], NOTE)
    assert revived.ids == {early.id}
    assert revived.refused == {late.id: Refusal.TOO_LATE}
    assert await state_of(world.store, late.id) is State.DEAD


@pytest.mark.parametrize("pruned", [False, True])
async def test_an_active_key_is_held_again(world: World, pruned: bool) -> None:
    dead = await kill(world.store, keyed_job("k"))
    if pruned:
        await world.store.jobs.prune({}, 86400.0, 100)
    assert (await world.store.dead_letters.revive([revive(dead)], NOTE)).ids == {dead.id}
    (answer,) = await world.store.jobs.enqueue([keyed_job("k")])
    assert (answer.id, answer.duplicate) == (dead.id, True)
    await world.store.jobs.prune({}, 86400.0, 100)
    assert (await world.store.jobs.enqueue([keyed_job("k")]))[0].id == dead.id


@pytest.mark.parametrize("scope", [Scope.FOREVER, Scope.WINDOW])
async def test_a_key_of_another_scope_stays_with_its_job(world: World, scope: Scope) -> None:
    dead = await kill(world.store, keyed_job("k", scope=scope, window=SOON if scope is Scope.WINDOW else None))
    assert (await world.store.dead_letters.revive([revive(dead)], NOTE)).ids == {dead.id}
    assert len(await run_to_end(world.store, new_lease())) == 1
    assert (await world.store.jobs.enqueue([keyed_job("k")]))[0].id == dead.id
    world.advance(SOON + 1)
    assert (await world.store.jobs.enqueue([keyed_job("k")]))[0].duplicate == (scope is Scope.FOREVER)


async def test_a_key_that_another_job_took_blocks_only_its_own_revival(store: Store) -> None:
    dead = await kill(store, keyed_job("k"))
    other = await kill(store, new_job())
    (taken,) = await store.jobs.enqueue([keyed_job("k")])
    revived = await store.dead_letters.revive([revive(dead), revive(other)], NOTE)
    assert revived.ids == {other.id}
    assert revived.refused == {dead.id: Refusal.KEY_TAKEN}
    assert await state_of(store, dead.id) is State.DEAD
    assert {item.id for item in await run_to_end(store, new_lease())} == {taken.id, other.id}
    assert (await store.dead_letters.revive([revive(dead)], NOTE)).ids == {dead.id}


async def test_of_two_dead_jobs_with_one_key_one_comes_back(store: Store) -> None:
    first = await kill(store, keyed_job("k"))
    second = await kill(store, keyed_job("k"))
    revived = await store.dead_letters.revive([revive(first)], NOTE)
    assert revived.ids == {first.id}
    assert (await store.dead_letters.revive([revive(second)], NOTE)).refused == {second.id: Refusal.KEY_TAKEN}


async def test_two_dead_jobs_with_one_key_in_one_batch(store: Store) -> None:
    first = await kill(store, keyed_job("k"))
    second = await kill(store, keyed_job("k"))
    revived = await store.dead_letters.revive([revive(first), revive(second)], NOTE)
    assert len(revived.ids) == 1
    assert list(revived.refused.values()) == [Refusal.KEY_TAKEN]


async def test_edit_and_cancel_hold_only_while_the_job_is_what_was_seen(store: Store) -> None:
    dead = await kill(store, new_job())
    assert await store.dead_letters.amend([edit_dead(dead, '{"x":1}', 4)], NOTE) == {dead.id}
    edited = await record_of(store, dead.id)
    assert (edited.state, edited.payload, edited.version) == (State.DEAD, '{"x":1}', 4)
    assert await store.dead_letters.cancel([cancel_dead(edited), cancel_dead(edited)], NOTE) == {dead.id}
    cancelled = await record_of(store, dead.id)
    assert (cancelled.state, cancelled.finished_at) == (State.CANCELLED, dead.finished_at)
    assert await store.dead_letters.cancel([cancel_dead(dead)], NOTE) == set()
    assert await store.dead_letters.amend([edit_dead(dead, "{}", 1)], NOTE) == set()
    assert (await store.dead_letters.revive([revive(dead)], NOTE)).refused == {dead.id: Refusal.CHANGED}
    assert await store.dead_letters.groups(DEAD, 10) == []
    assert len(await store.audit.read(10)) == 2


async def test_read_many_finds_live_and_finished_jobs(store: Store) -> None:
    dead = await kill(store, new_job())
    live = await enqueue_one(store)
    found = await store.reader.read_many([dead.id, live.id, new_id()])
    assert {job.id: job.state for job in found} == {dead.id: State.DEAD, live.id: State.READY}
    assert await store.reader.read_many([]) == []


async def test_the_audit_says_who_why_how_many_and_which(world: World) -> None:
    store = world.store
    dead = await kill(store, new_job())
    other = await kill(store, new_job())
    await store.dead_letters.revive([revive(dead)], NOTE)
    world.advance(5)
    second = await store.audit.append(AuditNote("bob", "look", "here"), [dead.id, other.id])
    newest, first = await store.audit.read(10)
    assert newest == second
    assert (first.id, first.actor, first.action, first.target) == (1, "ann@desk", "replay", "dead letters")
    assert json.loads(first.details) == {"reason": "mended", "count": 1, "jobs": [dead.id]}
    assert (newest.id, newest.at - first.at, newest.previous_hash) == (2, 5, first.hash)
    assert await store.audit.head() == (2, newest.hash)
    assert [entry.id for entry in await store.audit.read(10, cursor=2)] == [1]
    assert [entry.id for entry in await store.audit.read(10, job_id=dead.id)] == [2, 1]
    assert [entry.id for entry in await store.audit.read(10, job_id=other.id)] == [2]
    assert await store.audit.read(10, job_id=new_id()) == []


async def test_many_writers_make_one_chain(shared_world: World) -> None:
    stores = [shared_world.store, await shared_world.another_store()]
    await asyncio.gather(*(stores[number % 2].audit.append(NOTE.about(number=number)) for number in range(40)))
    entries = (await stores[0].audit.read(100))[::-1]
    assert [entry.id for entry in entries] == list(range(1, 41))
    assert [entry.previous_hash for entry in entries] == ["", *(entry.hash for entry in entries[:-1])]


async def test_two_operators_revive_each_job_once(shared_world: World) -> None:
    stores = [shared_world.store, await shared_world.another_store()]
    jobs = new_jobs(100)
    await stores[0].jobs.enqueue(jobs)
    claims = await claim(stores[0], new_lease())
    await stores[0].jobs.settle([failed(item, permanent=True) for item in claims])
    dead = await stores[0].reader.read_many([job.id for job in jobs])
    first, second = await asyncio.gather(
        *(store.dead_letters.revive([revive(job) for job in dead], NOTE) for store in stores)
    )
    assert first.ids | second.ids == {job.id for job in jobs}
    assert first.ids & second.ids == set()
    assert {job.replays for job in await stores[0].reader.read_many([job.id for job in jobs])} == {1}


async def test_a_revival_against_submissions_leaves_one_live_job_for_each_key(shared_world: World) -> None:
    stores = [shared_world.store, await shared_world.another_store()]
    for _ in range(10):
        names = [f"k{number}" for number in range(20)]
        dead = [await kill(stores[0], keyed_job(name, LANE._replace(priority=Priority.HIGH))) for name in names]
        revived, answers = await asyncio.gather(
            stores[0].dead_letters.revive([revive(job) for job in dead], NOTE),
            stores[1].jobs.enqueue(
                [keyed_job(name, LANE._replace(priority=Priority.HIGH)) for name in reversed(names)]
            ),
        )
        assert len(revived.ids) + sum(not answer.duplicate for answer in answers) == len(names)
        assert len(await run_to_end(stores[0], new_lease(), LANE._replace(priority=Priority.HIGH))) == len(names)
