"""The life of a job, from its record, its failed runs and the audit alone."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fairlead.core.insight.audit import AuditEntry
from fairlead.core.insight.timeline import Moment, timeline
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import AttemptRecord, JobRecord
from fairlead.core.jobs.model import Ending, ErrorInfo, Priority
from fairlead.core.jobs.states import State

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ERROR = ErrorInfo("ValueError", "no luck", failure=FailureClass.APPLICATION)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def job(state: State, **fields: Any) -> JobRecord:
    plain = JobRecord(
        "id", "mail", "acme", "short", Priority.DEFAULT, 1, state, "{}", 0, 0, 0, START, START, None, None, None, None,
        None, None, None, None, None,
    )  # fmt: skip
    return replace(plain, **fields)


def ran(
    fence: int, ending: Ending, start: float, end: float, due: float = 0.0, ready: float | None = None
) -> AttemptRecord:
    failed = ending in (Ending.FAILED, Ending.TIMED_OUT)
    ready_at = at(due if ready is None else ready)
    error = ERROR if failed else None
    return AttemptRecord(fence, fence, f"worker-{fence}", at(start), at(end), ending, error, at(due), ready_at)


def deed(number: int, when: float, action: str, **details: Any) -> AuditEntry:
    text = json.dumps({"reason": "because", **details})
    return AuditEntry(number, at(when).timestamp(), "ann", action, "jobs", text, "", "")


def told(moments: list[Moment]) -> list[tuple[float, str, State | None]]:
    return [((moment.at - START).total_seconds(), moment.what, moment.state) for moment in moments]


def test_a_job_that_waits_for_a_worker() -> None:
    assert told(timeline(job(State.READY), [], [])) == [(0, "enqueued", State.READY)]


def test_a_job_that_waits_for_its_time() -> None:
    (moment,) = timeline(job(State.SCHEDULED, run_at=at(60)), [], [])
    assert (moment.what, moment.state, moment.note) == ("enqueued", State.SCHEDULED, "due 2026-03-01 12:01:00 UTC")


def test_a_job_that_waits_for_others() -> None:
    assert told(timeline(job(State.BLOCKED), [], [])) == [(0, "enqueued", State.BLOCKED)]


def test_a_scheduled_job_that_became_ready() -> None:
    assert told(timeline(job(State.READY, run_at=at(60)), [], [])) == [
        (0, "enqueued", State.SCHEDULED),
        (60, "ready", State.READY),
    ]


def test_a_job_that_runs() -> None:
    running = job(State.RUNNING, attempt=1, fence=1, started_at=at(2), worker="w")
    moments = timeline(running, [], [])
    assert told(moments) == [(0, "enqueued", State.READY), (2, "claimed", State.RUNNING)]
    assert (moments[1].worker, moments[1].attempt) == ("w", 1)


def test_a_scheduled_job_that_succeeded() -> None:
    done = job(State.SUCCEEDED, run_at=at(60), attempt=1, fence=1, started_at=at(61), finished_at=at(64), worker="w")
    moments = timeline(done, [], [])
    assert told(moments) == [
        (0, "enqueued", State.SCHEDULED),
        (60, "ready", State.READY),
        (61, "claimed", State.RUNNING),
        (64, "succeeded", State.SUCCEEDED),
    ]
    assert moments[-1].took == 3.0


def test_every_kind_of_return() -> None:
    attempts = [
        ran(1, Ending.FAILED, 1, 2),
        ran(2, Ending.TIMED_OUT, 12, 15, due=11, ready=11.5),
        ran(3, Ending.SNOOZED, 20, 21, due=19, ready=19.5),
        ran(4, Ending.RELEASED, 50, 51, due=49, ready=49.5),
        ran(5, Ending.LOST, 52, 60, due=49, ready=51),
    ]
    done = job(State.SUCCEEDED, run_at=at(49), fence=6, attempt=4, started_at=at(61), finished_at=at(62), worker="w")
    moments = timeline(done, attempts[::-1], [])
    assert told(moments) == [
        (0, "enqueued", State.READY),
        (1, "claimed", State.RUNNING),
        (2, "failed", State.RETRYING),
        (11.5, "ready", State.READY),
        (12, "claimed", State.RUNNING),
        (15, "timed out", State.RETRYING),
        (19.5, "ready", State.READY),
        (20, "claimed", State.RUNNING),
        (21, "snoozed", State.SCHEDULED),
        (49.5, "ready", State.READY),
        (50, "claimed", State.RUNNING),
        (51, "released", State.READY),
        (52, "claimed", State.RUNNING),
        (60, "lost", State.READY),
        (61, "claimed", State.RUNNING),
        (62, "succeeded", State.SUCCEEDED),
    ]
    assert moments[2].note == "due 2026-03-01 12:00:11 UTC"
    assert moments[2].error == ERROR


def test_a_retry_that_has_become_ready_and_one_that_has_not() -> None:
    failed = [ran(1, Ending.FAILED, 1, 2)]
    waits = job(State.RETRYING, fence=1, attempt=1, started_at=at(1), run_at=at(10))
    assert told(timeline(waits, failed, []))[-1] == (2, "failed", State.RETRYING)
    ready = replace(waits, state=State.READY)
    assert told(timeline(ready, failed, []))[-1] == (10, "ready", State.READY)


def test_a_dead_job_that_was_edited_and_replayed() -> None:
    attempts = [ran(1, Ending.FAILED, 1, 2), ran(2, Ending.FAILED, 31, 32, due=30)]
    done = job(State.SUCCEEDED, fence=3, attempt=1, started_at=at(61), finished_at=at(62), replays=1, worker="w")
    audit = [deed(2, 60, "replay"), deed(1, 50, "edit")]
    moments = timeline(done, attempts, audit)
    assert told(moments)[-6:] == [
        (31, "claimed", State.RUNNING),
        (32, "failed", State.DEAD),
        (50, "edited", None),
        (60, "replayed", State.READY),
        (61, "claimed", State.RUNNING),
        (62, "succeeded", State.SUCCEEDED),
    ]
    assert (moments[-3].by, moments[-3].note) == ("ann", "because")


def test_a_replayed_job_that_has_not_started_again() -> None:
    revived = job(State.READY, fence=1, started_at=None, replays=1)
    moments = timeline(revived, [ran(1, Ending.FAILED, 1, 2)], [deed(1, 50, "replay")])
    assert told(moments)[-2:] == [(2, "failed", State.DEAD), (50, "replayed", State.READY)]


def test_a_dead_job_and_one_that_an_operator_closed() -> None:
    attempts = [ran(1, Ending.FAILED, 1, 2)]
    dead = job(State.DEAD, fence=1, attempt=1, started_at=at(1), finished_at=at(2))
    assert told(timeline(dead, attempts, []))[-1] == (2, "failed", State.DEAD)
    closed = replace(dead, state=State.CANCELLED)
    moments = timeline(closed, attempts, [deed(1, 90, "cancel")])
    assert told(moments)[-2:] == [(2, "failed", State.DEAD), (90, "cancelled", State.CANCELLED)]


def test_a_job_that_was_cancelled_while_it_waited() -> None:
    error = ErrorInfo("Cancelled", "cancelled by ann: because", failure=None)
    cancelled = job(State.CANCELLED, run_at=at(600), finished_at=at(30), error=error)
    moments = timeline(cancelled, [], [deed(1, 30, "cancel", asked=[])])
    assert told(moments) == [(0, "enqueued", State.SCHEDULED), (30, "cancelled", State.CANCELLED)]
    assert moments[-1].error == error


def test_a_job_that_was_cancelled_while_it_ran() -> None:
    cancelled = job(State.CANCELLED, fence=1, attempt=1, started_at=at(1), finished_at=at(9))
    moments = timeline(cancelled, [ran(1, Ending.CANCELLED, 1, 9)], [deed(1, 5, "cancel", asked=["id"])])
    assert told(moments) == [
        (0, "enqueued", State.READY),
        (1, "claimed", State.RUNNING),
        (5, "cancel requested", None),
        (9, "cancelled", State.CANCELLED),
    ]


def test_a_run_that_was_lost_while_it_was_to_be_cancelled() -> None:
    cancelled = job(State.CANCELLED, fence=1, attempt=1, started_at=at(1), finished_at=at(40))
    moments = timeline(cancelled, [ran(1, Ending.LOST, 1, 40)], [deed(1, 5, "cancel", asked=["id"])])
    assert told(moments)[-2:] == [(5, "cancel requested", None), (40, "lost", State.CANCELLED)]


def test_a_job_that_succeeded_although_it_was_to_be_cancelled() -> None:
    done = job(State.SUCCEEDED, fence=1, attempt=1, started_at=at(1), finished_at=at(9), worker="w")
    moments = timeline(done, [], [deed(1, 5, "cancel", asked=["id"])])
    assert told(moments)[-2:] == [(5, "cancel requested", None), (9, "succeeded", State.SUCCEEDED)]


def test_a_retry_that_was_cancelled_while_it_waited() -> None:
    attempts = [ran(1, Ending.FAILED, 1, 2)]
    cancelled = job(State.CANCELLED, fence=1, attempt=1, started_at=at(1), run_at=at(60), finished_at=at(30))
    moments = timeline(cancelled, attempts, [deed(1, 30, "cancel", asked=[])])
    assert told(moments)[-2:] == [(2, "failed", State.RETRYING), (30, "cancelled", State.CANCELLED)]


def test_a_scheduled_job_that_was_cancelled_when_it_was_ready() -> None:
    cancelled = job(State.CANCELLED, run_at=at(10), finished_at=at(30))
    assert told(timeline(cancelled, [], [deed(1, 30, "cancel", asked=[])])) == [
        (0, "enqueued", State.SCHEDULED),
        (10, "ready", State.READY),
        (30, "cancelled", State.CANCELLED),
    ]


def test_a_job_that_expired() -> None:
    expired = job(State.EXPIRED, fence=1, attempt=1, started_at=at(50), finished_at=at(50))
    moments = timeline(expired, [ran(1, Ending.EXPIRED, 50, 50)], [])
    assert told(moments)[-1] == (50, "expired", State.EXPIRED)


def test_attempts_from_before_the_columns_were_there_and_strange_entries() -> None:
    old = replace(ran(1, Ending.FAILED, 1, 2), due_at=None, ready_at=None)
    done = job(State.SUCCEEDED, fence=2, run_at=at(5), started_at=at(6), finished_at=at(7), worker="w")
    strange = [replace(deed(1, 3, "prioritise"), details="not json"), replace(deed(2, 4, "edit"), details="[]")]
    assert told(timeline(done, [old], strange)) == [
        (0, "enqueued", State.READY),
        (1, "claimed", State.RUNNING),
        (2, "failed", State.RETRYING),
        (3, "prioritise", None),
        (4, "edited", None),
        (5, "ready", State.READY),
        (6, "claimed", State.RUNNING),
        (7, "succeeded", State.SUCCEEDED),
    ]
