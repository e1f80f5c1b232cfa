"""Durations as people write them."""

import math
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.durations import humanize, seconds
from fairlead.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500ms", 0.5), ("30s", 30), ("5m", 300), ("5min", 300), ("1h30m", 5400), ("1h 30m", 5400), ("7d", 604800),
        ("2w", 1209600), ("1.5h", 5400), (" 10 S ", 10), ("30", 30), (" 2.5 ", 2.5), ("0s", 0),
        ("1d2h3m4s5ms", 93784.005),
    ],
)  # fmt: skip
def test_texts(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(("given", "expected"), [(30, 30), (0.25, 0.25), (0, 0), (timedelta(minutes=5), 300)])
def test_numbers_are_seconds(given: Any, expected: float) -> None:
    assert seconds(given) == expected


@pytest.mark.parametrize(
    "wrong",
    ["", " ", "m", "5x", "-5s", "5m junk", "1h30", "s5", "5m,3s", "nan", "inf", "1e3s", "9" * 400 + "s", "400000d",
     1e11, -1, -0.001, math.nan, math.inf, -math.inf, timedelta(seconds=-1), timedelta(days=400_000)],
)  # fmt: skip
def test_what_is_no_duration_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        seconds(wrong)


@pytest.mark.parametrize("wrong", [None, [], object(), b"5s", pytest.param(10**400, id="huge")])
def test_what_is_not_even_a_number_is_refused_in_the_same_way(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        seconds(wrong)


@given(st.text("0123456789. ,-+msinhdwe\n", max_size=12))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with suppress(ConfigError):
        assert 0 <= seconds(text) < math.inf


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0ms"), (0.25, "250ms"), (1, "1s"), (1.5, "1.5s"), (59, "59s"), (60, "1m"), (90, "1m30s"), (3600, "1h"),
     (5400, "1h30m"), (86400, "1d"), (90000, "1d1h"), (86460, "1d")],
)  # fmt: skip
def test_words(value: float, expected: str) -> None:
    assert humanize(value) == expected


@given(st.floats(0.001, 1e8))
def test_words_can_be_read_again_and_are_close(value: float) -> None:
    assert seconds(humanize(value)) == pytest.approx(value, rel=0.05, abs=0.001)
