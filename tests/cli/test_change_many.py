"""`fairlead jobs run-now` and `fairlead jobs change --priority`: all that fit, counted and asked first."""

import json
from typing import Any

from tests.cli.conftest import Run, Shop

REASON = ("--reason", "the bank is back", "--as", "ann")


def jobs(run: Run, shop: Shop) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("jobs", "list", "--json", "--database", shop.url).stdout)["jobs"]
    return found


def test_jobs_that_wait_for_their_time_run_now(run: Run, any_shop: Shop) -> None:
    any_shop.enqueue(any_shop.greet.options(run_in=3600), [{"name": "a"}, {"name": "b"}])
    any_shop.enqueue(any_shop.greet, [{"name": "c"}])
    refused = run("jobs", "run-now", "--type", "greet", *REASON, "--json", "--database", any_shop.url)
    assert refused.exit_code != 0
    result = run("jobs", "run-now", "--type", "greet", *REASON, "--yes", "--database", any_shop.url)
    assert result.stdout == "2 jobs made ready\n"
    assert {job["state"] for job in jobs(run, any_shop)} == {"ready"}
    again = run("jobs", "run-now", "--all", *REASON, "--database", any_shop.url)
    assert again.stdout == "no jobs fit\n"


def test_jobs_that_wait_get_a_priority(run: Run, shop: Shop) -> None:
    shop.enqueue(shop.greet, [{"name": "a"}, {"name": "b"}])
    arguments = ("--state", "ready", "--limit", "1", *REASON, "--yes", "--json", "--database", shop.url)
    assert json.loads(run("jobs", "change", "--priority", "high", *arguments).stdout) == {"changed": 1}
    assert sorted(job["priority"] for job in jobs(run, shop)) == ["default", "high"]


def test_wrong_usage_is_refused(run: Run, shop: Shop) -> None:
    for arguments in (("run-now", *REASON), ("run-now", "--all"), ("change", "--priority", "urgent", "--all", *REASON)):
        assert run("jobs", *arguments, "--database", shop.url).exit_code == 2, arguments
    ended = run("jobs", "run-now", "--state", "dead", *REASON, "--yes", "--database", shop.url)
    assert "have ended" in ended.stderr
