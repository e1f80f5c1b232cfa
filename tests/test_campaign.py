"""The checker of the torture campaign finds what it is for: each mistake planted in a good history is reported."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import fairlead
from tests.conftest import migrate_now
from tests.contract.making import claim, done, new_jobs, new_lease
from tests.torture.campaign import journal
from tests.torture.campaign.checker import Findings, Hit, Recovery, check, recoveries
from tests.torture.campaign.injector import EVERYWHERE, OF_STORE, plan
from tests.torture.campaign.journal import Change, History, Run

READY, RUNNING, DONE = "ready", "running", "succeeded"
GOOD = [Change(READY, 0), Change(RUNNING, 1), Change(READY, 1), Change(RUNNING, 2), Change(DONE, 2)]
AGAIN = [Change(RUNNING, 3), Change(DONE, 3)]


def history(**changed: Any) -> History:
    """A job that lost its worker once and then succeeded, with some of the evidence changed."""
    good = {
        "asked": {"n"},
        "accepted": {"n": "job"},
        "runs": [Run("job", 1, 11, 1.0, None), Run("job", 2, 12, 5.0, 6.0)],
        "changes": {"job": GOOD},
        "endings": {("job", 1): "lost"},
        "numbers": {"job": "n"},
        "results": {"job": 2},
    }
    return History(**(good | changed))


def kinds(findings: Findings) -> list[str]:
    """Which kinds of findings there are, one entry for each."""
    return [name for name in Findings._fields if name != "causes" for _ in getattr(findings, name)]


def test_a_good_history_has_no_findings_and_a_cause_for_its_further_run() -> None:
    findings = check(history())
    assert findings.broken() == []
    assert findings.causes == Counter(lost=1)


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"changes": {}, "numbers": {}, "results": {}, "runs": []}, "lost"),
        ({"changes": {"job": GOOD[:4]}, "numbers": {}, "results": {}}, "lost"),
        ({"changes": {"job": GOOD[:3]}, "numbers": {}, "results": {}, "runs": [Run("job", 1, 11, 1, 2)]}, "lost"),
        ({"accepted": {"n": "job", "m": "job"}}, "lost"),
        ({"changes": {"job": [*GOOD, Change(DONE, 2)]}}, "doubled"),
        ({"changes": {"job": [*GOOD, *AGAIN]}, "runs": [], "results": {"job": 3}}, "doubled"),
        ({"numbers": {"job": "n", "twin": "n"}}, "doubled"),
        ({"numbers": {"job": "n", "other": "never"}}, "unexplained"),
        ({"endings": {}}, "unexplained"),
        ({"runs": [Run("job", 2, 12, 5.0, 6.0), Run("job", 2, 13, 7.0, 8.0)]}, "unexplained"),
        ({"runs": [Run("job", 3, 12, 7.0, 8.0)]}, "unexplained"),
        ({"runs": [Run("ghost", 1, 12, 7.0, 8.0)]}, "unexplained"),
        ({"changes": {"job": [*GOOD[:2], *GOOD[3:]]}}, "overlapping"),
        ({"changes": {"job": [*GOOD[:3], *AGAIN]}, "results": {}, "runs": []}, "overlapping"),
        ({"runs": [Run("job", 1, 11, 1.0, 5.5), Run("job", 2, 12, 5.0, 6.0)]}, "overlapping"),
        ({"runs": [Run("job", 1, 11, 5.5, None), Run("job", 2, 12, 5.0, 6.0)]}, "overlapping"),
        ({"changes": {"job": [*GOOD[:3], Change(DONE, 1)]}, "results": {"job": 1}, "runs": []}, "late"),
        ({"changes": {"job": [*GOOD[:4], Change(DONE, 1)]}, "results": {"job": 1}, "runs": []}, "late"),
        ({"results": {"job": 1}}, "late"),
    ],
    ids=[
        "gone", "running", "waiting", "two-submissions-one-job", "settled-twice", "run-after-its-end", "stored-twice",
        "nobody-asked", "no-cause", "started-twice", "never-claimed", "unknown-job", "claimed-while-running",
        "fence-jumps", "ended-beside", "started-beside", "settled-without-a-claim", "settled-under-an-old-fence",
        "result-of-an-old-run",
    ],
)  # fmt: skip
def test_a_planted_mistake_is_found(changed: dict[str, Any], found: str) -> None:
    assert kinds(check(history(**changed))) == [found]


def test_what_a_frozen_process_ends_late_is_no_finding() -> None:
    beside = [Run("job", 1, 11, 1.0, 5.5), Run("job", 2, 12, 5.0, 6.0)]
    assert kinds(check(history(runs=beside), frozen={12})) == ["overlapping"]
    assert check(history(runs=beside), frozen={11}).broken() == []


def test_recovery_is_counted_from_the_fault_that_hit_the_run_or_from_the_end_of_an_outage() -> None:
    hits = [
        Hit(0.5, 0.5, "kill child", frozenset({11})),  # before the run
        Hit(1.5, 1.5, "kill child", frozenset({12})),  # another process
        Hit(2.0, 2.0, "kill child", frozenset({11})),
    ]
    assert recoveries(history(), hits) == [Recovery("kill child", 3.0)]
    assert recoveries(history(), [*hits, Hit(2.5, 4.0, "restart", None)]) == [Recovery("restart", 1.0)]
    assert recoveries(history(), hits[:2]) == []


@pytest.mark.parametrize("store", list(OF_STORE))
def test_a_plan_has_every_kind_of_fault_and_is_the_same_for_the_same_seed(store: str) -> None:
    faults = plan(store, 1800, "seed")
    assert {fault.kind for fault in faults} == {*EVERYWHERE, *OF_STORE[store]}
    assert faults == plan(store, 1800, "seed") != plan(store, 1800, "another")
    assert all(fault.at + fault.seconds <= 1800 for fault in faults)


def test_the_journals_of_runs_survive_a_kill_between_start_and_end(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for what, job, fence, pid, moment in [
        ("start", "a", 1, 7, 1.5),
        ("start", "b", 1, 7, 2.0),
        ("end", "a", 1, 7, 2.5),
    ]:
        journal.append(path, what, job, fence, pid, moment)
    assert journal.read_runs(path) == [Run("a", 1, 7, 1.5, 2.5), Run("b", 1, 7, 2.0, None)]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def own_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty store of each kind that no other test has, for its triggers stay."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("sqlite_url"))
    url: str = request.getfixturevalue("postgres_server").create_database(f"fairlead_campaign_{uuid4().hex}")
    migrate_now(url)
    return url


async def test_the_store_records_each_change_of_a_job(own_url: str, tmp_path: Path) -> None:
    app = fairlead.App(own_url, poll="50ms")

    @app.handler("step", retry=fairlead.Retry(attempts=2, first="10ms"))
    async def step(ctx: fairlead.Context, number: str) -> int:
        if ctx.attempt == 1:
            raise ValueError("not yet")
        return ctx.fence

    journal.record_changes(own_url)
    async with app, app.worker():
        job = await step.enqueue(number="n")
        assert await job.wait(30) == 2
    journal.append(tmp_path / "submissions", "asked", "n", "-")
    journal.append(tmp_path / "submissions", "accepted", "n", job.id)
    found = journal.read_history(own_url, tmp_path)
    assert [found.changes[job.id][place] for place in (0, 1, -2, -1)] == [
        Change(READY, 0), Change(RUNNING, 1), Change(RUNNING, 2), Change(DONE, 2),
    ]  # fmt: skip
    assert (found.endings, found.numbers, found.results) == ({(job.id, 1): "failed"}, {job.id: "n"}, {job.id: 2})
    assert check(found).broken() == []


async def test_a_repeated_submission_of_a_finished_job_is_no_change(own_url: str, tmp_path: Path) -> None:
    journal.record_changes(own_url)
    async with fairlead.App(own_url) as app:
        store = await app.store()
        (job,) = jobs = [replace(new, payload='{"number": "n"}') for new in new_jobs(1)]
        await store.jobs.enqueue(jobs)
        await store.jobs.settle([done(item) for item in await claim(store, new_lease(), 1)])
        await store.jobs.enqueue(jobs, again=True)
    found = journal.read_history(own_url, tmp_path)
    assert found.changes[job.id] == [Change(READY, 0), Change(RUNNING, 1), Change(DONE, 1)]
