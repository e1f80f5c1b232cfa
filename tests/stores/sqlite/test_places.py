"""Where the jobs of a claim lie."""

import random

import pytest

from fairlead.stores.sqlite.places import is_wide, parts

SIDE_BY_SIDE = [
    ([7], [(7, 7)]),
    ([3, 4, 5], [(3, 5)]),
    ([5, 3, 4], [(3, 5)]),
    ([1, 3], [(1, 1), (3, 3)]),
    ([9, 2, 3, 10, 5], [(2, 3), (5, 5), (9, 10)]),
]


@pytest.mark.parametrize(("places", "expected"), SIDE_BY_SIDE)
def test_places_that_follow_one_another_are_one_part(places: list[int], expected: list[tuple[int, int]]) -> None:
    assert parts(places) == expected


def test_parts_hold_all_places_and_no_others() -> None:
    places = random.Random(1).sample(range(1_000), 400)
    assert [place for first, last in parts(places) for place in range(first, last + 1)] == sorted(places)


@pytest.mark.parametrize(
    ("jobs", "wide", "expected"),
    [(1, 64, False), (1, 65, True), (250, 2_000, False), (249, 2_000, True), (9, 72, False)],
)
def test_a_claim_is_wide_when_few_of_many_are_left(jobs: int, wide: int, expected: bool) -> None:
    assert is_wide(jobs, wide) is expected
