"""`fairlead settings`, `fairlead pause` and `fairlead resume`."""

import asyncio
import json
from typing import Any

import pytest

from fairlead.core.protection.run_counts import Count
from fairlead.operate.settings import KINDS
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


def settings(run: Run, shop: Shop, *arguments: str) -> Any:
    """The JSON of a command; of settings the fields and the figures beside them on one level."""
    result = run("settings", *arguments, "--database", shop.url, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    return {"settings": [flat(item) for item in found["settings"]]} if "settings" in found else flat(found)


def flat(document: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in document.items() if name not in ("value", "state")}
    return {**rest, **(document.get("value") or {}), **document.get("state", {})}


def text(run: Run, shop: Shop, *arguments: str) -> str:
    result = run("settings", *arguments, "--database", shop.url)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_kinds_say_what_can_be_set(run: Run, shop: Shop) -> None:
    shown = run("settings", "kinds").stdout
    for kind in KINDS.values():
        assert kind.name in shown
        assert kind.about in shown
    assert [item["name"] for item in json.loads(run("settings", "kinds", "--json").stdout)["kinds"]] == list(KINDS)


def test_a_limit_is_set_shown_listed_and_removed(run: Run, shop: Shop) -> None:
    assert text(run, shop, "list").startswith("nobody has set anything")
    made = settings(run, shop, "set", "limit", "tenant:acme", "concurrent=3", "rate=10/s", "--reason", "a flood")
    assert made.pop("set_at")
    assert made == {
        "kind": "limit", "name": "tenant:acme", "concurrent": 3, "rate": 10.0, "burst": 10.0, "running": 0,
        "tokens": 10.0, "each": False, "set_by": "operator", "version": 1,
    }  # fmt: skip
    shown = settings(run, shop, "show", "limit", "tenant:acme")
    assert (shown["concurrent"], shown["holders"]) == (3, [])
    assert "10/s" in text(run, shop, "show", "limit", "tenant:acme")
    assert "tenant:acme" in text(run, shop, "list", "limit")
    assert "concurrent=3" in text(run, shop, "list")
    changed = settings(run, shop, "set", "limit", "tenant:acme", "concurrent=4")
    assert (changed["concurrent"], changed["rate"]) == (4, 10.0)
    replaced = settings(run, shop, "set", "limit", "tenant:acme", "concurrent=5", "--replace")
    assert (replaced["concurrent"], replaced["rate"]) == (5, None)
    assert settings(run, shop, "remove", "limit", "tenant:acme")["removed"] is True
    gone = run("settings", "show", "limit", "tenant:acme", "--database", shop.url)
    assert (gone.exit_code, "fairlead settings list limit" in gone.stderr) == (3, True)
    audit = json.loads(run("audit", "--json", "--database", shop.url).stdout)["entries"]
    assert (audit[-1]["action"], audit[-1]["target"], audit[-1]["details"]["reason"]) == (
        "set limit", "tenant acme", "a flood",
    )  # fmt: skip


def test_backpressure_is_set_and_its_refusals_are_counted(run: Run, shop: Shop) -> None:
    settings(run, shop, "set", "depth", "tenant:default", "waiting=0")
    settings(run, shop, "set", "submission", "tier:free", "rate=60/m", "burst=5")
    overload = settings(run, shop, "set", "overload", "policy", "waiting=9", "action=defer", "delay=5m")
    assert (overload["below"], overload["delay"], overload["deferred"]) == ("default", 300.0, 0)
    refused = json.loads(run("enqueue", "greet", '{"name": "ada"}', "--json", "--database", shop.url).stderr)["error"]
    assert (refused["code"], refused["retry_after"] > 0) == ("TENANT_QUEUE_FULL", True)
    (depth,) = settings(run, shop, "list", "depth")["settings"]
    assert (depth["waiting"], depth["refused"]) == (0, 1)
    (rate,) = settings(run, shop, "list", "submission")["settings"]
    assert (rate["rate"], rate["burst"], rate["refused"]) == (1.0, 5.0, 0)
    assert "5m" in text(run, shop, "list", "overload")


def test_a_breaker_is_opened_and_closed_by_hand(run: Run, shop: Shop) -> None:
    count(shop, Count("dependency:stripe", 30, 5, 60.0))
    (listed,) = settings(run, shop, "list", "breaker")["settings"]
    assert (listed["name"], listed["phase"], listed["good"], listed["bad"]) == ("dependency:stripe", "closed", 30, 5)
    opened = settings(run, shop, "set", "breaker", "stripe", "--as", "ada", "--reason", "maintenance")
    assert (opened["phase"], opened["by"], opened["why"], opened["until"]) == ("open", "ada", "maintenance", None)
    assert "maintenance" in text(run, shop, "show", "breaker", "stripe")
    assert "charge" in text(run, shop, "show", "breaker", "stripe")
    settings(run, shop, "remove", "breaker", "dependency:stripe")
    closed = settings(run, shop, "show", "breaker", "stripe")
    assert (closed["phase"], closed["good"], closed["bad"]) == ("closed", 0, 0)
    unknown = run("settings", "set", "breaker", "paypal", "--database", shop.url)
    assert (unknown.exit_code, "dependency:stripe" in unknown.stderr) == (3, True)


def test_a_type_is_quarantined_and_released(run: Run, shop: Shop) -> None:
    settings(run, shop, "set", "quarantine", "greet", "--as", "ada", "--reason", HOSTILE)
    (item,) = settings(run, shop, "list", "quarantine")["settings"]
    assert (item["name"], item["by"], item["why"], item["attempts"]) == ("greet", "ada", HOSTILE, 0)
    assert "\x1b" not in text(run, shop, "list", "quarantine")
    assert settings(run, shop, "set", "quarantine", "greet", "attempts=2")["attempts"] == 2
    settings(run, shop, "remove", "quarantine", "greet")
    assert text(run, shop, "list", "quarantine") == "no quarantine is in force\n"


def test_retry_budgets(run: Run, shop: Shop) -> None:
    count(shop, Count("tenant:acme", 10, 300, 60.0))
    (item,) = settings(run, shop, "list", "budget")["settings"]
    assert (item["name"], item["first_attempts"], item["retries"], item["allowed"]) == ("acme", 10, 300, 120.0)
    assert (item["used_up"], item["version"]) == (True, 0)
    item = settings(run, shop, "set", "budget", "acme", "ratio=50", "floor=7", "beyond=delay")
    assert (item["allowed"], item["used_up"], item["beyond"]) == (507.0, False, "delay")
    assert settings(run, shop, "set", "budget", "acme", "ratio=none")["allowed"] is None


def test_pools_and_tenants(run: Run, shop: Shop) -> None:
    long = settings(run, shop, "set", "pool", "long", "concurrency=7", "longest=2h", "attempts=4", "lease=5m")
    assert (long["concurrency"], long["longest"], long["beside_others_only"]) == (7, 7200.0, False)
    assert (long["attempts"], long["timeout"], long["lease"]) == (4, None, 300.0)
    assert "2h" in text(run, shop, "list", "pool")
    settings(run, shop, "set", "tenant", "*", "tier=free")
    assert settings(run, shop, "show", "tenant", "new")["tier"] == "free"
    made = settings(run, shop, "set", "tenant", "acme", "tier=pro")
    assert (made["tier"], made["weight"], made["minimum"]) == ("pro", 100.0, 0.01)
    assert settings(run, shop, "set", "tenant", "acme", "weight=42")["weight"] == 42.0


def test_pausing_and_resuming(run: Run, shop: Shop) -> None:
    on = ("--database", shop.url)
    assert text(run, shop, "list", "pause") == "no pause is in force\n"
    assert run("pause", "type", "greet", "--reason", HOSTILE, "--as", "ada", *on).exit_code == 0
    (found,) = settings(run, shop, "list", "pause")["settings"]
    assert (found["name"], found["why"]) == ("type:greet", HOSTILE)
    assert "\x1b" not in text(run, shop, "list", "pause")
    assert run("resume", "type", "greet", *on).stdout == "type greet is no longer paused\n"
    assert settings(run, shop, "list", "pause") == {"settings": []}
    assert "must be one of type, tenant, pool" in run("pause", "worker", "x", *on).stderr


def test_a_typing_mistake_pauses_nothing(run: Run, shop: Shop) -> None:
    """A pause of a type that nobody registered would look like one that works."""
    wrong = run("pause", "type", "gret", "--database", shop.url)
    assert wrong.exit_code == 3
    assert "did you mean 'greet'" in wrong.stderr
    assert settings(run, shop, "list", "pause") == {"settings": []}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("set limits tenant:acme concurrent=1", 1, "the kinds are"),
        ("set limit tenant:acme concurrent", 2, "is not FIELD=VALUE"),
        ("set limit tenant:acme", 1, "say what the limit is"),
        ("set limit planet:earth concurrent=1", 1, "cannot be limited"),
        ("set limit tenant:acme rate=often", 1, "is not a rate"),
        ("set limit tenant:acme unlimited=perhaps", 1, "must be yes or no"),
        ("set depth pool:short waiting=1", 1, "cannot be bounded"),
        ("set overload policy waiting=1 action=panic", 1, "must be one of"),
        ("set budget acme beyond=dreams", 1, "must be one of dead, delay"),
        ("set pool long concurrency=0", 1, "must be between"),
        ("list limt", 1, "the kinds are"),
    ],
)
def test_what_cannot_be_set_is_refused(run: Run, shop: Shop, arguments: str, code: int, words: str) -> None:
    result = run("settings", *arguments.split(), "--database", shop.url)
    assert result.exit_code == code
    assert words in result.stderr
