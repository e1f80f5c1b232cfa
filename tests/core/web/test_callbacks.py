"""What callbacks decide: who is told what, by which job, and what an answer means."""

import json
from dataclasses import replace

import pytest

from fairlead.core.jobs.ids import is_id, shard_of
from fairlead.core.jobs.model import Lane, Priority
from fairlead.core.jobs.states import State
from fairlead.core.web.callbacks import (
    EVERYONE,
    MOST_SECRETS,
    OF_JOBS,
    TYPE,
    CallbackEvent,
    EndedJob,
    Endpoint,
    Reply,
    Secret,
    check_endpoint_name,
    check_type_name,
    delivery,
    nearest,
    parse_events,
    reply_of_status,
    rotated,
    wants_callback,
)
from fairlead.errors import ConfigError

LANE = Lane("long", "acme", "mail", Priority.HIGH, 3)
ENDED = EndedJob(
    "0192f000-0000-7000-8000-00000000abcd", LANE, State.SUCCEEDED, 2, 5, 100.0, 101.5, 103.25, "order-7", '{"a":1}',
    None, None, '{"callback":"orders"}',
)  # fmt: skip


def endpoint(*secrets: Secret, owner: str = "acme") -> Endpoint:
    return Endpoint(owner, "orders", "https://example.org", OF_JOBS, "short", secrets or (Secret("whsec_1"),))


def test_a_delivery_has_all_that_is_told() -> None:
    job = delivery(ENDED, endpoint())
    assert job is not None
    assert job.lane == Lane("short", "acme", TYPE, Priority.DEFAULT, 1, "fairlead.callback=acme:orders")
    assert job.parent == ENDED.id
    payload = json.loads(job.payload)
    assert payload["message"] == f"msg_{job.id}"
    assert json.loads(payload["body"]) == {
        "type": "job.succeeded",
        "timestamp": "1970-01-01T00:01:43.250000+00:00",
        "data": {
            "id": ENDED.id, "type": "mail", "tenant": "acme", "state": "succeeded", "attempt": 2,
            "idempotency_key": "order-7", "created_at": "1970-01-01T00:01:40+00:00",
            "started_at": "1970-01-01T00:01:41.500000+00:00", "finished_at": "1970-01-01T00:01:43.250000+00:00",
            "error": None, "result_omitted": False, "result": {"a": 1},
        },
    }  # fmt: skip


def test_each_end_has_one_delivery_and_the_end_of_a_replay_another() -> None:
    ends = [ENDED, ENDED._replace(fence=6), ENDED._replace(state=State.DEAD, error_type="E", error_message="m")]
    made = [delivery(item, endpoint()) for item in (*ends, *ends)]
    ids = [job.id for job in made if job is not None]
    assert ids[:3] == ids[3:]
    assert len(set(ids)) == 3
    assert all(is_id(item) and shard_of(item) == shard_of(ENDED.id) for item in ids)


def test_who_does_not_want_it_is_not_told() -> None:
    assert delivery(ENDED, None) is None
    assert delivery(ENDED, replace(endpoint(), enabled=False)) is None
    assert delivery(ENDED, replace(endpoint(), events=(CallbackEvent.DEAD,))) is None


def test_a_new_secret_goes_first_and_the_old_ones_end() -> None:
    first = rotated(endpoint(), "whsec_2", overlap=60.0, now=1000.0)
    assert first.secrets == (Secret("whsec_2"), Secret("whsec_1", 1060.0))
    assert first.version == 2
    second = rotated(first, "whsec_3", overlap=600.0, now=1030.0)
    assert second.secrets == (Secret("whsec_3"), Secret("whsec_2", 1630.0), Secret("whsec_1", 1060.0))
    assert second.valid_secrets(1040.0) == ["whsec_3", "whsec_2", "whsec_1"]
    assert second.valid_secrets(1060.0) == ["whsec_3", "whsec_2"]
    assert rotated(second, "whsec_4", 60.0, now=5000.0).secrets == (Secret("whsec_4"), Secret("whsec_3", 5060.0))
    assert rotated(second, "whsec_4", 0.0, now=1040.0).secrets == (Secret("whsec_4"),)
    many = endpoint()
    for number in range(20):
        many = rotated(many, f"whsec_{number}", 60.0, now=1000.0)
    assert len(many.secrets) == MOST_SECRETS
    with pytest.raises(ConfigError, match="the overlap is"):
        rotated(many, "whsec_x", -1.0, now=0.0)


def test_secrets_are_not_shown() -> None:
    assert "whsec_" not in repr(endpoint())


def test_the_nearest_endpoint_is_meant() -> None:
    own, shared, foreign = endpoint(), endpoint(owner=EVERYONE), endpoint(owner="rival")
    assert nearest([foreign, shared, own], "acme", "orders") is own
    assert nearest([foreign, shared], "acme", "orders") is shared
    assert nearest([foreign], "acme", "orders") is None
    assert nearest([own], "acme", "bills") is None
    assert (own.tenant, shared.tenant) == ("acme", None)


@pytest.mark.parametrize(
    ("status", "reply"),
    [(200, Reply.TAKEN), (204, Reply.TAKEN), (299, Reply.TAKEN), (301, Reply.NEVER), (304, Reply.NEVER),
     (400, Reply.NEVER), (401, Reply.NEVER), (404, Reply.NEVER), (410, Reply.GONE), (408, Reply.LATER),
     (409, Reply.LATER), (425, Reply.LATER), (429, Reply.LATER), (500, Reply.LATER), (503, Reply.LATER),
     (599, Reply.LATER), (199, Reply.NEVER)],
)  # fmt: skip
def test_what_an_answer_means(status: int, reply: Reply) -> None:
    assert reply_of_status(status) is reply


def test_names_and_events_are_checked() -> None:
    assert parse_events(None) == OF_JOBS
    assert parse_events(["job.expired", "job.dead", "job.dead"]) == (CallbackEvent.DEAD, CallbackEvent.EXPIRED)
    with pytest.raises(ConfigError, match="not an event of a job"):
        parse_events(["ping"])
    for name in ("", "-x", "a b", "a/b", "x" * 65, "ü"):
        with pytest.raises(ConfigError, match="cannot be the name"):
            check_endpoint_name(name)
    with pytest.raises(ConfigError, match="Fairlead's own"):
        check_type_name("fairlead.callback")
    assert check_type_name("fairleads") == "fairleads"


def test_options_without_a_callback_are_known_at_a_glance() -> None:
    assert not wants_callback(None)
    assert not wants_callback('{"timeout":3.0,"trace":"callback"}')
    assert wants_callback('{"callback":"orders"}')
    assert wants_callback('{"callback": "orders"}')
