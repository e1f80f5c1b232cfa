"""`fairlead enqueue`: with an app's code, and without."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import HOSTILE, Run, Shop

MODULE = """
from datetime import date
from fairlead import App, Retry
app = App({url!r})

@app.handler("greet", retry=Retry(attempts=7, first="3s"))
async def greet(name: str) -> str:
    return name

@app.handler("remind")
async def remind(day: date) -> None:
    pass
"""
KEYS = {
    "id", "type", "tenant", "pool", "priority", "state", "duplicate", "gone", "shed", "deferred", "estimated_start",
    "result", "error",
}  # fmt: skip


def read(run: Run, url: str, job_id: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run("jobs", "show", job_id, "--json", "--database", url).stdout)
    return document


def submitted(run: Run, url: str, *arguments: str, **more: Any) -> dict[str, Any]:
    result = run("enqueue", *arguments, "--json", "--database", url, **more)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    assert document.keys() == KEYS
    return read(run, url, document["id"])


def refused(run: Run, url: str, *arguments: str, code: int = 1, **more: Any) -> dict[str, str]:
    result = run("enqueue", *arguments, "--json", "--database", url, **more)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    error: dict[str, str] = json.loads(result.stderr)["error"]
    return error


def test_a_registered_type_needs_no_code(run: Run, any_shop: Shop) -> None:
    job = submitted(run, any_shop.url, "greet", '{"name": "Änne"}')
    assert (job["state"], job["version"], job["pool"]) == ("ready", 3, "medium")
    assert job["payload"] == {"name": "Änne"}
    assert job["tenant"] == "default"


def test_text_output_is_the_id_and_the_state(run: Run, shop: Shop) -> None:
    result = run("enqueue", "greet", '{"name": "a"}', "--database", shop.url)
    job_id, state = result.stdout.split()
    assert (len(job_id), state) == (36, "ready")


def test_the_payload_comes_from_standard_input(run: Run, shop: Shop) -> None:
    job = submitted(run, shop.url, "greet", "-", input='{"name": "piped"}')
    assert job["payload"] == {"name": "piped"}


def test_all_options_reach_the_job(run: Run, any_shop: Shop) -> None:
    job = submitted(
        run, any_shop.url, "greet", '{"name": "a"}', "--tenant", "acme", "--priority", "high", "--pool", "long",
        "--run-at", "2100-01-01T00:00:00Z", "--not-after", "2100-01-02T00:00:00+00:00", "--key", "k", "--window", "1h",
        "--timeout", "90s", "--attempts", "9", "--exact",
    )  # fmt: skip
    assert (job["tenant"], job["priority"], job["pool"], job["idempotency_key"]) == ("acme", "high", "long", "k")
    assert (job["run_at"], job["not_after"]) == ("2100-01-01T00:00:00Z", "2100-01-02T00:00:00Z")
    assert job["state"] == "scheduled"
    assert job["options"] == {
        "timeout": 90.0,
        "retry": {
            "attempts": 9,
            "first": 2.0,
            "factor": 2.0,
            "cap": 1800.0,
            "backoff": "exponential",
            "jitter": "full",
        },
    }


def test_run_in_counts_from_now(run: Run, shop: Shop) -> None:
    assert submitted(run, shop.url, "greet", '{"name": "a"}', "--run-in", "1h30m")["state"] == "scheduled"


def test_a_key_stands_for_one_job(run: Run, shop: Shop) -> None:
    first = submitted(run, shop.url, "greet", '{"name": "a"}', "--key", "k", "--scope", "forever")
    again = json.loads(run("enqueue", "greet", '{"name": "a"}', "--key", "k", "--json", "--database", shop.url).stdout)
    assert (again["id"], again["duplicate"]) == (first["id"], True)
    text = run("enqueue", "greet", '{"name": "a"}', "--key", "k", "--database", shop.url)
    assert "was there before" in text.stdout


@pytest.mark.parametrize(
    ("payload", "code", "message"),
    [
        ('{"name": 5}', "INVALID_ARGUMENTS", 'name: 5 is not of type "string"'),
        ("{}", "INVALID_ARGUMENTS", '"name" is a required property'),
        ('{"name": "a", "nme": 1}', "INVALID_ARGUMENTS", "'nme' was unexpected"),
        ('{"name": "a\\u0000"}', "UNSAFE_PAYLOAD", "NUL"),
        ('{"name": "\\ud800"}', "UNSAFE_PAYLOAD", "surrogate"),
        ('{"name": "a", "times": NaN}', "UNSAFE_PAYLOAD", "NaN"),
        ('{"name": ' + "[" * 200 + "]" * 200 + "}", "UNSAFE_PAYLOAD", "deep"),
        ('{"name": "' + "a" * 70_000 + '"}', "PAYLOAD_TOO_LARGE", "70,0"),
        ('{"name": ' + "[" * 200_000, "PAYLOAD_ERROR", "not JSON"),
        ("{name: a}", "PAYLOAD_ERROR", "not JSON"),
        ('["a"]', "PAYLOAD_ERROR", "object"),
        ('{"name": "a", "times": ' + "9" * 5000 + "}", "PAYLOAD_ERROR", "not JSON"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused(run: Run, shop: Shop, payload: str, code: str, message: str) -> None:
    error = refused(run, shop.url, "greet", "-", input=payload)
    assert error["code"] == code
    assert message in error["message"]


def test_what_is_not_utf8_is_refused(run: Run, shop: Shop) -> None:
    assert refused(run, shop.url, "greet", "-", input=b'{"name": "\xff"}')["code"] == "PAYLOAD_ERROR"
    assert refused(run, shop.url, "greet", "{}", "--key", "\udcff", code=2)["code"] == "USAGE"


def test_hostile_text_in_an_error_is_shown_as_text(run: Run, shop: Shop) -> None:
    payload = json.dumps({"name": "a", HOSTILE: 1})
    result = run("enqueue", "greet", payload, "--database", shop.url)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "[bold red]x[/]" in result.stderr
    assert not any(character in result.stderr for character in "\x1b\x07\u202e\x9b")


def test_an_unknown_type_lists_the_known(run: Run, any_shop: Shop) -> None:
    error = refused(run, any_shop.url, "gret", code=3)
    assert error["code"] == "UNKNOWN_TYPE"
    assert "fail, greet" in error["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--run-in", "soon"),
        ("--run-in", "1s", "--run-at", "2100-01-01T00:00:00Z"),
        ("--run-at", "2100-01-01T00:00:00"),
        ("--run-at", "tomorrow"),
        ("--priority", "urgent"),
        ("--scope", "forever"),
        ("--key", "k", "--scope", "window"),
        ("--key", "k", "--scope", "forever", "--window", "1h"),
        ("--attempts", "0"),
        ("--wait", "-1"),
        ("--unknown",),
    ],
)
def test_wrong_usage(run: Run, shop: Shop, arguments: tuple[str, ...]) -> None:
    assert refused(run, shop.url, "greet", '{"name": "a"}', *arguments, code=2)["code"] == "USAGE"


def test_names_are_checked(run: Run, shop: Shop) -> None:
    assert refused(run, shop.url, "greet", '{"name": "a"}', "--tenant", "no spaces")["code"] == "CONFIG_ERROR"


def test_an_app_checks_by_its_handler(run: Run, sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "shop_with_code.py").write_text(MODULE.format(url=sqlite_url), encoding="utf-8")
    app = ("--app", "shop_with_code:app")
    result = run("enqueue", "greet", '{"name": "a"}', *app, "--attempts", "2", "--json")
    assert result.exit_code == 0, result.output
    job = read(run, sqlite_url, json.loads(result.stdout)["id"])
    assert job["options"]["retry"]["attempts"] == 2
    assert job["options"]["retry"]["first"] == 3.0
    assert submitted(run, sqlite_url, "remind", '{"day": "2030-01-31"}', *app)["payload"] == {"day": "2030-01-31"}
    assert refused(run, sqlite_url, "remind", '{"day": "soon"}', *app)["code"] == "INVALID_ARGUMENTS"
    assert refused(run, sqlite_url, "nothing", *app, code=3)["code"] == "UNKNOWN_TYPE"


def test_wait_gives_the_result(run: Run, shop: Shop) -> None:
    async def with_worker() -> Any:
        arguments = ("enqueue", "greet", '{"name": "Ann"}', "--wait", "20", "--json", "--database", shop.url)
        async with shop.app, shop.app.worker(pools=("medium",)):
            return await asyncio.to_thread(run, *arguments)

    result = asyncio.run(with_worker())
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["state"], document["result"]) == ("succeeded", "hello Ann")


def test_wait_says_that_a_job_succeeded_whose_result_was_dropped(run: Run, shop: Shop) -> None:
    async def with_worker() -> list[Any]:
        arguments = ("enqueue", "greet", '{"name": "Ann", "times": 20000}', "--wait", "20", "--database", shop.url)
        async with shop.app, shop.app.worker(pools=("medium",)):
            return [await asyncio.to_thread(run, *arguments, *more) for more in ([], ["--json"])]

    told, as_json = asyncio.run(with_worker())
    assert (told.exit_code, as_json.exit_code) == (0, 0)
    assert "succeeded" in told.stdout
    assert "its result was dropped: the result has" in told.stdout
    document = json.loads(as_json.stdout)
    assert (document["state"], document["result"]) == ("succeeded", None)
    assert document["error"]["type"] == "ResultDropped"
    shown = run("jobs", "show", document["id"], "--database", shop.url)
    assert "ResultDropped" in shown.stdout


def test_wait_tells_of_a_failure_after_the_document(run: Run, shop: Shop) -> None:
    async def with_worker() -> Any:
        arguments = ("enqueue", "fail", '{"text": "no luck"}', "--wait", "20", "--json", "--database", shop.url)
        async with shop.app, shop.app.worker():
            return await asyncio.to_thread(run, *arguments)

    result = asyncio.run(with_worker())
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert (error["type"], error["message"]) == ("ValueError", "no luck")
    assert json.loads(result.stderr)["error"]["code"] == "JOB_FAILED"


def test_a_wait_that_ends_too_soon_still_tells_the_id(run: Run, shop: Shop) -> None:
    result = run("enqueue", "greet", '{"name": "a"}', "--wait", "0", "--json", "--database", shop.url)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["state"] == "ready"
    assert json.loads(result.stderr)["error"]["code"] == "JOB_NOT_DONE"


def test_a_job_that_an_overload_sheds_is_an_error_and_one_that_it_defers_is_told(run: Run, any_shop: Shop) -> None:
    overload = ("settings", "set", "overload", "policy", "waiting=0", "--database", any_shop.url)
    assert run(*overload, "action=shed").exit_code == 0
    error = refused(run, any_shop.url, "greet", '{"name": "a"}', "--priority", "low")
    assert (error["code"], "was shed" in error["message"]) == ("JOB_FAILED", True)
    assert run(*overload, "action=defer", "delay=5m").exit_code == 0
    told = run("enqueue", "greet", '{"name": "a"}', "--priority", "low", "--database", any_shop.url)
    assert "scheduled (put off for 5m: the system is overloaded)" in told.stdout


def test_a_policy_and_a_parent_are_options_too(run: Run, any_shop: Shop) -> None:
    parent = submitted(run, any_shop.url, "greet", '{"name": "a"}')["id"]
    policy = '{"backoff": "fixed", "first": "10s", "attempts": 3, "jitter": "none"}'
    job = submitted(run, any_shop.url, "greet", '{"name": "a"}', "--retry", policy, "--parent", parent)
    assert job["parent"] == parent
    assert job["options"]["retry"] == {"backoff": "fixed", "first": 10.0, "attempts": 3, "jitter": "none"}
    for wrong in ("3", "{", '{"tries": 3}', '{"attempts": 0}'):
        error = refused(run, any_shop.url, "greet", '{"name": "a"}', "--retry", wrong, code=2)
        assert "is not a retry policy" in error["message"]


@pytest.mark.parametrize("with_app", [False, True])
def test_many_jobs_come_from_lines(run: Run, any_shop: Shop, tmp_path: Path, with_app: bool) -> None:
    (tmp_path / "names.jsonl").write_text('{"name": "a"}\n\n{"name": "b"}\n')
    (tmp_path / "greeting.py").write_text(MODULE.format(url=any_shop.url))
    code = ["--app", "greeting:app"] if with_app else []
    result = run(
        "enqueue", "greet", "--lines", "names.jsonl", "--tenant", "acme", "--attempts", "2", "--json", *code,
        "--database", any_shop.url,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = [read(run, any_shop.url, job_id) for job_id in json.loads(result.stdout)["jobs"]]
    assert [(job["payload"], job["tenant"]) for job in found] == [({"name": "a"}, "acme"), ({"name": "b"}, "acme")]
    assert {job["attempts_allowed"] for job in found} == {2}


def test_a_line_that_does_not_fit_is_named_and_nothing_is_submitted(run: Run, shop: Shop) -> None:
    for wrong, code in (('{"name": 5}', "INVALID_ARGUMENTS"), ("[]", "PAYLOAD_ERROR"), ("{", "PAYLOAD_ERROR")):
        error = refused(run, shop.url, "greet", "--lines", "-", input='{"name": "a"}\n' + wrong)
        assert (error["code"], error["message"].startswith("line 2: ")) == (code, True)
    assert refused(run, shop.url, "greet", "--lines", "nowhere.jsonl")["code"] == "PAYLOAD_ERROR"
    refused(run, shop.url, "greet", "{}", "--lines", "-", code=2)
    assert json.loads(run("jobs", "list", "--json", "--database", shop.url).stdout)["jobs"] == []


def test_no_lines_are_no_jobs(run: Run, shop: Shop) -> None:
    result = run("enqueue", "greet", "--lines", "-", "--database", shop.url, input="")
    assert (result.exit_code, result.stdout) == (0, "")
