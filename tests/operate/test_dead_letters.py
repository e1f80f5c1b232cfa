"""Dead letters as operators handle them, on every store, with handlers that fail and are mended."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead import (
    App,
    Breaker,
    IllegalMove,
    InvalidArguments,
    JobNotFound,
    PayloadTooLarge,
    Retry,
    State,
    UnsafePayload,
)
from fairlead.core.jobs.dead_letters import Stage
from fairlead.core.jobs.ids import make_ids
from fairlead.core.jobs.job_records import JobFilter
from fairlead.errors import ConfigError
from fairlead.operate import dead_letters
from fairlead.operate.audit import verify_chain
from fairlead.operate.staged_replay import Pace, replay_in_stages
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

ANN = Operator("ann@desk", "the bank is back")
(UNKNOWN,) = make_ids(1, 0.0)


class Bank:
    """An app whose handler works or does not."""

    def __init__(self, url: str) -> None:
        self.app = App(url, poll="50ms", breaker=Breaker.off())
        self.broken = True
        self.seen: list[int] = []

        @self.app.handler("charge", retry=Retry(attempts=1))
        async def charge(order: int) -> int:
            self.seen.append(order)
            if self.broken:
                raise ConnectionError(f"order {order} refused")
            return order

        @self.app.handler("strict", retry=Retry(attempts=1), version=2)
        async def strict(amount: int) -> int:
            if amount < 0:
                raise ValueError(f"{amount} is negative")
            return amount

        self.charge, self.strict = charge, strict
        self.store: Store

    async def dead(self, count: int) -> list[str]:
        """Jobs that died of the same."""
        jobs = await self.charge.enqueue_many([{"order": number} for number in range(count)])
        return [(await self.ended(job.id)).id for job in jobs]

    async def ended(self, job_id: str) -> Any:
        return await (await self.app.client()).wait(job_id, 20)


@pytest.fixture
async def bank(store_url: str) -> AsyncIterator[Bank]:
    """A bank with a worker."""
    made = Bank(store_url)
    async with made.app, made.app.worker(concurrency=20):
        made.store = await made.app.store()
        yield made


async def entries(store: Store) -> list[tuple[str, str, dict[str, Any]]]:
    """What the audit says, oldest first."""
    found = await store.audit.read(100)
    return [(entry.actor, entry.action, json.loads(entry.details)) for entry in reversed(found)]


async def test_failures_of_one_cause_are_one_group(bank: Bank) -> None:
    ids = await bank.dead(3)
    (group,) = await bank.app.dead_groups()
    assert (group.type, group.error_type, group.count, group.sample) == ("charge", "ConnectionError", 3, ids[2])
    assert group.message == "order 2 refused"
    page = await dead_letters.list_dead(bank.store, JobFilter(fingerprint=group.fingerprint), 10)
    assert [job.id for job in page.jobs] == ids[::-1]
    assert await dead_letters.count(bank.store, JobFilter(type="charge")) == 3
    assert await bank.app.dead_groups(type="other") == []


async def test_a_job_is_replayed_with_its_own_payload(bank: Bank) -> None:
    (job_id,) = await bank.dead(1)
    bank.broken = False
    await bank.app.replay(job_id, reason="the bank is back", actor="ann")
    record = await bank.ended(job_id)
    assert (record.state, record.attempt, record.fence, record.replays) == (State.SUCCEEDED, 1, 2, 1)
    letter = await dead_letters.show(bank.store, job_id)
    assert [attempt.fence for attempt in letter.attempts] == [1]
    (entry,) = letter.audit
    assert (entry.actor, entry.action, entry.target) == ("ann", "replay", job_id)
    assert json.loads(entry.details) == {"reason": "the bank is back", "count": 1, "jobs": [job_id]}


async def test_an_edited_payload_must_fit_and_then_runs(bank: Bank) -> None:
    job = await bank.strict.enqueue(amount=-5)
    await bank.ended(job.id)
    for payload, error in (
        ({"amount": "much"}, InvalidArguments),
        ({}, InvalidArguments),
        ({"amount": 1, "extra": 1}, InvalidArguments),
        ({"amount": float("nan")}, UnsafePayload),
        ({"amount": "x" * 70_000}, PayloadTooLarge),
    ):
        with pytest.raises(error):
            await bank.app.replay(job.id, reason="mend", payload=payload)
        with pytest.raises(error):
            await dead_letters.edit(bank.store, job.id, payload, bank.app.settings.payload_limit, ANN)
    assert await job.state() is State.DEAD
    await dead_letters.edit(bank.store, job.id, {"amount": 5}, 1000, ANN)
    edited = await job.read()
    assert (edited.state, edited.payload, edited.version) == (State.DEAD, '{"amount":5}', 2)
    await bank.app.replay(job.id, reason="mend")
    assert await job.wait(20) == 5
    assert [action for _, action, _ in await entries(bank.store)] == ["edit", "replay"]


async def test_edit_and_replay_at_once(bank: Bank) -> None:
    job = await bank.strict.enqueue(amount=-5)
    await bank.ended(job.id)
    await bank.app.replay(job.id, reason="typo", payload={"amount": 7})
    assert await job.wait(20) == 7
    ((_, action, details),) = await entries(bank.store)
    assert action == "replay"
    assert details["payload_before"] != details["payload_after"]
    assert "7" not in json.dumps({name: details[name] for name in ("reason", "count")})


async def test_what_is_not_dead_cannot_be_replayed_edited_or_cancelled(bank: Bank) -> None:
    bank.broken = False
    job = await bank.charge.enqueue(order=1)
    await job.wait(20)
    with pytest.raises(IllegalMove, match="is succeeded"):
        await bank.app.replay(job.id, reason="why not")
    with pytest.raises(JobNotFound):
        await bank.app.replay(UNKNOWN, reason="why not")
    with pytest.raises(JobNotFound):
        await bank.app.replay("no id", reason="why not")
    with pytest.raises(IllegalMove):
        await dead_letters.edit(bank.store, job.id, {"order": 2}, 1000, ANN)
    for act in (dead_letters.replay_ids, dead_letters.cancel_ids):
        outcome = await act(bank.store, [job.id, UNKNOWN], ANN)
        assert outcome.done == ()
        assert {job_id: type(error) for job_id, error in outcome.refused.items()} == {
            job.id: IllegalMove,
            UNKNOWN: JobNotFound,
        }
    assert await entries(bank.store) == []


async def test_many_are_replayed_by_filter_each_once(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "BATCH", 4)
    ids = await bank.dead(10)
    bank.seen.clear()
    steps: list[int] = []
    outcome = await dead_letters.replay_many(bank.store, JobFilter(type="charge"), ANN, progress=steps.append)
    assert (set(outcome.done), outcome.refused, steps) == (set(ids), {}, [4, 4, 2])
    for job_id in ids:
        await bank.ended(job_id)
    assert sorted(bank.seen) == list(range(10))  # they died again, and were not brought back a second time
    written = await entries(bank.store)
    assert [details["count"] for _, _, details in written] == [4, 4, 2]
    assert written[0][2]["filter"] == {"type": "charge"}


async def test_a_limit_takes_the_newest(bank: Bank) -> None:
    ids = await bank.dead(5)
    bank.broken = False
    outcome = await dead_letters.replay_many(bank.store, JobFilter(), ANN, most=2)
    assert set(outcome.done) == set(ids[3:])


async def test_cancel_and_purge(bank: Bank) -> None:
    ids = await bank.dead(4)
    assert (await dead_letters.cancel_ids(bank.store, ids[:1], ANN)).done == (ids[0],)
    assert set((await dead_letters.cancel_many(bank.store, JobFilter(), ANN, most=1)).done) == {ids[3]}
    assert [(await bank.app.read(job_id)).state for job_id in (ids[0], ids[3])] == [State.CANCELLED] * 2
    assert await dead_letters.purge(bank.store, JobFilter(), 3600.0, ANN) == 0
    assert await dead_letters.purge(bank.store, JobFilter(), 0.0, ANN) == 2
    with pytest.raises(JobNotFound):
        await bank.app.read(ids[1])
    actions = [(action, details["count"]) for _, action, details in await entries(bank.store)]
    assert actions == [("cancel", 1), ("cancel", 1), ("purge", 2)]


async def test_jobs_that_are_named_are_purged(bank: Bank) -> None:
    ids = await bank.dead(3)
    await dead_letters.cancel_ids(bank.store, ids[2:], ANN)
    found = await dead_letters.find_dead(bank.store, [*ids, UNKNOWN, "x"])
    assert (set(found.done), set(found.refused)) == (set(ids[:2]), {ids[2], UNKNOWN, "x"})
    assert len((await dead_letters.list_dead(bank.store, JobFilter(), 10)).jobs) == 2, "looking removes nothing"
    purged = await dead_letters.purge_ids(bank.store, [*ids, UNKNOWN, "x"], ANN)
    assert set(purged.done) == set(ids[:2])
    assert {type(error) for error in purged.refused.values()} == {IllegalMove, JobNotFound}
    for job_id in ids[:2]:
        with pytest.raises(JobNotFound):
            await bank.app.read(job_id)
    actions = [(action, details.get("jobs")) for _, action, details in await entries(bank.store)]
    assert actions[-1] == ("purge", sorted(ids[:2]))


async def test_an_app_purges_a_dead_job(bank: Bank) -> None:
    (job_id,) = await bank.dead(1)
    await bank.app.purge(job_id, reason="it holds a name", actor="ann@desk")
    with pytest.raises(JobNotFound):
        await bank.app.purge(job_id, reason="it holds a name")
    assert [(actor, action) for actor, action, _ in await entries(bank.store)] == [("ann@desk", "purge")]


async def test_what_a_purge_would_remove_is_counted(bank: Bank) -> None:
    await bank.dead(2)
    assert await dead_letters.count_old(bank.store, JobFilter(), 0.0) == 2
    assert await dead_letters.count_old(bank.store, JobFilter(), 3600.0) == 0
    assert await dead_letters.count_old(bank.store, JobFilter(finished_before=1.0), 0.0) == 0


async def test_a_staged_replay_goes_on_to_the_end_when_the_cause_is_mended(bank: Bank) -> None:
    ids = await bank.dead(30)
    bank.broken = False
    seen: list[Stage] = []
    report = await replay_in_stages(bank.store, JobFilter(type="charge"), ANN, Pace(patience=20), on_stage=seen.append)
    assert (report.stopped, report.refused, report.revived) == (None, {}, 30)
    assert [(stage.number, stage.revived, stage.succeeded) for stage in report.stages] == [
        (1, 1, 1), (2, 10, 10), (3, 19, 19),
    ]  # fmt: skip
    assert seen == report.stages
    assert {(await bank.app.read(job_id)).state for job_id in ids} == {State.SUCCEEDED}
    assert [details["stage"] for _, _, details in await entries(bank.store)] == [1, 2, 3]


async def test_a_staged_replay_stops_by_itself_when_jobs_fail_again(bank: Bank) -> None:
    await bank.dead(30)
    bank.seen.clear()
    report = await replay_in_stages(bank.store, JobFilter(), ANN, Pace(patience=20))
    assert report.stopped == "1 of 1 jobs of stage 1 failed again"
    assert (report.revived, len(bank.seen), report.stages[0].failed_again) == (1, 1, 1)


async def test_a_staged_replay_that_begins_well_and_then_fails_stops_too(bank: Bank) -> None:
    await bank.dead(30)
    bank.seen.clear()
    bank.broken = False

    def break_again(stage: Stage) -> None:
        bank.broken = stage.number == 1

    report = await replay_in_stages(bank.store, JobFilter(), ANN, Pace(patience=20), on_stage=break_again)
    assert report.stopped == "10 of 10 jobs of stage 2 failed again"
    assert len(bank.seen) == 11


async def test_a_staged_replay_without_a_worker_gives_up_by_its_own_clock(store_url: str) -> None:
    bank = Bank(store_url)
    async with bank.app:
        async with bank.app.worker():
            await bank.dead(3)
        now = 0.0

        async def wait(seconds: float) -> None:
            nonlocal now
            now += seconds

        pace = Pace(patience=60, wait=wait, clock=lambda: now)
        report = await replay_in_stages(await bank.app.store(), JobFilter(), ANN, pace)
        assert report.stopped is not None
        assert "is a worker running" in report.stopped
        assert (report.revived, report.stages[0].unfinished) == (1, 1)
        assert 60 <= now < 61


async def test_a_stage_that_was_refused_whole_proves_nothing(bank: Bank) -> None:
    await bank.dead(5)
    bank.broken = True
    keyed = await bank.charge.options(idempotency_key="k").enqueue(order=99)
    await bank.ended(keyed.id)
    bank.broken = False
    taken = await bank.charge.options(idempotency_key="k", run_in="1h").enqueue(order=99)
    assert not taken.duplicate
    report = await replay_in_stages(bank.store, JobFilter(), ANN, Pace(patience=20))
    assert list(report.refused) == [keyed.id]
    assert [(stage.number, stage.revived, stage.refused) for stage in report.stages] == [
        (1, 0, 1),
        (1, 1, 0),
        (2, 4, 0),
    ]


async def test_the_whole_story(bank: Bank) -> None:
    """Jobs die, one is mended by hand, a careful replay stops, the cause is mended, and the next one succeeds."""
    ids = await bank.dead(25)
    (group,) = await bank.app.dead_groups()
    wanted = JobFilter(fingerprint=group.fingerprint)
    await dead_letters.edit(bank.store, ids[0], {"order": 1000}, 1000, ANN)
    stopped = await replay_in_stages(bank.store, wanted, ANN, Pace(patience=20))
    assert (stopped.revived, stopped.stages[0].failed_again, bool(stopped.stopped)) == (1, 1, True)
    assert (await bank.app.dead_groups())[0].count == 25
    bank.broken = False
    completed = await replay_in_stages(bank.store, wanted, ANN, Pace(patience=20))
    assert (completed.stopped, completed.revived) == (None, 25)
    assert await bank.app.dead_groups() == []
    records = {record.id: record for record in await bank.store.reader.read_many(ids)}
    assert {record.state for record in records.values()} == {State.SUCCEEDED}
    assert records[ids[0]].result == "1000"
    assert sorted({record.replays for record in records.values()}) == [1, 2]
    assert (await verify_chain(bank.store)).sound


def test_an_operator_has_a_name() -> None:
    for actor in ("", "  ", "a\x00", "\ud800", "a" * 300):
        with pytest.raises(ConfigError):
            Operator(actor)
    with pytest.raises(ConfigError):
        Operator("ann", "x" * 5000)
