"""The weights of those who compete, while they come and go."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.fairness.entitlement import effective_weights
from fairlead.core.fairness.share import Share
from fairlead.core.fairness.tenancy import Weighting

PLAIN, HEAVY = Weighting(10.0), Weighting(1000.0)
GUARANTEED, CAPPED = Weighting(100.0, 0.01), Weighting(1.0, 0.0, 0.05)


def pool_of(weightings: list[Weighting]) -> tuple[Share, list[Share]]:
    top = Share("", "", None, Weighting(1.0), {})
    pool = Share("short", "@", top, Weighting(1.0), {})
    return pool, [Share("short", str(number), pool, weighting, {}) for number, weighting in enumerate(weightings)]


@given(
    st.lists(st.sampled_from([PLAIN, HEAVY, GUARANTEED, CAPPED]), min_size=1, max_size=8),
    st.lists(st.integers(0, 7), max_size=40),
)
def test_weights_are_those_of_whoever_is_busy(weightings: list[Weighting], changes: list[int]) -> None:
    pool, members = pool_of(weightings)
    for number in changes:
        member = members[number % len(members)]
        if member.busy:
            member.leave()
        else:
            member.enter()
        for other in members:
            if other.busy:
                other.correct(1.0, 0.0)
                assert other.weight == effective_weights(pool.counts)[other.weighting]


def test_weights_are_not_found_anew_for_each_that_comes_or_goes_unless_they_depend_on_it() -> None:
    for weightings, stay in (([PLAIN, PLAIN, HEAVY, HEAVY], True), ([PLAIN, PLAIN, GUARANTEED, GUARANTEED], False)):
        pool, members = pool_of(weightings)
        for member in members:
            member.enter()
            member.correct(1.0, 0.0)
        before = pool.weights
        members[0].leave()
        members[1].correct(1.0, 0.0)
        assert (pool.weights is before) == stay
