"""`fairlead jobs`: what is listed, what is shown, what is cancelled."""

import json
from typing import Any

from fairlead import Retry
from fairlead.core.jobs.ids import make_ids
from tests.cli.conftest import HOSTILE, Run, Shop

(UNKNOWN_ID,) = make_ids(1, 0.0)
JOB_KEYS = {
    "id", "type", "tenant", "pool", "priority", "version", "state", "attempt", "crashes", "fence", "created_at",
    "run_at", "not_after", "started_at", "finished_at", "worker", "idempotency_key",
    "callback", "traceparent", "parent", "options", "payload", "result",
    "error", "replays", "progress",
}  # fmt: skip


def listed(run: Run, shop: Shop, *arguments: str) -> dict[str, Any]:
    result = run("jobs", "list", "--json", "--database", shop.url, *arguments)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_list_shows_whole_ids_and_how_to_go_on(run: Run, any_shop: Shop) -> None:
    ids = any_shop.enqueue(any_shop.greet, [{"name": "a"}, {"name": "b"}, {"name": "c"}])
    result = run("jobs", "list", "--limit", "2", "--database", any_shop.url)
    assert result.exit_code == 0
    assert ids[2] in result.stdout
    assert ids[0] not in result.stdout
    assert f"--cursor {ids[1]}" in result.stdout

    rest = run("jobs", "list", "--cursor", ids[1], "--database", any_shop.url)
    assert ids[0] in rest.stdout
    assert ids[1] not in rest.stdout
    assert "--cursor" not in rest.stdout


def test_list_in_json_has_stable_keys(run: Run, any_shop: Shop) -> None:
    finished, waiting = [
        *any_shop.work((any_shop.greet, {"name": "a"})),
        *any_shop.enqueue(any_shop.greet, [{"name": "b"}]),
    ]
    page = listed(run, any_shop)
    assert page.keys() == {"jobs", "cursor"}
    assert [job["id"] for job in page["jobs"]] == [waiting, finished]
    assert all(job.keys() == JOB_KEYS for job in page["jobs"])
    assert page["jobs"][1]["result"] == "hello a"
    assert page["jobs"][1]["payload"] == {"name": "a"}
    assert page["cursor"] is None


def test_list_filters(run: Run, any_shop: Shop) -> None:
    (plain,) = any_shop.enqueue(any_shop.greet, [{"name": "a"}])
    (special,) = any_shop.enqueue(
        any_shop.fail, [{"text": "b"}], tenant="acme", priority="high", pool="long", idempotency_key="k", run_in="1h"
    )
    for arguments in (
        ("--tenant", "acme"), ("--pool", "long"), ("--priority", "high"), ("--key", "k"), ("--type", "fail"),
        ("--state", "scheduled"), ("--key-contains", "k"),
    ):  # fmt: skip
        assert [job["id"] for job in listed(run, any_shop, *arguments)["jobs"]] == [special], arguments
    both = listed(run, any_shop, "--state", "scheduled", "--state", "ready")["jobs"]
    assert {job["id"] for job in both} == {plain, special}


def test_an_empty_list_says_so(run: Run, shop: Shop) -> None:
    assert run("jobs", "list", "--database", shop.url).stdout == "no jobs\n"


def test_list_refuses_what_is_no_state_or_cursor(run: Run, any_shop: Shop) -> None:
    for arguments in (("--state", "sleeping"), ("--cursor", "x"), ("--priority", "urgent"), ("--limit", "0")):
        result = run("jobs", "list", "--database", any_shop.url, *arguments)
        assert result.exit_code == 2, arguments
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1


def test_show_tells_the_whole_story(run: Run, any_shop: Shop) -> None:
    (failed,) = any_shop.work((any_shop.fail, {"text": "no luck"}))
    result = run("jobs", "show", failed, "--database", any_shop.url)
    assert result.exit_code == 0
    for expected in (
        failed,
        "dead",
        "enqueued",
        "attempt 1 claimed",
        "attempt 1 failed (application)",
        "ValueError: no luck",
        "Traceback",
        '"text": "no luck"',
    ):
        assert expected in result.stdout
    assert "attempt 1 dead" not in result.stdout


def test_show_has_the_last_run_of_a_job_that_succeeded(run: Run, any_shop: Shop) -> None:
    (done,) = any_shop.work((any_shop.greet, {"name": "Ann"}))
    result = run("jobs", "show", done, "--database", any_shop.url)
    assert "attempt 1 succeeded" in result.stdout
    assert '"hello Ann"' in result.stdout
    assert "Traceback" not in result.stdout


