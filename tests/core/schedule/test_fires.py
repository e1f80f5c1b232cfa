"""What schedules do when they are due, as pure decisions."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.schedule import fires as recur
from fairlead.core.schedule.fires import (
    LOOK_AGAIN,
    MOST_COUNTED,
    MOST_FIRES,
    ON_TIME,
    DueFires,
    changed,
    due_fires,
    latest,
    plan,
    reconcile,
    with_due,
)
from fairlead.core.schedule.schedules import (
    CatchUp,
    DueSchedule,
    FireOutcome,
    FirePlan,
    Overlap,
    Schedule,
    ScheduleSpec,
    ScheduleState,
)
from fairlead.core.schedule.timing import timetable

LANE = Lane("short", "acme", "report", Priority.DEFAULT, 1)
START = 1_800_000_000.0


def spec(name: str = "tick", expression: str = "every 10s", **fields: Any) -> ScheduleSpec:
    return ScheduleSpec(name, expression, "UTC", LANE, "{}", **fields)


def schedule(wanted: ScheduleSpec | None = None, owner: str | None = None) -> Schedule:
    return recur.created(wanted or spec(), owner, START).schedule


def planned(item: Schedule, now: float, live: int = 0) -> FirePlan:
    ids = (f"job-{number}" for number in count())
    return plan(DueSchedule(item, now, live), lambda: next(ids))


def offsets(fires: tuple[float, ...]) -> list[float]:
    return [at - START for at in fires]


INTERVALS = st.sampled_from([1, 7, 10, 60, 900, 3600])
POLICIES = st.sampled_from(CatchUp)


@given(INTERVALS, POLICIES, st.lists(st.floats(0.1, 5000), min_size=1, max_size=20), st.integers(20, 5000))
def test_every_fire_is_made_missed_or_still_to_come_and_none_twice(
    length: int, policy: CatchUp, pauses: list[float], window: int
) -> None:
    """Whenever a scheduler looks: nothing is made twice, and all that is not made is counted."""
    item = schedule(spec(expression=f"every {length}s", catch_up=policy, window=float(window)))
    now, made, missed = START, list[float](), 0
    for pause in pauses:
        now += pause
        while item.next_at is not None and item.next_at <= now:
            done = planned(item, now)
            made += [fire.at for fire in done.fires if fire.outcome is FireOutcome.FIRED]
            missed += sum(fire.times for fire in done.fires if fire.outcome is FireOutcome.MISSED)
            item = replace(
                item, version=item.version + 1, handled_until=done.handled_until, next_at=done.next_at
            )  # fmt: skip
    assert made == sorted(set(made))
    assert all(at % length == 0 and START < at <= now for at in made)
    due = int(now // length - START // length)
    if missed < MOST_COUNTED:
        assert len(made) + missed == due


@given(INTERVALS, st.floats(0, 20_000))
def test_all_makes_all_within_the_window(length: int, outage: float) -> None:
    wanted = spec(expression=f"every {length}s", catch_up=CatchUp.ALL, window=3600.0)
    found = due_fires(timetable(wanted.expression), wanted, START, START + outage)
    inside = [at for at in range(int(START) + 1, int(START + outage) + 1)
              if at % length == 0 and at > START + outage - 3600]  # fmt: skip
    assert list(found.fires) == inside[:MOST_FIRES]


def test_a_long_catch_up_goes_on_where_it_ended() -> None:
    item = schedule(spec(catch_up=CatchUp.ALL))
    first = planned(item, START + 10 * (MOST_FIRES + 5))
    assert first.handled_until == START + 10 * MOST_FIRES
    assert first.next_at == first.handled_until + 10
    moved = replace(item, handled_until=first.handled_until, next_at=first.next_at)
    assert len(planned(moved, START + 10 * (MOST_FIRES + 5)).fires) == 5


@pytest.mark.parametrize(
    ("policy", "outage", "made", "missed"),
    [
        (CatchUp.NONE, 600 + ON_TIME - 1, [600.0], 0),
        (CatchUp.NONE, 600 + ON_TIME, [], 1),
        (CatchUp.LAST, 5000, [4800.0], 7),
        (CatchUp.LAST, 4800 + ON_TIME - 1, [4800.0], 7),
        (CatchUp.LAST, 100, [], 0),
        (CatchUp.ALL, 5000, [3000.0, 3600.0, 4200.0, 4800.0], 4),
    ],
)
def test_the_policies(policy: CatchUp, outage: float, made: list[float], missed: int) -> None:
    begin = START // 600 * 600
    wanted = spec(expression="every 10m", catch_up=policy, window=2400.0)
    found = due_fires(timetable(wanted.expression), wanted, begin, begin + outage)
    assert ([at - begin for at in found.fires], found.missed) == (made, missed)


def test_last_makes_nothing_that_is_older_than_the_window() -> None:
    wanted = spec(expression="@yearly", catch_up=CatchUp.LAST, window=86400.0)
    table = timetable("@yearly")
    found = due_fires(table, wanted, START - 86400 * 800, START)
    assert (found.fires, found.missed) == ((), 3)


def test_counting_the_missed_of_a_long_outage_has_a_bound() -> None:
    wanted = spec(expression="* * * * * *", catch_up=CatchUp.LAST)
    found = due_fires(timetable("* * * * * *"), wanted, START, START + 86400 * 365)
    assert found.missed == MOST_COUNTED
    assert found.last_missed == START + 86400 * 365 - ON_TIME


@given(st.sampled_from(["every 7s", "*/5 * * * *", "@monthly", "0 0 29 2 *"]), st.floats(1, 1e8))
def test_the_latest_is_followed_by_none(expression: str, span: float) -> None:
    table = timetable(expression)
    last = latest(table, START, START + span)
    if last is None:
        following = table.next_after(START)
        assert following is None or following > START + span
    else:
        after = table.next_after(last)
        assert START < last <= START + span
        assert after is None or after > START + span


@pytest.mark.parametrize(
    ("overlap", "live", "outcomes"),
    [
        (Overlap.ALLOW, 5, ["fired", "fired", "fired"]),
        (Overlap.SKIP, 0, ["fired", "skipped", "skipped"]),
        (Overlap.SKIP, 1, ["skipped", "skipped", "skipped"]),
    ],
)
def test_overlap(overlap: Overlap, live: int, outcomes: list[str]) -> None:
    item = schedule(spec(overlap=overlap, catch_up=CatchUp.ALL))
    fires = planned(item, START + 30, live).fires
    assert [fire.outcome.value for fire in fires] == outcomes
    assert all((fire.job is None) == (fire.outcome is FireOutcome.SKIPPED) for fire in fires)


@pytest.mark.parametrize("catch_up", list(CatchUp))
def test_at_most_one_job_lives_and_one_fire_waits(catch_up: CatchUp) -> None:
    item = schedule(spec(overlap=Overlap.QUEUE_ONE, catch_up=catch_up))
    first = planned(item, START + 10)
    assert [fire.outcome for fire in first.fires] == [FireOutcome.FIRED]
    item = following(item, first)
    for passed in (20, 21, 35, 45, 300):
        held = planned(item, START + passed, 1)
        assert (held.fires, held.next_at) == ((), START + passed + LOOK_AGAIN), "its job waits for the running one"
        item = following(item, held)
    freed = planned(item, START + 301)
    assert [(fire.at, fire.outcome, fire.times) for fire in freed.fires] == [
        (START + 20, FireOutcome.FIRED, 1),
        (START + 300, FireOutcome.SKIPPED, 28),
    ]
    assert freed.next_at == START + 310


def test_of_several_fires_that_are_caught_up_one_is_made_and_one_waits() -> None:
    item = schedule(spec(overlap=Overlap.QUEUE_ONE, catch_up=CatchUp.ALL))
    made = planned(item, START + 35)
    assert [(fire.at, fire.outcome) for fire in made.fires] == [(START + 10, FireOutcome.FIRED)]
    freed = planned(following(item, made), START + 36)
    assert [(fire.at, fire.outcome) for fire in freed.fires] == [
        (START + 20, FireOutcome.FIRED),
        (START + 30, FireOutcome.SKIPPED),
    ]


def test_a_fire_that_waits_is_recorded_when_its_schedule_changes() -> None:
    item = schedule(spec(overlap=Overlap.QUEUE_ONE))
    held = following(item, planned(item, START + 10, 1))
    due = DueSchedule(held, START + 12, 1)
    write = with_due(changed(held, spec(expression="every 1h"), START + 12), due, lambda: "id")
    assert write is not None
    assert [(fire.at, fire.outcome) for fire in write.fires] == [(START + 10, FireOutcome.SKIPPED)]


def following(item: Schedule, done: FirePlan) -> Schedule:
    """The schedule after a plan was applied."""
    return replace(item, handled_until=done.handled_until, next_at=done.next_at)


def test_a_clock_that_went_back_makes_nothing_twice() -> None:
    item = schedule()
    moved = replace(item, handled_until=START + 100, next_at=START + 110)
    done = planned(moved, START + 50)
    assert (done.fires, done.handled_until, done.next_at) == ((), START + 100, START + 110)


def test_nothing_is_due_at_the_instant_that_was_handled() -> None:
    assert due_fires(timetable("every 10s"), spec(), START, START) == DueFires((), 0, None)


def test_stopping_records_what_was_due() -> None:
    write = recur.stopped(schedule(), ScheduleState.PAUSED, START + 35)
    (missed,) = write.fires
    assert (missed.outcome, missed.times, missed.at) == (FireOutcome.MISSED, 3, START + 30)
    assert recur.stopped(write.schedule, ScheduleState.PAUSED, START + 99).fires == ()


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")))
def test_reconciling_twice_changes_nothing_more(before: set[str], wanted: set[str], altered: set[str]) -> None:
    existing = [schedule(spec(name), "shop") for name in before]
    declared = [spec(name, "every 20s" if name in altered else "every 10s") for name in wanted]
    first = reconcile(existing, declared, "shop", START + 5)
    store = {item.name: item for item in existing} | {write.schedule.name: write.schedule for write in first.writes}
    active = {item.name: item.spec for item in store.values() if item.state is ScheduleState.ACTIVE}
    assert active == {item.name: item for item in declared}
    assert reconcile(list(store.values()), declared, "shop", START + 9).writes == ()


def test_what_belongs_to_others_is_not_touched() -> None:
    theirs, nobodys = schedule(spec("a"), "bank"), schedule(spec("b"))
    found = reconcile([theirs, nobodys], [spec("a", "@daily"), spec("b", "@daily"), spec("c")], "shop", START)
    assert found.taken == (theirs, nobodys)
    assert [write.schedule.name for write in found.writes] == ["c"]
    adopted = reconcile([theirs, nobodys], [spec("a", "@daily")], "shop", START, ["bank"])
    assert [(write.schedule.name, write.schedule.owner) for write in adopted.writes] == [("a", "shop")]


def test_a_change_takes_along_what_is_due_on_the_old_terms() -> None:
    item = schedule(spec(catch_up=CatchUp.ALL))
    seen = DueSchedule(item, START + 25, 0)
    write = recur.with_due(recur.changed(item, spec(expression="every 7s"), seen.now), seen, lambda: "job")
    assert write is not None
    assert [fire.at for fire in write.fires] == [START + 10, START + 20]
    assert write.schedule.handled_until == seen.now
    assert write.schedule.next_at == timetable("every 7s").next_after(seen.now)


def test_a_change_waits_for_a_long_catch_up_and_not_for_what_is_not_due() -> None:
    item = schedule(spec(catch_up=CatchUp.ALL))
    write = recur.changed(item, spec(expression="every 7s"), START)
    late = DueSchedule(item, START + 10 * (MOST_FIRES + 5), 0)
    assert recur.with_due(write, late, lambda: "job") is None
    assert recur.with_due(write, DueSchedule(item, START + 5, 0), lambda: "job") == write
    paused = replace(item, state=ScheduleState.PAUSED)
    assert recur.with_due(write, late._replace(schedule=paused), lambda: "job") == write


def test_old_terms_that_cannot_be_read_do_not_stand_in_the_way_of_new_ones() -> None:
    item = schedule()
    broken = replace(item, spec=replace(item.spec, zone="Mars/Olympus"))
    write = recur.changed(broken, spec(), START + 50)
    assert recur.with_due(write, DueSchedule(broken, START + 50, 0), lambda: "job") == write
