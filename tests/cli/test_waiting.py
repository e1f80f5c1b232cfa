"""`fairlead jobs explain`, `run-now` and `change`."""

import json

import pytest

from tests.cli.conftest import Run, Shop


def test_why_a_job_waits(run: Run, any_shop: Shop) -> None:
    database = ("--database", any_shop.url)
    (job_id,) = any_shop.enqueue(any_shop.greet, [{"name": "Ada"}], run_in="1h")
    told = run("jobs", "explain", job_id, *database)
    assert told.exit_code == 0
    assert "no worker runs" in told.stdout
    assert "scheduled to start in" in told.stdout
    document = json.loads(run("jobs", "explain", job_id, "--json", *database).stdout)
    assert [reason["code"] for reason in document["reasons"]] == ["NO_WORKER", "SCHEDULED"]
    assert (document["state"], document["estimated_start"]) == ("scheduled", None)


def test_a_job_is_changed_and_hastened(run: Run, any_shop: Shop) -> None:
    database = ("--database", any_shop.url)
    (job_id,) = any_shop.enqueue(any_shop.greet, [{"name": "Ada"}], run_in="1h")
    arguments = ("--priority", "critical", "--payload", '{"name": "Bob"}', "--reason", "asked for")
    changed = json.loads(run("jobs", "change", job_id, *arguments, "--json", *database).stdout)
    assert (changed["priority"], changed["payload"], changed["state"]) == ("critical", {"name": "Bob"}, "scheduled")
    later = run("jobs", "change", job_id, "--run-at", "2030-01-01T00:00:00Z", *database)
    assert (later.exit_code, "scheduled" in later.stdout) == (0, True)
    assert json.loads(run("jobs", "run-now", job_id, "--json", *database).stdout)["done"] == [job_id]
    assert run("jobs", "run-now", job_id, *database).exit_code == 1
    assert "asked for" in run("audit", *database).stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--payload", '{"name": 5}'], 1),
        (["--payload", "nonsense"], 1),
        (["--priority", "urgent"], 2),
        (["--run-at", "tomorrow"], 2),
        ([], 2),
    ],
)
def test_what_does_not_fit_is_refused(run: Run, shop: Shop, arguments: list[str], code: int) -> None:
    (job_id,) = shop.enqueue(shop.greet, [{"name": "Ada"}])
    assert run("jobs", "change", job_id, *arguments, "--database", shop.url).exit_code == code
    for command in ("explain", "run-now"):
        assert run("jobs", command, "nobody", "--database", shop.url).exit_code == 3
