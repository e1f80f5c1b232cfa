"""Quarantine: what fails for most of its window, and lastingly."""

import pytest

from fairlead.core.protection.quarantine import Quarantine, why_quarantined
from fairlead.core.protection.run_counts import Sums
from fairlead.errors import ConfigError

HOUR = 3600.0


@pytest.mark.parametrize(
    ("good", "bad", "counted_for", "expected"),
    [
        (9, 11, HOUR, "11 of 20 runs failed within 1h"),
        (10, 10, HOUR, None),  # half is not most
        (0, 19, HOUR, None),  # too few to judge
        (0, 1000, 600.0, None),  # a bad ten minutes are no bad hour
    ],
)
def test_most_of_enough_runs_must_fail_for_long_enough(
    good: int, bad: int, counted_for: float, expected: str | None
) -> None:
    assert why_quarantined(Quarantine(), Sums(good, bad, counted_for)) == expected


def test_one_that_is_off_never_acts_by_itself() -> None:
    assert why_quarantined(Quarantine.off(), Sums(0, 1000, HOUR)) is None


@pytest.mark.parametrize("wrong", [{"threshold": 1}, {"threshold": 0}, {"minimum": 0}, {"window": 0}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Quarantine(**wrong)  # type: ignore[arg-type]
