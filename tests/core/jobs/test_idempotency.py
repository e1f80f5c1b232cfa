"""Idempotency within one submission, and checked keys."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.idempotency import MAX_KEY_LENGTH, answers, split_repeats, unique
from fairlead.core.jobs.model import Enqueued, Lane, NewJob, Priority, Scope, Unique
from fairlead.errors import ConfigError


def job(job_id: str, key: str | None = None, tenant: str = "acme") -> NewJob:
    lane = Lane("default", tenant, "mail", Priority.DEFAULT, 1)
    return NewJob(job_id, lane, "{}", unique=Unique(key) if key else None)


submissions = st.lists(
    st.tuples(st.none() | st.sampled_from("ab"), st.sampled_from(["acme", "globex"])), max_size=12
).map(lambda pairs: [job(str(number), key, tenant) for number, (key, tenant) in enumerate(pairs)])


@given(submissions)
def test_the_first_of_each_key_is_kept_and_stands_for_the_others(jobs: list[NewJob]) -> None:
    kept, stands_for = split_repeats(jobs)
    names = [(item.lane.tenant, item.unique.key) for item in kept if item.unique]
    assert len(names) == len(set(names))
    assert {item.id for item in kept} | stands_for.keys() == {item.id for item in jobs}
    assert {item.id for item in kept}.isdisjoint(stands_for)
    by_id = {item.id: item for item in jobs}
    for repeat, first in stands_for.items():
        assert int(first) < int(repeat)
        assert by_id[first].unique == by_id[repeat].unique
        assert by_id[first].lane.tenant == by_id[repeat].lane.tenant


@given(submissions)
def test_jobs_without_keys_are_all_kept_in_order(jobs: list[NewJob]) -> None:
    kept, _ = split_repeats(jobs)
    assert [item.id for item in kept] == sorted((item.id for item in kept), key=int)
    assert {item.id for item in jobs if item.unique is None} <= {item.id for item in kept}


def test_every_submission_is_answered_in_order() -> None:
    jobs = [job("1"), job("2", "a"), job("3", "b"), job("4", "a"), job("5", "b")]
    _, stands_for = split_repeats(jobs)
    assert answers(jobs, stands_for, {"3": "stored"}) == [
        Enqueued("1", False),
        Enqueued("2", False),
        Enqueued("stored", True),
        Enqueued("2", True),
        Enqueued("stored", True),
    ]


def test_a_key_has_the_scope_active_by_default() -> None:
    assert unique("k") == Unique("k", Scope.ACTIVE, None)


def test_a_window_is_a_duration() -> None:
    assert unique("k", "window", "5m") == Unique("k", Scope.WINDOW, 300)


@pytest.mark.parametrize(
    "arguments",
    [
        ("",),
        ("x" * (MAX_KEY_LENGTH + 1),),
        ("a\x00b",),
        ("k", "sometimes"),
        ("k", "window"),
        ("k", "active", 5),
        ("k", "forever", "5m"),
        ("k", "window", -1),
    ],
)
def test_a_key_that_cannot_work_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError):
        unique(*arguments)


def test_a_key_with_half_a_surrogate_pair_is_refused() -> None:
    """No database can keep it."""
    with pytest.raises(ConfigError):
        unique("\ud800")


@pytest.mark.parametrize("key", ["x", "x" * MAX_KEY_LENGTH, "日本 🛟", "a:b/c %s"])
def test_other_keys_pass(key: str) -> None:
    assert unique(key).key == key
