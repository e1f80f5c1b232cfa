"""The verdict on the system: which sentence for which situation."""

from fairlead.core.insight.diagnosis import (
    GUARDS,
    MOST_ALIKE,
    MOST_TOPICS,
    PAUSES,
    WORKERS,
    ClosedGate,
    Level,
    PoolSnapshot,
    Sample,
    SystemSnapshot,
    Topic,
    diagnose,
)


def pool(
    ready: int = 0, oldest: float | None = None, workers: int = 1, slots: int = 10, running: int = 0
) -> PoolSnapshot:
    """A pool."""
    return PoolSnapshot("short", ready, oldest, workers, slots, running, running)


def test_nothing_found_is_well() -> None:
    found = diagnose(SystemSnapshot([pool(ready=3, oldest=0.5, running=4)], {"succeeded": 100, "retrying": 2}, []))
    assert (found.level, found.hints) == (Level.OK, ())
    assert found.sentence == "All is well: 4 jobs run and 3 wait, none for long."


def test_a_pool_without_workers_is_a_problem() -> None:
    found = diagnose(SystemSnapshot([pool(ready=7, oldest=1.0, workers=0, slots=0)], {}, []))
    assert found.level is Level.PROBLEM
    assert found.sentence == "No worker serves the pool short, where 7 jobs wait."


def test_a_long_wait_with_all_slots_busy_is_a_lack_of_workers() -> None:
    found = diagnose(SystemSnapshot([pool(ready=5_000, oldest=125.0, running=10)], {}, []))
    assert found.level is Level.PROBLEM
    assert found.sentence.startswith("Too few workers: 5,000 jobs wait in the pool short")


def test_a_long_wait_with_free_slots_is_a_backlog_with_another_cause() -> None:
    found = diagnose(SystemSnapshot([pool(ready=5, oldest=125.0, running=1)], {}, []))
    assert (found.level, found.sentence.split(":")[0]) == (Level.WARNING, "A backlog")


def test_a_backlog_behind_something_closed_needs_no_other_explanation() -> None:
    look = SystemSnapshot([pool(ready=5, oldest=125.0, running=1)], {}, [ClosedGate("type mail is paused", PAUSES)])
    assert diagnose(look).hints[1].endswith("though slots are free. What is said above may be why.")


def test_many_failures_are_a_problem_and_few_runs_are_not() -> None:
    assert diagnose(SystemSnapshot([], {"succeeded": 10, "retrying": 8, "dead": 2}, [])).level is Level.PROBLEM
    assert diagnose(SystemSnapshot([], {"succeeded": 3, "retrying": 6}, [])).level is Level.OK


def test_the_worst_comes_first_and_the_rest_follows() -> None:
    found = diagnose(
        SystemSnapshot([pool(ready=7, oldest=1.0, workers=0)], {}, [ClosedGate("type mail is paused", PAUSES)])
    )
    assert found.sentence.startswith("No worker serves")
    assert found.hints[1] == "Type mail is paused. Its jobs wait until that ends."
    assert found.topics == (WORKERS, Topic("pool", "short"), PAUSES)


def test_where_to_look_is_said_once_and_for_few_places() -> None:
    closed = [ClosedGate(f"type {name} is in quarantine", GUARDS) for name in "abc"]
    pools = [pool(ready=7, oldest=100.0), *(PoolSnapshot(f"p{n}", 1, 100.0, 1, 10, 1) for n in range(20))]
    topics = diagnose(SystemSnapshot(pools, {}, closed)).topics
    assert topics[0] == GUARDS
    assert len(set(topics)) == len(topics) == MOST_TOPICS


def test_alerts_have_codes_and_the_worst_is_first() -> None:
    look = SystemSnapshot(
        [pool(ready=7, oldest=1.0, workers=0), pool(ready=5, oldest=125.0, running=1)],
        {"dead": 9, "succeeded": 1},
        [ClosedGate("type mail is paused", PAUSES, "PAUSED")],
    )
    found = diagnose(look)
    assert [alert.code for alert in found.alerts] == ["NO_WORKER", "MOST_JOBS_FAIL", "PAUSED", "BACKLOG"]
    assert found.sentence == found.alerts[0].sentence
    assert diagnose(SystemSnapshot([], {}, [])).alerts == ()


def test_due_jobs_that_do_not_become_ready_are_told_with_who_is_to_blame() -> None:
    behind = diagnose(SystemSnapshot([], {}, [], overdue=12.0))
    assert (behind.level, [alert.code for alert in behind.alerts]) == (Level.WARNING, ["PROMOTER_BEHIND"])
    assert behind.sentence == "The promoter is behind: a due job has waited 12s to become ready."
    alone = diagnose(SystemSnapshot([], {}, [], overdue=12.0, is_led=False))
    assert (alone.level, [alert.code for alert in alone.alerts]) == (Level.PROBLEM, ["NO_LEADER"])
    assert diagnose(SystemSnapshot([], {}, [], overdue=4.0, is_led=False)).level is Level.OK


def test_lost_workers_are_named_and_not_too_many() -> None:
    assert diagnose(SystemSnapshot([], {}, [], lost=["a 1"])).sentence == "1 worker was lost within 10m: a 1."
    many = diagnose(SystemSnapshot([], {}, [], lost=[f"host {number}" for number in range(5)]))
    assert many.sentence == "5 workers were lost within 10m: host 0, host 1, host 2, …."
    assert [alert.code for alert in many.alerts] == ["WORKER_LOST"]


def test_a_pool_that_is_slow_or_deep_for_minutes_is_told() -> None:
    past = [Sample(number * 5.0, {"short": 900}, {"short": 2.0}, 0) for number in range(100)]
    aims = PoolSnapshot("short", 900, 2.0, 1, 10, 3, 3, wait=0.5, depth=800)
    found = diagnose(SystemSnapshot([aims], {}, [], past))
    assert [(alert.code, alert.about) for alert in found.alerts] == [("SLOW_POOL", "short"), ("DEEP_POOL", "short")]
    assert found.sentence == "Jobs of the pool short have waited longer than 500ms, as is the aim, for 2m."


def test_a_pool_that_may_be_slow_is_not_told_before() -> None:
    patient = PoolSnapshot("night", 5, 3_000.0, 1, 10, 1, 1, wait=3_600.0)
    assert diagnose(SystemSnapshot([patient], {}, [])).level is Level.OK


def test_growing_dead_letters_are_told() -> None:
    found = diagnose(SystemSnapshot([], {}, [], [Sample(5.0, {}, {}, 12)]))
    assert [alert.code for alert in found.alerts] == ["DEAD_LETTERS_GROW"]
    assert found.sentence == "Dead letters grow: 12 jobs died within 5m."


def test_alerts_of_one_kind_are_told_together_when_they_are_many() -> None:
    """A submission may name any pool, and must not make an alert for each."""
    pools = [PoolSnapshot(f"p{number:04}", 1, 1.0, 0, 0, 0) for number in range(2_000)]
    found = diagnose(SystemSnapshot(pools, {}, [ClosedGate("type mail is paused", PAUSES, "PAUSED", "type:mail")]))
    assert [(alert.code, alert.about) for alert in found.alerts] == [
        *(("NO_WORKER", f"p{number:04}") for number in range(MOST_ALIKE)), ("NO_WORKER", ""), ("PAUSED", "type:mail"),
    ]  # fmt: skip
    assert found.alerts[MOST_ALIKE].sentence == "And 1,995 more like it (NO_WORKER): p0005, p0006, p0007, …"
    assert len(found.topics) <= MOST_TOPICS
