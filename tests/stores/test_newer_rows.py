"""Rows that a newer version has written are read as far as this version knows them."""

import json
from typing import Any

from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.model import Ending
from fairlead.core.jobs.retry import Retry
from fairlead.core.schedule.schedules import CatchUp, FireOutcome, Overlap, ScheduleState
from fairlead.core.web.api_keys import Grant
from fairlead.core.web.callbacks import CallbackEvent
from fairlead.handlers.registered import policies_of
from fairlead.records.api_keys import key_of
from fairlead.records.callbacks import endpoint_of
from fairlead.records.rows import attempt_of
from fairlead.records.schedules import _fire_record, schedule_of

NOW = 1_900_000_000.0


def test_a_schedule() -> None:
    lane: tuple[Any, ...] = ("short", "acme", "mail", 2, 1, "")
    words = ("replace", "half", 60.0, None, None, "hibernating")
    found = schedule_of(("daily", "@daily", "UTC", *lane, "{}", None, *words, 3, NOW, None))
    assert (found.spec.overlap, found.spec.catch_up) == (Overlap.ALLOW, CatchUp.LAST)
    assert found.state is ScheduleState.PAUSED
    assert _fire_record(("daily", NOW, 0, "merged", 1, None, NOW)).outcome is FireOutcome.SKIPPED


def test_a_callback_endpoint() -> None:
    events, secrets = json.dumps(["job.dead", "job.moved"]), json.dumps([["whsec_x", None, "ed25519"]])
    found = endpoint_of(("", "bills", "https://hooks.example.org", events, "short", secrets, 1, None, 1, NOW))
    assert found.events == (CallbackEvent("job.dead"),)
    assert found.secrets[0].text == "whsec_x"


def test_a_key_has_the_scopes_that_are_known() -> None:
    scopes = json.dumps(["read", "teleport"])
    assert key_of(("id", "shop", scopes, None, "hash", NOW, None, None, None, None, None)).grants == {Grant.READ}


def test_an_attempt() -> None:
    found = attempt_of((1, 1, None, NOW, NOW, "evicted", "ValueError", "no", None, None, "quota", None, None))
    assert (found.ending, found.error and found.error.failure) == (Ending.FAILED, None)


def test_a_type_has_the_policies_of_failures_that_are_known() -> None:
    declared = {"crash": Retry(attempts=7).stored(), "quota": Retry(attempts=9).stored()}
    found = policies_of(JobType("mail", 1, "short", {}, {"policies": declared}))
    assert found.declared.keys() == {FailureClass.CRASH}
