"""What nobody knows cannot be removed, reset, resumed, closed or released, and every command says so alike."""

import json

import pytest

from tests.cli.conftest import Run, Shop

ABSENT = [
    ("settings", "remove", "tenant", "nobody"),
    ("settings", "remove", "pool", "nobody"),
    ("settings", "remove", "pool", "short"),
    ("settings", "remove", "budget", "nobody"),
    ("settings", "remove", "limit", "tenant:nobody"),
    ("settings", "remove", "depth", "tenant:nobody"),
    ("settings", "remove", "submission", "tenant:nobody"),
    ("settings", "remove", "overload", "policy"),
    ("settings", "remove", "quarantine", "nobody"),
    ("resume", "tenant", "nobody"),
    ("settings", "set", "breaker", "nobody"),
    ("settings", "remove", "breaker", "nobody"),
    ("schedules", "remove", "nobody"),
    ("callbacks", "remove", "nobody"),
    ("keys", "revoke", "0123456789"),
    ("workers", "drain", "00000000-0000-4000-8000-000000000001"),
]


@pytest.mark.parametrize("command", ABSENT, ids=" ".join)
def test_what_is_not_there_is_told_and_changes_nothing(run: Run, shop: Shop, command: tuple[str, ...]) -> None:
    found = run(*command, "--json", "--database", shop.url)
    assert (found.exit_code, found.stdout) == (3, "")
    error = json.loads(found.stderr)["error"]
    assert error["code"] == "NOT_SET" or error["code"].endswith("_NOT_FOUND")
    assert ";" in error["message"], "it says what to do"
    assert json.loads(run("audit", "--json", "--database", shop.url).stdout)["entries"] == []
