"""Why a job is where it is."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.core.controls import Control, Controls
from fairlead.core.explain import MOST_AHEAD, Facts, Reason, expected_start, explain
from fairlead.core.model import ErrorInfo, JobRecord, Lane, Priority, WorkerInfo, WorkerRecord
from fairlead.core.states import FINAL, State

NOW = 1_900_000_000.0
LANE = Lane("short", "acme", "mail", Priority.HIGH, 2)


def at(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, UTC)


def job(state: State = State.READY, run_at: float = NOW, **more: Any) -> JobRecord:
    made = JobRecord(
        id="id", type="mail", tenant="acme", pool="short", priority=Priority.HIGH, version=2, state=state, payload="{}",
        attempt=1, crashes=0, fence=3, created_at=at(NOW - 60), run_at=at(run_at), not_after=None, started_at=None,
        finished_at=None, worker=None, result=None, error=None, key=None, options=None, parent=None,
    )  # fmt: skip
    return replace(made, **more)


def worker(
    pools: tuple[str, ...] = ("short",),
    types: tuple[str, ...] = ("mail",),
    left: float = 10,
    state: str = "active",
    running: int = 0,
) -> WorkerRecord:
    info = WorkerInfo("w", "host", 1, pools, types, 4, "1")
    return WorkerRecord(info, at(NOW), left, state, {"running": running})


def paused(scope: str, name: str) -> Controls:
    controls = Controls()
    controls.follow([Control("pause", f"{scope}:{name}", {"reason": "unpaid"}, 1, NOW)])
    return controls


def codes(facts: Facts) -> list[str]:
    return [reason.code for reason in explain(facts).reasons]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Facts(job(), NOW), ["NO_WORKER", "NEXT_IN_LANE"]),
        (Facts(job(), NOW, [worker(left=-1)]), ["NO_WORKER", "NEXT_IN_LANE"]),
        (Facts(job(), NOW, [worker(pools=("long",))]), ["NO_WORKER_FOR_POOL", "NEXT_IN_LANE"]),
        (Facts(job(), NOW, [worker(types=("x",))]), ["NO_WORKER_FOR_TYPE", "NEXT_IN_LANE"]),
        (
            Facts(job(), NOW, [worker(types=("x",)), worker(pools=("long",))]),
            ["NO_WORKER_FOR_TYPE", "NEXT_IN_LANE"],
        ),
        (Facts(job(), NOW, [worker()], newest_version=1), ["NO_WORKER_FOR_VERSION", "NEXT_IN_LANE"]),
        (Facts(job(), NOW, [worker(state="draining")]), ["WORKERS_DRAIN", "NEXT_IN_LANE"]),
        (Facts(job(), NOW, [worker()], newest_version=2), ["NEXT_IN_LANE"]),
        (Facts(job(), NOW, [worker()], ahead=7), ["BEHIND_OTHERS"]),
        (Facts(job(), NOW, [worker(running=4)], ahead=7), ["BEHIND_OTHERS", "SLOTS_BUSY"]),
        (Facts(job(), NOW, [worker()], controls=paused("tenant", "acme")), ["CLOSED", "NEXT_IN_LANE"]),
        (Facts(job(), NOW, [worker()], controls=paused("tenant", "rival")), ["NEXT_IN_LANE"]),
        (Facts(job(State.SCHEDULED, NOW + 60), NOW, [worker()]), ["SCHEDULED"]),
        (Facts(job(State.SCHEDULED, NOW - 1), NOW, [worker()]), ["DUE"]),
        (Facts(job(State.RETRYING, NOW + 5), NOW, [worker()]), ["RETRYING"]),
        (Facts(job(State.BLOCKED), NOW, [worker()]), ["BLOCKED"]),
        (Facts(job(State.RUNNING, started_at=at(NOW - 5), worker="w"), NOW), ["RUNNING"]),
    ],
)
def test_the_reasons(facts: Facts, expected: list[str]) -> None:
    assert codes(facts) == expected


@pytest.mark.parametrize("state", sorted(FINAL))
def test_what_has_ended_waits_for_nothing(state: State) -> None:
    explanation = explain(Facts(job(state, error=ErrorInfo("ValueError", "no")), NOW, controls=paused("type", "mail")))
    assert [reason.code for reason in explanation.reasons] == ["ENDED"]
    assert ("ValueError" in explanation.summary) == (state is not State.SUCCEEDED)
    assert explanation.expected_start is None


def test_the_words_say_it() -> None:
    assert "in 1m" in explain(Facts(job(State.SCHEDULED, NOW + 60), NOW, [worker()])).summary
    failed = job(State.RETRYING, NOW + 5, error=ErrorInfo("ValueError", "no such address"))
    assert "ValueError: no such address" in explain(Facts(failed, NOW, [worker()])).summary
    many = Facts(job(), NOW, [worker()], ahead=MOST_AHEAD, lane_since=NOW - 120)
    assert "more than 10000 jobs" in explain(many).summary
    assert "2m" in explain(many).summary
    assert "unpaid" in explain(Facts(job(), NOW, [worker()], controls=paused("pool", "short"))).summary


def test_more_can_be_explained() -> None:
    explanation = explain(Facts(job(), NOW), [lambda facts: Reason("MOON", "the moon is full", {"phase": 1.0})])
    assert [reason.code for reason in explanation.reasons] == ["MOON"]


def test_when_it_starts() -> None:
    assert expected_start(LANE, NOW, NOW, None, [worker()]) == NOW
    assert expected_start(LANE, NOW, NOW, NOW - 30, [worker()]) == NOW + 30
    assert expected_start(LANE, NOW + 60, NOW, NOW - 30, [worker()]) == NOW + 60
    assert expected_start(LANE, NOW, NOW, None, [worker(types=("x",))]) is None
    assert explain(Facts(job(), NOW, [worker()], lane_since=NOW - 5)).expected_start == NOW + 5
    assert explain(Facts(job(), NOW, [worker()], controls=paused("type", "mail"))).expected_start is None
    assert explain(Facts(job(State.RUNNING), NOW, [worker()])).expected_start is None
