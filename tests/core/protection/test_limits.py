"""Limits: names, rules and what may start."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.core.jobs.model import Lane, Priority, Quota
from fairlead.core.protection.controls import Control, Controls
from fairlead.core.protection.limits import (
    LIMIT,
    Bound,
    Limit,
    LimitedQuota,
    LimitState,
    Rules,
    bound,
    field_of,
    grant,
    key_text,
    limit_name,
    limit_state,
    marks,
    names_of,
    room,
    usage,
)
from fairlead.core.protection.token_bucket import Bucket, RateLimit
from fairlead.errors import ConfigError

LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)
KEYED = LANE._replace(limits="@smtp stripe=7")


def rules(set_: dict[str, dict[str, object]], declared: dict[str, Bound] | None = None, marked: str = "") -> Rules:
    """Rules as an operator's controls and one type's declaration make them."""
    controls = Controls()
    controls.follow(Control(LIMIT, name, value, at + 1, 0.0) for at, (name, value) in enumerate(set_.items()))
    return Rules(declared or {}, {"mail": marked}, controls)


def test_a_lane_names_all_limits_it_could_be_under() -> None:
    assert names_of(KEYED, "other") == (
        "type:mail", "tenant:acme", "pool:short", "tenant+pool:acme+short",
        "dependency:smtp", "limit:other", "limit:stripe=7",
    )  # fmt: skip


def test_a_lane_without_marks_keeps_the_id_it_always_had() -> None:
    assert LANE.id != KEYED.id
    assert LANE.id == Lane("short", "acme", "mail", Priority.DEFAULT, 1, "").id


def test_only_limits_in_force_are_named() -> None:
    assert rules({}).of(KEYED) == ()
    assert not rules({}).any
    found = rules({"tenant:acme": {"concurrent": 1}, "type:other": {"concurrent": 1}}, {"stripe": Bound(5)})
    assert found.of(KEYED) == ("tenant:acme", "limit:stripe=7")
    assert found.of(LANE) == ("tenant:acme",)


def test_a_type_is_under_its_limit_though_its_lane_is_older() -> None:
    assert rules({}, {"stripe": Bound(5)}, "stripe").of(LANE) == ("limit:stripe",)


@pytest.mark.parametrize(
    ("set_", "expected"),
    [
        ({}, Bound(5)),
        ({"limit:stripe": {"concurrent": 2}}, Bound(2)),
        ({"limit:stripe": {"concurrent": 2}, "limit:stripe=7": {"concurrent": 9}}, Bound(9)),
        ({"limit:stripe": {}}, Bound()),
        ({"limit:*": {"concurrent": 3}}, Bound(3)),
    ],
)
def test_the_operator_wins_over_the_code_and_the_narrower_over_the_wider(
    set_: dict[str, dict[str, object]], expected: Bound
) -> None:
    assert rules(set_, {"stripe": Bound(5)}).bound("limit:stripe=7") == expected


def test_each_of_a_kind_can_be_limited_at_once() -> None:
    found = rules({"tenant:*": {"concurrent": 4}, "tenant:acme": {"concurrent": 9}})
    assert found.bound("tenant:acme") == Bound(9)
    assert found.bound("tenant:globex") == Bound(4)


def test_usage_adds_up_all_lanes_under_a_limit() -> None:
    found = rules({"tenant:acme": {"concurrent": 9}, "type:mail": {"concurrent": 9}})
    other = LANE._replace(tenant="globex")
    assert usage(found, [(LANE, 3), (KEYED, 2), (other, 1)]) == {"tenant:acme": 5, "type:mail": 6}


@given(
    some.dictionaries(some.sampled_from("abcd"), some.integers(0, 20), min_size=4),
    some.lists(some.tuples(some.integers(1, 30), some.sets(some.sampled_from("abcd"), min_size=1)), max_size=20),
)
def test_grants_never_go_beyond_any_room(rooms: dict[str, int], asked: list[tuple[int, set[str]]]) -> None:
    wanted = [LimitedQuota(Quota(at, most), LANE, tuple(names)) for at, (most, names) in enumerate(asked)]
    granted = {quota.lane: quota.most for quota in grant(wanted, rooms)}
    for name, free in rooms.items():
        assert sum(granted.get(item.quota.lane, 0) for item in wanted if name in item.limits) <= free
    for item in wanted:
        assert 0 <= granted.get(item.quota.lane, 0) <= item.quota.most


def test_room_is_the_least_of_slots_and_tokens() -> None:
    way = RateLimit(1.0, 5.0)
    assert room(Bound(10), 4, None, 0.0) == 6
    assert room(Bound(10), 14, None, 0.0) == 0
    assert room(Bound(None, way), 99, None, 0.0) == 5
    assert room(Bound(3, way), 1, Bucket(0.0, 0.0), 1.5) == 1


def test_a_full_limit_knows_when_a_token_is_due_but_not_when_a_job_ends() -> None:
    way = RateLimit(2.0, 5.0)
    assert limit_state(Bound(5), 2, None, 0.0, 3) == LimitState(None, True, None)
    assert limit_state(Bound(5), 2, None, 0.0, 2) == LimitState(None, False, None)
    assert limit_state(Bound(None, way), 0, None, 7.0, 5) == LimitState(Bucket(0.0, 7.0), True, 0.5)
    assert limit_state(Bound(5, way), 0, None, 7.0, 5) == LimitState(Bucket(0.0, 7.0), True, None)


def test_keys_are_kept_plain_where_they_are_and_as_a_digest_where_not() -> None:
    assert key_text("account-7") == "account-7"
    assert key_text(7) == "7"
    for odd in ("", "a b", "a=b", "x" * 65, "\x00", "\ud800", "ü"):
        assert key_text(odd).startswith("~")
        assert len(key_text(odd)) == 33
    assert key_text("a b") != key_text("a=b")


def test_a_field_is_found_by_its_path() -> None:
    payload = {"customer": {"id": 7}, "none": None}
    assert field_of(payload, "customer.id") == 7
    assert field_of(payload, "customer.id.more") == field_of(payload, "other") == field_of(payload, "none") == ""


def test_marks_are_sorted_and_tell_dependencies_from_limits() -> None:
    assert marks([("stripe", 7), ("mail", None)], ["smtp"]) == "@smtp mail stripe=7"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Limit("stripe"),
        lambda: Limit("a b", concurrent=1),
        lambda: Limit("stripe", concurrent=-1),
        lambda: Limit("stripe", concurrent=True),
        lambda: Limit("stripe", rate="soon"),
        lambda: Limit("stripe", concurrent=1, burst=5),
        lambda: Limit("stripe", concurrent=1, key="not a field"),
        lambda: bound(10_000_000, None, None),
        lambda: limit_name("planet", "earth"),
        lambda: limit_name("tenant+pool", "acme"),
        lambda: limit_name("tenant", "a b"),
    ],
)
def test_what_cannot_work_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ConfigError):
        make()


def test_limits_have_names_by_scope() -> None:
    assert limit_name("tenant", "*") == "tenant:*"
    assert limit_name("tenant+pool", "acme+short") == "tenant+pool:acme+short"
    assert limit_name("limit", "stripe=7") == "limit:stripe=7"
