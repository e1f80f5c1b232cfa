"""What follows on a job that came too late."""

import json
from uuid import UUID

from fairlead.core.jobs.expiry import FACTS, ExpiredJob, follow_up, target
from fairlead.core.jobs.ids import derived_id, is_id, make_ids, shard_of
from fairlead.core.jobs.model import Lane, Priority

LANE = Lane("short", "acme", "mail", Priority.HIGH, 3)


def expired(options: dict[str, object]) -> ExpiredJob:
    return ExpiredJob(make_ids(1, 1e9)[0], LANE, 1000.0, 1060.0, 1062.5, json.dumps(options))


def test_nothing_follows_where_nothing_was_named() -> None:
    assert follow_up(expired({"timeout": 3})) is None


def test_the_named_handler_is_told_all_facts() -> None:
    job = expired({"on_late": target("missed", 2, "medium", FACTS)})
    following = follow_up(job)
    assert following is not None
    assert following.lane == Lane("medium", "acme", "missed", Priority.DEFAULT, 2)
    assert json.loads(following.payload) == {
        "job_id": job.id,
        "type": "mail",
        "tenant": "acme",
        "run_at": "1970-01-01T00:16:40+00:00",
        "not_after": "1970-01-01T00:17:40+00:00",
        "late_by": 2.5,
    }


def test_it_is_told_only_what_it_takes() -> None:
    following = follow_up(expired({"on_late": target("missed", 1, "short", ["late_by"])}))
    assert following is not None
    assert json.loads(following.payload) == {"late_by": 2.5}


def test_the_following_job_is_always_the_same_one() -> None:
    job = expired({"on_late": target("missed", 1, "short", [])})
    assert follow_up(job) == follow_up(job)


def test_a_derived_id_is_an_id_in_the_same_shard() -> None:
    (job_id,) = make_ids(1, 1e9, shard=713)
    derived = derived_id(job_id, "on_late")
    assert is_id(derived)
    assert (UUID(derived).version, shard_of(derived)) == (7, 713)
    assert len({derived, job_id, derived_id(job_id, "other"), derived_id(make_ids(1, 1e9)[0], "on_late")}) == 4
