"""`fairlead breakers`, `fairlead quarantine` and `fairlead budgets`."""

import asyncio
import json
from typing import Any

import pytest

from fairlead.core.protection.run_counts import Count
from tests.cli.conftest import HOSTILE, Run, Shop


@pytest.fixture
def shop(any_shop: Shop) -> Shop:
    """The app with a type that needs something, on each kind of database."""

    @any_shop.app.handler("charge", needs=["stripe"])
    async def charge() -> None: ...

    any_shop.register()
    return any_shop


def count(shop: Shop, *counts: Count) -> None:
    async def count() -> None:
        async with shop.app:
            await (await shop.app.store()).run_counts.count(counts)

    asyncio.run(count())


def document(run: Run, shop: Shop, *arguments: str) -> Any:
    result = run(*arguments, "--database", shop.url, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_breaker_is_opened_shown_and_closed(run: Run, shop: Shop) -> None:
    count(shop, Count("dependency:stripe", 30, 5, 60.0))
    (listed,) = document(run, shop, "breakers", "list")["breakers"]
    assert (listed["name"], listed["phase"], listed["good"], listed["bad"]) == ("dependency:stripe", "closed", 30, 5)
    opened = document(run, shop, "breakers", "open", "stripe", "--as", "ada", "--reason", "maintenance")
    assert (opened["phase"], opened["by"], opened["why"], opened["until"]) == ("open", "ada", "maintenance", None)
    text = run("breakers", "show", "stripe", "--database", shop.url).stdout
    assert "maintenance" in text
    assert "charge" in text
    assert "open" in run("breakers", "list", "--database", shop.url).stdout
    closed = document(run, shop, "breakers", "close", "dependency:stripe", "--as", "ada")
    assert (closed["phase"], closed["good"], closed["bad"]) == ("closed", 0, 0)
    audit = run("audit", "--database", shop.url).stdout
    assert "open breaker" in audit
    assert "close breaker" in audit


def test_types_are_listed_when_they_have_something_to_tell(run: Run, shop: Shop) -> None:
    names = [item["name"] for item in document(run, shop, "breakers", "list")["breakers"]]
    assert names == ["dependency:stripe"]
    count(shop, Count("type:greet", 1, 1, 60.0))
    names = [item["name"] for item in document(run, shop, "breakers", "list")["breakers"]]
    assert names == ["dependency:stripe", "type:greet"]
    assert len(document(run, shop, "breakers", "list", "--all")["breakers"]) == 4


def test_an_unknown_breaker_is_an_error_that_says_which_there_are(run: Run, shop: Shop) -> None:
    result = run("breakers", "open", "paypal", "--database", shop.url)
    assert result.exit_code == 3
    assert "dependency:stripe" in result.stderr
    assert run("breakers", "open", "a b", "--database", shop.url).exit_code == 1


def test_a_type_is_quarantined_and_released(run: Run, shop: Shop) -> None:
    assert document(run, shop, "quarantine", "put", "greet", "--as", "ada", "--reason", HOSTILE) == {
        "type": "greet", "quarantined": True,
    }  # fmt: skip
    (item,) = document(run, shop, "quarantine", "list")["quarantined"]
    assert (item["type"], item["by"], item["why"]) == ("greet", "ada", HOSTILE)
    assert "\x1b" not in run("quarantine", "list", "--database", shop.url).stdout
    assert item["attempts"] == 0
    run("quarantine", "put", "greet", "--attempts", "2", "--database", shop.url)
    assert document(run, shop, "quarantine", "list")["quarantined"][0]["attempts"] == 2
    assert "released" in run("quarantine", "release", "greet", "--database", shop.url).stdout
    assert "no job type is in quarantine" in run("quarantine", "list", "--database", shop.url).stdout
    assert run("quarantine", "release", "greet", "--database", shop.url).exit_code == 3
    assert run("quarantine", "put", "unknown", "--database", shop.url).exit_code == 3


def test_budgets_are_listed_set_and_reset(run: Run, shop: Shop) -> None:
    assert "no tenant had retries" in run("budgets", "list", "--database", shop.url).stdout
    count(shop, Count("tenant:acme", 10, 300, 60.0))
    (item,) = document(run, shop, "budgets", "list")["budgets"]
    assert (item["tenant"], item["first_attempts"], item["retries"], item["allowed"]) == ("acme", 10, 300, 120.0)
    assert (item["used_up"], item["own"]) == (True, False)
    assert "yes" in run("budgets", "list", "--database", shop.url).stdout
    run("budgets", "set", "acme", "--ratio", "50", "--floor", "7", "--database", shop.url)
    (item,) = document(run, shop, "budgets", "list")["budgets"]
    assert (item["allowed"], item["used_up"], item["own"], item["beyond"]) == (507.0, False, True, "dead")
    run("budgets", "set", "acme", "--ratio", "50", "--beyond", "delay", "--database", shop.url)
    assert document(run, shop, "budgets", "list")["budgets"][0]["beyond"] == "delay"
    assert run("budgets", "set", "acme", "--beyond", "dreams", "--database", shop.url).exit_code != 0
    assert "no limit" in run("budgets", "set", "acme", "--database", shop.url).stdout
    assert document(run, shop, "budgets", "list")["budgets"][0]["allowed"] is None
    run("budgets", "reset", "acme", "--database", shop.url)
    assert document(run, shop, "budgets", "list")["budgets"][0]["own"] is False
