"""Instants as people read them."""

from datetime import UTC, datetime

import pytest

from fairlead.core.durations import instant


def test_instants_are_datetimes_in_utc() -> None:
    assert instant(None) is None
    assert instant(0.5) == datetime(1970, 1, 1, 0, 0, 0, 500_000, UTC)


@pytest.mark.parametrize(("seconds", "year"), [(1e15, 9999), (253402300800.0, 9999), (-1e15, 1), (-62135596801.0, 1)])
def test_one_row_with_an_impossible_instant_can_be_listed_with_the_others(seconds: float, year: int) -> None:
    found = instant(seconds)
    assert found is not None
    assert found.year == year
