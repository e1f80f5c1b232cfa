"""The options of a submission."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.model import Lane, NewJob, Priority, Scope, Unique
from fairlead.core.jobs.retry import Retry
from fairlead.core.jobs.states import State
from fairlead.core.protection.limits import Limit
from fairlead.errors import ConfigError
from fairlead.handlers.options import Options, Template, new_jobs, overridden, template
from fairlead.handlers.spec import declare

NOW = 1_790_000_000.0


def submit(**options: Any) -> NewJob:
    """The job of a submission with these options."""
    (job,) = new_jobs(template("mail", 2, "default", "acme", Options().but(**options)), ["{}"], NOW)
    return job


def moment(seconds: float) -> datetime:
    """An instant relative to now."""
    return datetime.fromtimestamp(NOW + seconds, UTC)


def test_without_options_the_declaration_decides() -> None:
    job = submit()
    assert job.lane == Lane("default", "acme", "mail", Priority.DEFAULT, 2)
    assert (job.state, job.delay, job.run_at, job.not_after) == (State.READY, 0.0, None, None)
    assert (job.unique, job.options, job.parent) == (None, None, None)


def test_the_lane_can_be_chosen() -> None:
    job = submit(tenant="globex", pool="slow", priority="high")
    assert job.lane == Lane("slow", "globex", "mail", Priority.HIGH, 2)


def test_run_in_is_a_delay_for_the_store() -> None:
    job = submit(run_in="5m")
    assert (job.state, job.delay, job.run_at) == (State.SCHEDULED, 300, None)


def test_run_in_nothing_is_now() -> None:
    assert submit(run_in=0).state is State.READY


def test_run_at_is_an_instant() -> None:
    job = submit(run_at=moment(60))
    assert (job.state, job.delay, job.run_at) == (State.SCHEDULED, 0, NOW + 60)


def test_run_at_in_the_past_is_now() -> None:
    assert submit(run_at=moment(-60)).state is State.READY


def test_time_zones_count() -> None:
    job = submit(run_at=moment(60).astimezone(timezone(timedelta(hours=9))), not_after=moment(90))
    assert (job.run_at, job.not_after) == (NOW + 60, NOW + 90)


def test_run_in_and_run_at_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        submit(run_in=5, run_at=moment(60))


@pytest.mark.parametrize("name", ["run_at", "not_after"])
def test_an_instant_without_a_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}=.*time zone"):
        submit(**{name: datetime(2026, 3, 1, 12)})


@pytest.mark.parametrize("value", [-1, "soon", "-5s", timedelta(seconds=-1)])
def test_a_delay_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError):
        submit(run_in=value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("countdown", "run_in"), ("eta", "run_at"), ("queue", "pool"), ("tennant", "tenant"), ("expires", "not_after")],
)
def test_an_option_of_another_name_is_answered_with_ours(name: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no option '{name}': did you mean {meant}"):
        Options().but(**{name: 3})


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="idempotency_key=5 is not text"):
        submit(idempotency_key=5)


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="tennant"):
        Options().but(tennant="acme")


@pytest.mark.parametrize("options", [{"tenant": "a b"}, {"pool": "-"}, {"priority": "urgent"}, {"timeout": "soon"}])
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        submit(**options)


def test_a_key_is_active_unless_it_says_otherwise() -> None:
    assert submit(idempotency_key="k").unique == Unique("k", Scope.ACTIVE, None)
    job = submit(idempotency_key="k", idempotency_scope="window", idempotency_window="1h")
    assert job.unique == Unique("k", Scope.WINDOW, 3600)


@pytest.mark.parametrize(
    "options",
    [
        {"idempotency_scope": "window"},
        {"idempotency_window": "1h"},
        {"idempotency_scope": "sometimes"},
        {"idempotency_scope": "forever", "idempotency_window": 5},
    ],
)
def test_a_scope_that_does_not_fit_its_window_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        submit(idempotency_key="k", **options)


def test_one_key_does_not_stand_for_many_jobs() -> None:
    with pytest.raises(ConfigError, match="one idempotency_key"):
        new_jobs(template("mail", 1, "default", "acme", Options(idempotency_key="k")), ["{}", "{}"], NOW)


def test_many_payloads_become_many_jobs_in_order() -> None:
    jobs = new_jobs(template("mail", 1, "default", "acme", Options()), ["1", "2", "3"], NOW)
    assert [job.payload for job in jobs] == ["1", "2", "3"]
    assert [job.id for job in jobs] == sorted({job.id for job in jobs})


def test_overrides_reach_the_worker() -> None:
    retry = Retry(attempts=2, first="5s", factor=3, cap="1m")
    stored = submit(timeout="30s", retry=retry).options
    assert overridden(stored, 5.0, Policies()) == (30.0, Policies(retry))


def test_what_a_newer_version_has_stored_is_understood_as_far_as_it_can_be() -> None:
    """A worker that failed here would fail at each job that a newer client submits, and take others with it."""
    known, novel = '{"retry": {"attempts": 7, "novel": 1}}', '{"retry": {"backoff": "fibonacci"}}'
    assert overridden(known, None, Policies()) == (None, Policies(Retry(attempts=7)))
    assert overridden(novel, None, Policies()) == (None, Policies(Retry()))


def test_what_is_not_overridden_is_as_declared() -> None:
    declared = Policies(Retry(attempts=7))
    assert overridden(None, 5.0, declared) == (5.0, declared)
    assert overridden(submit(timeout=1).options, 5.0, declared) == (1.0, declared)
    assert overridden(submit(retry=Retry(attempts=1)).options, None, declared) == (None, Policies(Retry(attempts=1)))


def test_a_function_cannot_travel_with_a_job() -> None:
    with pytest.raises(ConfigError, match="declare it with the handler"):
        submit(retry=Retry(backoff=lambda attempt: 1))


def test_only_the_attempts_of_a_function_can_be_overridden() -> None:
    declared = Policies(Retry(backoff=lambda attempt: 1))
    stored = submit(retry=Retry(**{**declared.application.stored(), "attempts": 2})).options
    _, policies = overridden(stored, None, declared)
    assert policies.application == Retry(attempts=2, backoff=declared.application.backoff)


def test_far_schedules_are_spread_each_by_itself() -> None:
    for when in ({"run_in": "2h"}, {"run_at": datetime.fromtimestamp(NOW + 7200, UTC)}):
        jobs = new_jobs(made(**when), ["{}"] * 100, NOW, Random(1))
        moved = [(job.delay if job.run_at is None else job.run_at - NOW) - 7200 for job in jobs]
        assert -60 <= min(moved) < -30
        assert 30 < max(moved) <= 60
        assert len(set(moved)) == 100


@pytest.mark.parametrize("when", [{"run_in": "1h"}, {"run_in": "2h", "exact": True}])
def test_near_and_exact_schedules_are_kept(when: dict[str, Any]) -> None:
    delay = made(**when).delay
    assert {job.delay for job in new_jobs(made(**when), ["{}"] * 50, NOW)} == {delay}


def test_a_type_can_be_exact_and_a_submission_can_differ() -> None:
    options = Options(run_in="2h")
    exact = template("mail", 1, "short", "acme", options, exact=True)
    assert {job.delay for job in new_jobs(exact, ["{}"] * 50, NOW)} == {7200.0}
    spread = template("mail", 1, "short", "acme", options.but(exact=False), exact=True)
    assert len({job.delay for job in new_jobs(spread, ["{}"] * 50, NOW)}) == 50


def test_no_schedule_is_spread_past_its_latest_start() -> None:
    shared = made(run_in="2h", not_after=datetime.fromtimestamp(NOW + 7210, UTC))
    assert max(job.delay for job in new_jobs(shared, ["{}"] * 200, NOW)) <= 7210


def test_on_late_needs_a_latest_start() -> None:
    with pytest.raises(ConfigError, match="on_late needs not_after"):
        made(on_late=missed(lambda: None))


def test_on_late_must_be_content_with_what_it_is_told() -> None:
    def greedy(job_id: str, colour: str) -> None: ...

    with pytest.raises(ConfigError, match=r"'missed' cannot be on_late: it may take job_id.*colour"):
        made(not_after=datetime.now(UTC), on_late=missed(greedy))


def test_the_limits_of_on_late_are_stored_with_it() -> None:
    limits = [Limit("each", concurrent=1, key="tenant"), Limit("all", rate="5/s")]
    stored = made(not_after=datetime.now(UTC), on_late=missed(told, limit=limits, needs=["smtp"]))
    assert stored.overrides is not None
    target = json.loads(stored.overrides)["on_late"]
    assert target["limits"] == [{"name": "each", "key": "tenant"}, {"name": "all", "key": None}]
    assert target["needs"] == ["smtp"]


def test_on_late_cannot_have_a_key_that_only_code_can_compute() -> None:
    limit = Limit("each", concurrent=1, key=lambda args: args.tenant)
    with pytest.raises(ConfigError, match="the key of its limit 'each' is a function"):
        made(not_after=datetime.now(UTC), on_late=missed(told, limit=limit))


def test_on_late_is_stored_with_what_it_takes() -> None:
    def modest(late_by: float, not_after: datetime, colour: str = "red") -> None: ...

    stored = made(not_after=datetime.now(UTC), on_late=missed(modest)).overrides
    assert stored is not None
    assert json.loads(stored) == {
        "on_late": {"type": "missed", "version": 2, "pool": "calls", "takes": ["not_after", "late_by"]}
    }


def made(**options: Any) -> Template:
    return template("mail", 1, "short", "acme", Options(**options))


def told(tenant: str) -> None: ...


def missed(function: Callable[..., Any], **more: Any) -> Any:
    spec = declare(
        "missed", function, pool="calls", version=2, timeout=None, retry=Retry(), retention=None, upgrade=None, **more
    )
    return SimpleNamespace(spec=spec)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"tenant": ""}, "cannot be the name of a tenant"),
        ({"pool": ""}, "cannot be the name of a pool"),
        ({"parent": "the first"}, "is not the id of a job"),
        ({"parent": 5}, "is not the id of a job"),
        ({"timeout": 0}, "longer than nothing"),
        ({"retry": 3}, "is not a policy"),
        ({"run_at": "tomorrow"}, "is not a datetime"),
        ({"not_after": 1_790_000_000.0}, "is not a datetime"),
        ({"idempotency_scope": "forever"}, "give idempotency_key"),
        ({"idempotency_window": "1h"}, "give idempotency_key"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        submit(**wrong)
