"""Pools, and which of them a type belongs to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.fairness.run_times import RunCount, begin_of, bucket_of, longer_than, percentile
from fairlead.core.jobs.pools import PLACE, POOL, STICKY, Pool, Pools, classify
from fairlead.core.protection.controls import Control, Controls
from fairlead.errors import ConfigError

USUAL = Pools(Controls())


def runs(**lengths: int) -> list[RunCount]:
    """So many runs of each length: s2=100 is a hundred of two seconds."""
    return [RunCount("mail", bucket_of(float(name[1:])), count, 0.0) for name, count in lengths.items()]


@given(st.floats(0.000_1, 1e6))
def test_a_duration_is_in_its_bucket(seconds: float) -> None:
    bucket = bucket_of(seconds)
    assert begin_of(bucket) <= seconds < begin_of(bucket + 1)
    assert begin_of(bucket + 1) / begin_of(bucket) <= 1.125


def test_a_second_and_a_minute_are_borders() -> None:
    for border in (1.0, 60.0):
        assert begin_of(bucket_of(border)) == border
        assert bucket_of(border * 0.9999) == bucket_of(border) - 1


def test_percentiles_and_what_is_longer() -> None:
    counts = {bucket_of(0.5): 90, bucket_of(2.0): 10}
    assert percentile(counts, 0.9) == pytest.approx(0.5, rel=0.13)
    assert percentile(counts, 0.95) == pytest.approx(2.0, rel=0.13)
    assert longer_than(counts, 1.0) == 10
    assert percentile({}, 0.95) == 0.0


def test_a_type_that_runs_too_long_moves_up() -> None:
    move = classify("mail", "short", "short", None, runs(s2=200, s0=50), USUAL)
    assert move is not None
    assert (move.old, move.new) == ("short", "medium")
    assert "200 of 250" in move.why
    up = classify("mail", "short", "short", None, runs(s300=200), USUAL)
    assert up is not None
    assert up.new == "long"


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        (runs(s2=99), "fewer than 100 in the hour"),
        (runs(s2=150, s0=99_000), "not 1 % of its runs"),
        (runs(s2=400, s0=20_000), "the 95th percentile is fine"),
        (runs(s0=500), "all are short"),
    ],
)
def test_a_type_stays(counts: list[RunCount], why: str) -> None:
    assert classify("mail", "short", "short", None, counts, USUAL) is None, why


def test_what_a_pool_is_for_can_be_changed() -> None:
    controls = Controls()
    controls.follow(
        [Control(POOL, "short", {"longest": 5.0}, 1, 0.0), Control(POOL, "long", {"longest": 600.0}, 2, 0.0)]
    )
    pools = Pools(controls)
    assert classify("mail", "short", "short", None, runs(s2=200), pools) is None
    back = classify("mail", "short", "medium", STICKY + 1, runs(s2=200), pools)
    assert back is not None
    assert back.new == "short"
    up = classify("mail", "short", "short", None, runs(s6=200, s2=50), pools)
    assert up is not None
    assert (up.new, "200 of 250" in up.why) == ("medium", True)
    beyond = classify("mail", "short", "short", None, runs(s3000=200), pools)
    assert beyond is not None
    assert beyond.new == "long"


def test_a_move_holds_for_an_hour() -> None:
    assert classify("mail", "short", "medium", STICKY - 1, runs(s0=1000), USUAL) is None
    back = classify("mail", "short", "medium", STICKY + 1, runs(s0=1000), USUAL)
    assert back is not None
    assert (back.old, back.new) == ("medium", "short")


def test_a_type_never_moves_below_what_it_declares_and_own_pools_stay() -> None:
    assert classify("mail", "medium", "medium", None, runs(s0=1000), USUAL) is None
    assert classify("mail", "gpu", "gpu", None, runs(s300=1000), USUAL) is None


def test_settings_from_controls() -> None:
    controls = Controls()
    pools = Pools(controls)
    assert pools.get("long").room(alone=True) is None
    assert pools.get("long").room(alone=False) == 2
    controls.follow(
        [Control(POOL, "long", {"concurrency": 3}, 1, 0.0), Control(PLACE, "mail", {"pool": "long"}, 2, 0.0)]
    )
    assert pools.get("long").room(alone=True) == 3
    assert pools.place("mail", "short") == "long"
    assert pools.place("other", "short") == "short"
    assert pools.get("mine") == Pool("mine")


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"longest": -1.0},
        {"estimate": float("inf")},
        {"wait": 0.0},
        {"attempts": 0},
        {"timeout": 0},
        {"lease": 0.5},
        {"lease": 4000.0},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Pool("mine").changed(wrong)


def test_a_worker_has_the_shortest_lease_of_its_pools() -> None:
    controls = Controls()
    pools = Pools(controls)
    assert pools.lease(("short", "long"), usual=30.0) == 30.0
    controls.follow([Control(POOL, "short", {"lease": 5.0}, 1, 0.0), Control(POOL, "long", {"lease": 300.0}, 2, 0.0)])
    assert pools.lease(("short", "long"), usual=30.0) == 5.0
    assert pools.lease(("long",), usual=30.0) == 300.0
    assert pools.lease(("medium", "long"), usual=30.0) == 30.0
