"""What a handler may say about how far it has come."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.jobs.progress import LONGEST_MESSAGE, Progress, ProgressReport, fraction, report
from fairlead.errors import ConfigError


@pytest.mark.parametrize(
    ("done", "total", "kept"),
    [
        (0.4, None, ProgressReport(0.4)),
        (40, 100, ProgressReport(40.0, 100.0)),
        (101, 100, ProgressReport(100.0, 100.0)),
        (-1, 100, ProgressReport(0.0, 100.0)),
        (1.5, None, ProgressReport(1.0)),
        (0, 0, ProgressReport(0.0, 0.0)),
        (True, 1, ProgressReport(1.0, 1.0)),
    ],
)
def test_what_is_a_little_off_is_corrected(done: float, total: float | None, kept: ProgressReport) -> None:
    assert report(done, total) == kept


@pytest.mark.parametrize(
    ("done", "total"), [(float("nan"), None), (float("inf"), 1), ("half", None), (1, "all"), (10**400, None), (None, 1)]
)
def test_what_is_no_number_is_refused(done: Any, total: Any) -> None:
    with pytest.raises(ConfigError, match="progress takes a fraction"):
        report(done, total)


@given(
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(st.characters(), max_size=500),
)
def test_every_report_is_a_fraction_and_one_bounded_line(done: float, total: float | None, message: str) -> None:
    told = report(done, total, message)
    assert 0.0 <= fraction(told.done, told.total) <= 1.0
    assert 0.0 <= Progress(*told, datetime.now(UTC)).fraction <= 1.0
    assert len(told.message) <= LONGEST_MESSAGE
    assert told.message.isprintable()
    told.message.encode()


def test_a_message_is_cut_and_put_on_one_line() -> None:
    assert report(0, message="page 1\nof\x00 2\t\x1b[31m \ud800").message == "page 1 of 2 [31m"
    assert report(0, message="x" * 300).message == "x" * 199 + "…"
