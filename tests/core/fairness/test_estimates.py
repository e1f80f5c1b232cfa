"""What jobs are charged in advance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.fairness.estimates import LEAST, UNPROVEN, Estimates
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.pools import Pool

LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)
OTHER = LANE._replace(tenant="other")


def test_a_type_that_never_ran_has_the_careful_guess_of_its_pool() -> None:
    estimates = Estimates()
    pools = ("short", "medium", "long", "mine")
    assert [estimates.of(LANE._replace(pool=pool)) for pool in pools] == [10.0, 60.0, 600.0, 10.0]
    assert [estimates.of_type(pool, "mail") for pool in pools] == [10.0, 60.0, 600.0, 10.0]
    assert estimates.is_guess(LANE)


def test_the_estimate_follows_what_was_measured() -> None:
    estimates = Estimates()
    estimates.learn(LANE, 1, 2.0)
    assert estimates.of(LANE) == 2.0
    estimates.learn(LANE, 200, 200 * 0.5)
    assert estimates.of(LANE) == pytest.approx(0.5, rel=1e-2)
    estimates.learn(LANE, 1, 0.0)
    assert 0 < estimates.of(LANE) < 0.5


@given(st.lists(st.floats(0.001, 100.0), min_size=1, max_size=20))
def test_the_first_observations_count_alike(seconds: list[float]) -> None:
    estimates = Estimates()
    for ran in seconds:
        estimates.learn(LANE, 1, ran)
    assert estimates.of(LANE) == pytest.approx(sum(seconds) / len(seconds))


def test_each_tenant_has_an_estimate_of_its_own() -> None:
    """However many jobs of the type others run meanwhile."""
    estimates = Estimates()
    for _ in range(20):
        estimates.learn(OTHER, 1000, 1000 * 0.02)
        estimates.learn(LANE, 1, 2.0)
    assert estimates.of(LANE) == pytest.approx(2.0)
    assert estimates.of(OTHER) == pytest.approx(0.02)
    assert estimates.of_type("short", "mail") == pytest.approx(0.02, rel=10.0)


def test_what_is_known_of_the_type_only_is_charged_a_second_at_least() -> None:
    estimates = Estimates()
    estimates.learn_type("mail", 1000, 20.0)
    assert estimates.of(LANE) == UNPROVEN
    assert estimates.is_guess(LANE)
    estimates.learn_type("mail", 1000, 300_000.0)
    assert estimates.of(LANE) == pytest.approx(300.0)


def test_a_pool_of_quick_jobs_has_a_guess_that_is_no_longer_than_its_own() -> None:
    estimates = Estimates(lambda name: Pool(name, estimate=0.1))
    estimates.learn_type("mail", 1000, 20.0)
    assert estimates.of(LANE) == pytest.approx(0.1)


def test_no_more_tenants_are_known_than_may_be_and_the_last_seen_stay() -> None:
    estimates = Estimates(most_known=100)
    for number in range(1000):
        estimates.learn(LANE._replace(tenant=f"t{number}"), 1, 0.0)
        estimates.learn(LANE, 1, 2.0)
    known = [number for number in range(1000) if not estimates.is_guess(LANE._replace(tenant=f"t{number}"))]
    assert known == list(range(901, 1000))
    assert estimates.of(LANE) == pytest.approx(2.0)
    assert estimates.of(LANE._replace(tenant="t999")) == LEAST
