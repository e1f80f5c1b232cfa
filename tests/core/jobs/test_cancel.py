"""Cancelling: what is asked, what it says of itself, and when it is too late."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fairlead.core.jobs.cancel import MOST_GRACE, cancel_error, cancel_write, make_request, not_cancellable
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.jobs.model import CancelRequest, Held, Hold, Lane, Priority
from fairlead.core.jobs.states import State
from fairlead.errors import ConfigError

LANE = Lane("short", "acme", "mail", Priority.DEFAULT, 1)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WISH = CancelRequest("ann", None, 5.0)
RUNNING = Held("id", LANE, 1, 0, 0.0, Hold(State.RUNNING, 3, "owner", "token"))
RECORD = JobRecord(
    "id", "mail", "acme", "short", Priority.DEFAULT, 1, State.SUCCEEDED, "{}", 1, 0, 1, NOW, NOW, None, None, NOW,
    None, None, None, None, None, None,
)  # fmt: skip


def test_a_wish_has_a_grace_within_bounds() -> None:
    assert make_request("ann", "no", "2m") == CancelRequest("ann", "no", 120.0)
    assert make_request("ann", None, MOST_GRACE).grace == MOST_GRACE
    for wrong in (MOST_GRACE + 1, -1, "soon"):
        with pytest.raises(ConfigError):
            make_request("ann", None, wrong)


def test_a_wish_names_the_run_that_was_seen() -> None:
    wish = cancel_write(RUNNING, WISH)
    assert wish is not None
    assert (wish.id, wish.hold, wish.request) == ("id", RUNNING.hold, WISH)


def test_a_second_wish_matters_only_if_it_is_more_urgent() -> None:
    asked = RUNNING._replace(cancel=WISH)
    assert cancel_write(asked, WISH._replace(by="bob")) is None
    assert cancel_write(asked, WISH._replace(by="bob", grace=9.0)) is None
    sooner = cancel_write(asked, WISH._replace(by="bob", grace=1.0))
    assert sooner is not None
    assert sooner.request == CancelRequest("ann", None, 1.0)


def test_a_cancelled_job_says_who_and_why() -> None:
    assert cancel_error(WISH).message == "cancelled by ann"
    assert cancel_error(WISH._replace(reason="wrong batch")).message == "cancelled by ann: wrong batch"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State.SUCCEEDED, "it has ended"),
        (State.EXPIRED, "it has ended"),
        (State.CANCELLED, "nothing left to cancel"),
        (State.DEAD, "jobs cancel"),
    ],
)
def test_what_cannot_be_cancelled_says_why(state: State, words: str) -> None:
    message = str(not_cancellable(replace(RECORD, state=state)))
    assert words in message
    assert f"is {state}" in message