def test_show_in_json_has_the_attempts(run: Run, any_shop: Shop) -> None:
    (failed,) = any_shop.work((any_shop.fail, {"text": "no luck"}))
    document = json.loads(run("jobs", "show", failed, "--json", "--database", any_shop.url).stdout)
    assert document.keys() == JOB_KEYS | {"attempts", "timeline", "checkpoints", "attempts_allowed", "timeout"}
    fingerprint = document["error"].pop("fingerprint")
    assert len(fingerprint) == 12
    assert (document["error"]["type"], document["error"]["message"]) == ("ValueError", "no luck")
    assert document["error"]["failure"] == "application"
    (attempt,) = document["attempts"]
    assert attempt["ending"] == "failed"
    assert "no luck" in attempt["error"]["traceback"]
    assert attempt["error"]["fingerprint"] == fingerprint
    assert [(step["what"], step["state"]) for step in document["timeline"]] == [
        ("enqueued", "ready"),
        ("claimed", "running"),
        ("failed", "dead"),
    ]


def test_a_job_that_is_not_there(run: Run, any_shop: Shop) -> None:
    (known,) = any_shop.enqueue(any_shop.greet, [{"name": "a"}])
    for job_id in (UNKNOWN_ID, known[:8], "nonsense", known.upper()):
        for command in ("show", "cancel"):
            result = run("jobs", command, job_id, "--database", any_shop.url)
            assert result.exit_code == 3, job_id
            assert "[JOB_NOT_FOUND]" in result.stderr
            assert result.stdout == ""


def test_cancel_waiting_jobs(run: Run, any_shop: Shop) -> None:
    ids = any_shop.enqueue(any_shop.greet, [{"name": "a"}, {"name": "b"}])
    result = run("jobs", "cancel", *ids, "--reason", "no", "--database", any_shop.url)
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [[job_id, "cancelled"] for job_id in ids]
    assert {job["state"] for job in listed(run, any_shop)["jobs"]} == {"cancelled"}


def test_cancel_does_what_it_can_and_names_the_rest(run: Run, shop: Shop) -> None:
    (done,) = shop.work((shop.greet, {"name": "a"}))
    (waiting,) = shop.enqueue(shop.greet, [{"name": "b"}])
    result = run("jobs", "cancel", UNKNOWN_ID, done, waiting, "--reason", "no", "--json", "--database", shop.url)
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["cancelled"] == [waiting]
    assert [(item["id"], item["code"]) for item in document["refused"]] == [
        (UNKNOWN_ID, "JOB_NOT_FOUND"),
        (done, "ILLEGAL_MOVE"),
    ]
    error = json.loads(result.stderr)["error"]
    assert error["code"] == "ILLEGAL_MOVE"
    assert done in error["message"]
    assert UNKNOWN_ID in error["message"]


def test_hostile_text_cannot_steer_the_terminal(run: Run, shop: Shop) -> None:
    (failed,) = shop.work((shop.fail, {"text": HOSTILE}))
    shop.enqueue(shop.greet, [{"name": HOSTILE}], idempotency_key=HOSTILE)
    for arguments in (("list",), ("show", failed)):
        result = run("jobs", *arguments, "--database", shop.url)
        assert result.exit_code == 0
        assert "[bold red]x[/]" in result.stdout
        assert ":smile:" in result.stdout
        assert not any(character in result.stdout for character in "\x1b\x07\u202e\x9b")


def test_colours_do_not_let_hostile_text_through(run: Run, shop: Shop) -> None:
    (failed,) = shop.work((shop.fail, {"text": HOSTILE}))
    result = run("jobs", "show", failed, "--database", shop.url, env={"FORCE_COLOR": "1"})
    assert "\x1b[" in result.stdout
    for sequence in ("\x1b]", "\x1b[2J", "\x07", "\u202e", "\x9b"):
        assert sequence not in result.stdout
    assert "\\x1b]0;title\\x07" in result.stdout


def test_hostile_text_in_json_is_escaped_and_complete(run: Run, shop: Shop) -> None:
    (failed,) = shop.work((shop.fail, {"text": HOSTILE}))
    result = run("jobs", "show", failed, "--json", "--database", shop.url)
    assert "\x1b" not in result.stdout
    assert json.loads(result.stdout)["payload"] == {"text": HOSTILE}


def test_show_has_the_terms_that_a_job_runs_on(run: Run, any_shop: Shop) -> None:
    (usual,) = any_shop.enqueue(any_shop.greet, [{"name": "a"}])
    assert "attempt      0 of 4" in run("jobs", "show", usual, "--database", any_shop.url).stdout
    (own,) = any_shop.enqueue(any_shop.greet, [{"name": "a"}], timeout="90s", retry=Retry(attempts=9))
    document = json.loads(run("jobs", "show", own, "--json", "--database", any_shop.url).stdout)
    assert (document["attempts_allowed"], document["timeout"]) == (9, 90.0)
