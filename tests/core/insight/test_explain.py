"""Why a job is where it is."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.core.fairness.share import Balance
from fairlead.core.fairness.tenancy import Tenant
from fairlead.core.insight.explain import MOST_AHEAD, Facts, Reason, expected_start, explain
from fairlead.core.insight.wait_reasons import BudgetFacts, LimitFacts, RunningJob, ShareFacts, queue_position
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import ErrorInfo, Lane, Priority
from fairlead.core.jobs.states import FINAL, State
from fairlead.core.jobs.workers import WorkerInfo, WorkerRecord
from fairlead.core.protection.backpressure import deferred_of, put_off
from fairlead.core.protection.breaker import Breaker, Phase, opened
from fairlead.core.protection.controls import Control, Controls
from fairlead.core.protection.limits import Bound
from fairlead.core.protection.token_bucket import RateLimit
from tests.contract.making import new_job

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
    assert "ValueError" in explanation.summary, "a success has an error where its result was dropped"
    assert explanation.expected_start is None


def test_the_words_say_it() -> None:
    assert "in 1m" in explain(Facts(job(State.SCHEDULED, NOW + 60), NOW, [worker()])).summary
    failed = job(State.RETRYING, NOW + 5, error=ErrorInfo("ValueError", "no such address"))
    assert "ValueError: no such address" in explain(Facts(failed, NOW, [worker()])).summary
    many = Facts(job(), NOW, [worker()], ahead=MOST_AHEAD, lane_since=NOW - 120)
    assert "more than 10000 jobs" in explain(many).summary
    assert "2m" in explain(many).summary
    assert "unpaid" in explain(Facts(job(), NOW, [worker()], controls=paused("pool", "short"))).summary


def full_limit() -> LimitFacts:
    holders = (RunningJob("one", NOW - 90, "w"), RunningJob("two", NOW, "w"))
    return LimitFacts("type:mail", Bound(2, None), 2, holders=holders)


def test_a_full_limit_is_told_with_its_holders() -> None:
    told = explain(Facts(job(), NOW, [worker()], limits=(full_limit(),)))
    reason = told.reasons[0]
    assert reason.code == "LIMIT_FULL"
    assert reason.words == "the limit type:mail is full: 2 of 2 run, the longest since 1m30s"
    assert (reason.data["concurrent"], reason.data["running"]) == (2, 2)
    assert reason.data["holders"][0] == {"id": "one", "seconds": 90.0, "worker": "w"}
    assert told.expected_start == NOW
    for other in (job(State.SCHEDULED, NOW + 60), job(State.RUNNING), job(State.SUCCEEDED)):
        assert "LIMIT_FULL" not in codes(Facts(other, NOW, [worker()], limits=(full_limit(),)))


def test_a_limit_with_room_says_nothing() -> None:
    roomy = LimitFacts("type:mail", Bound(3, RateLimit(1.0, 5.0)), 2, tokens=1.0)
    assert codes(Facts(job(), NOW, [worker()], limits=(roomy,))) == ["NEXT_IN_LANE"]


def test_a_rate_tells_when_the_next_may_start_and_moves_the_expected_start() -> None:
    dry = LimitFacts("limit:stripe=7", Bound(None, RateLimit(0.5, 4.0)), 9, tokens=0.25)
    told = explain(Facts(job(), NOW, [worker()], ahead=3, limits=(dry,)))
    reason = told.reasons[0]
    assert (reason.code, reason.data["next_token_in"], reason.data["holders"]) == ("LIMIT_RATE", 1.5, [])
    assert reason.words == "the limit limit:stripe=7 lets 0.5 a second start; the next may in 1.5s"
    assert told.expected_start == NOW + 7.5, "those before it take tokens too"


def test_what_may_not_run_at_all_has_no_expected_start() -> None:
    stopped = LimitFacts("type:mail", Bound(0, None), 0)
    assert explain(Facts(job(), NOW, [worker()], limits=(stopped,))).expected_start is None


def test_the_share_is_told_in_words_and_as_data() -> None:
    share = ShareFacts(Tenant("acme", "pro"), "short", 900.0, 20.0, 15.0, 2, 5)
    (reason,) = [item for item in explain(Facts(job(), NOW, [worker()], share=share)).reasons if item.code == "SHARE"]
    assert "got 15 of the 20 slot-seconds it was due in pool short within 15m" in reason.words
    assert "number 2 of 5 tenants" in reason.words
    assert (reason.data["weight"], reason.data["place"], reason.data["delivered"]) == (100.0, 2, 15.0)
    unseen = replace(share, place=None, waiting=None)
    assert "number" not in unseen.words()
    assert "nothing yet" in replace(share, entitled=0.0, delivered=0.0).words()


def test_whose_turn_comes_first() -> None:
    acme, rival, new = (Tenant(name) for name in ("acme", "rival", "new"))
    small, tiny = Tenant("small", "free"), Tenant("tiny", "free")
    everyone = [acme, rival, small, tiny, new]
    figures = {
        "@": (0, 5), "acme": (9, 0), "rival": (7, 0), "@free": (8, 1), "@free small": (3, 0), "@free tiny": (2, 0),
    }  # fmt: skip
    balances = {account: Balance("short", account, virtual, floor) for account, (virtual, floor) in figures.items()}
    assert [queue_position(tenant, everyone, balances) for tenant in (new, rival, tiny, small, acme)] == [1, 2, 3, 4, 5]
    assert queue_position(acme, [acme], {}) == 1


def test_a_job_that_an_overload_put_off_says_so() -> None:
    later = new_job()
    put_off(later, 60.0, NOW)
    told = explain(Facts(job(State.SCHEDULED, NOW + 50, options=later.options), NOW, [worker()])).reasons
    assert [(item.code, item.data.get("seconds")) for item in told] == [("SCHEDULED", 50.0), ("DEFERRED", 60.0)]
    assert "DEFERRED" not in codes(Facts(job(State.READY, NOW, options=later.options), NOW, [worker()]))
    assert deferred_of('{"timeout":5.0}') is None


@pytest.mark.parametrize(("beyond", "become"), [("delay", "delayed"), ("dead", "dead letters")])
def test_a_retry_budget_that_is_used_up_is_told(beyond: str, become: str) -> None:
    budget = BudgetFacts("acme", 12, 10.0, 60.0, beyond)
    told = explain(Facts(job(State.RETRYING, NOW + 5), NOW, [worker()], budget=budget)).reasons[1]
    assert (told.code, told.data["retries"], told.data["allowed"]) == ("RETRY_BUDGET_USED_UP", 12, 10.0)
    assert become in told.words
    fine = replace(budget, retries=9)
    assert codes(Facts(job(State.RETRYING, NOW + 5), NOW, [worker()], budget=fine)) == ["RETRYING"]


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


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        ("half_open", "lets only a few jobs start"),
        ("ramping", "lets more and more jobs start"),
        ("open", "next try in 5s"),
    ],
)
def test_a_breaker_that_is_not_closed_is_named(phase: str, said: str) -> None:
    breaker = replace(opened(Breaker(cooldown="5s"), "half of it failed", NOW), phase=Phase(phase))
    controls = Controls()
    controls.follow([Control("breaker", "dependency:bank", breaker.value(), 1, NOW)])
    facts = Facts(job(), NOW, [worker()], controls=controls, breakers=("dependency:bank",))
    found = explain(facts).reasons[0]
    assert (found.code, said in found.words) == ("CLOSED" if phase == "open" else "BREAKER", True)


def test_small_and_large_shares_can_be_read() -> None:
    share = ShareFacts(Tenant("acme"), "short", 900.0, 0.0000989, 12_345.678)
    assert "got 12,346 of the 0 slot-seconds it was due" in share.words()


def test_workers_that_are_reserved_for_others_do_not_count() -> None:
    reserved = replace(worker(), report={"running": 0, "reserve": ["globex"]})
    found = explain(Facts(job(), NOW, [reserved]))
    assert [reason.code for reason in found.reasons] == ["NO_WORKER_FOR_TENANT", "NEXT_IN_LANE"]
    assert found.expected_start is None
    own = replace(worker(), report={"running": 0, "reserve": ["globex", "acme"]})
    assert explain(Facts(job(), NOW, [reserved, own])).expected_start is not None
