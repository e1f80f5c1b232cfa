"""What a worker has used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.fairness.run_times import SHORTEST, bucket_of
from fairlead.core.fairness.usage import AT_ONCE, SlotUsage
from fairlead.core.jobs.model import Lane, Priority

DEFAULT = 10.0
LANE = Lane("default", "acme", "mail", Priority.DEFAULT, 1)
OTHER = LANE._replace(tenant="other")


@given(
    lengths=st.lists(st.floats(0.01, 100), min_size=1, max_size=20),
    costs=st.floats(0.01, 100),
    looks=st.lists(st.floats(0, 120), max_size=5).map(sorted),
)
def test_in_the_end_exactly_what_ran_is_charged_and_delivered(
    lengths: list[float], costs: float, looks: list[float]
) -> None:
    tally = SlotUsage()
    charged, unearned, delivered = len(lengths) * costs, len(lengths) * costs, 0.0
    tally.started(LANE, len(lengths), costs)
    ended: set[int] = set()
    for now in [*looks, 1000.0]:
        for index, length in enumerate(lengths):
            if length <= now and index not in ended:
                ended.add(index)
                tally.ended([(LANE, length)])
        running = [(LANE, now) for index in range(len(lengths)) if index not in ended]
        for usage in tally.settle(running):
            charged, unearned, delivered = (
                charged + usage.charge,
                unearned + usage.unearned,
                delivered + usage.delivered,
            )
        assert delivered == pytest.approx(sum(min(length, now) for length in lengths))
    assert charged == pytest.approx(sum(lengths))
    assert unearned == pytest.approx(0.0, abs=1e-6)


def test_a_job_that_outlives_its_estimate_is_charged_as_it_goes_on() -> None:
    tally = SlotUsage()
    tally.started(LANE, 1, DEFAULT)
    (first,) = tally.settle([(LANE, DEFAULT / 2)])
    assert (first.charge, first.delivered) == (0.0, DEFAULT / 2)
    (second,) = tally.settle([(LANE, DEFAULT + 5)])
    assert (second.charge, second.unearned) == (5.0, -DEFAULT / 2)


def test_a_job_that_was_never_started_is_given_back() -> None:
    tally = SlotUsage()
    tally.started(LANE, 1, 7.0)
    (usage,) = tally.settle([])
    assert (usage.charge, usage.unearned, usage.delivered) == (-7.0, -7.0, 0.0)
    assert tally.settle([]) == []


def test_lanes_are_kept_apart() -> None:
    tally = SlotUsage()
    tally.started(LANE, 1, 1.0)
    tally.started(OTHER, 1, 1.0)
    tally.ended([(LANE, 1.0), (OTHER, 3.0)])
    assert {usage.lane.tenant: usage.delivered for usage in tally.settle([])} == {"acme": 1.0, "other": 3.0}


def test_a_cost_is_a_guess_until_one_of_the_tenants_jobs_has_ended() -> None:
    tally = SlotUsage()
    knew: list[bool] = []
    tally.started(LANE, 0, DEFAULT)
    tally.ended([(OTHER, 1.0)])
    knew.append(tally.knows_more)
    tally.settle([])
    tally.started(LANE, 2, DEFAULT)
    tally.settle([(LANE, 1.0)] * 2)
    knew.append(tally.knows_more)
    tally.ended([(LANE, 1.0)])
    knew.append(tally.knows_more)
    tally.settle([(LANE, 1.0)])
    tally.started(LANE, 1, 1.0)
    tally.ended([(LANE, 1.0)])
    knew.append(tally.knows_more)
    assert knew == [False, False, True, False]


@pytest.mark.parametrize("count", [1, AT_ONCE - 1, AT_ONCE, 10 * AT_ONCE + 3])
def test_runs_that_end_at_once_count_as_those_that_end_one_by_one(count: int) -> None:
    """Types take turns, and the last run takes long, as one does that ends a spell."""
    together, apart = SlotUsage(), SlotUsage()
    runs = [((LANE, LANE._replace(type="call"))[number % 2], 0.25 * SHORTEST) for number in range(count)]
    runs.append((LANE, 4.0))
    together.ended(runs)
    for run in runs:
        apart.ended([run])
    assert together.settle([]) == apart.settle([])
    mail, call = count - count // 2, count // 2
    expected = {("mail", bucket_of(SHORTEST)): mail, ("call", bucket_of(SHORTEST)): call, ("mail", bucket_of(4.0)): 1}
    for tally in (together, apart):
        counts = tally.take_runs()
        assert {(item.type, item.bucket): item.runs for item in counts} == {key: n for key, n in expected.items() if n}
        assert sum(item.seconds for item in counts) == pytest.approx(4.0 + count * 0.25 * SHORTEST)
