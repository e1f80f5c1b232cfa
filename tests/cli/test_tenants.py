"""`fairlead tenants`, `fairlead shares` and `fairlead pools`."""

import json

import pytest

from tests.cli.conftest import Run, Shop


def test_a_tenants_life(run: Run, any_shop: Shop) -> None:
    database = ("--database", any_shop.url)
    assert run("tenants", "list", *database).stdout.startswith("no tenant was set up")
    made = run("tenants", "add", "acme", "--tier", "pro", "--reason", "signed", *database)
    assert made.stdout == "acme: pro, weight 100, at least 1.0% of a pool\n"
    again = run("tenants", "add", "acme", *database)
    assert (again.exit_code, "set up already" in again.stderr) == (1, True)
    assert "weight 42" in run("tenants", "set", "acme", "--weight", "42", *database).stdout
    listed = json.loads(run("tenants", "list", "--json", *database).stdout)["tenants"]
    assert [(item["tenant"], item["tier"], item["weight"]) for item in listed] == [("acme", "pro", 42.0)]
    assert "acme" in run("tenants", "list", *database).stdout
    assert "weight 100" in run("tenants", "set", "acme", "--plain", *database).stdout
    assert run("tenants", "remove", "acme", *database).exit_code == 0
    assert "tenants.set" in run("audit", *database).stdout


def test_a_new_tenant_has_the_default_tier_and_shows_its_depth(run: Run, shop: Shop) -> None:
    database = ("--database", shop.url)
    assert run("tenants", "default", "free", *database).exit_code == 0
    shop.enqueue(shop.greet, [{"name": "x"}] * 2, tenant="new")
    shown = json.loads(run("tenants", "show", "new", "--json", *database).stdout)
    assert (shown["tier"], shown["set_up"], shown["waiting"], shown["ledger"]) == ("free", False, 2, [])


@pytest.mark.parametrize(
    "arguments",
    [
        ("tenants", "set", "acme"),
        ("tenants", "set", "acme", "--weight", "heavy"),
        ("pools", "set", "long"),
        ("pools", "set", "long", "--concurrency", "0"),
        ("shares", "--window", "soon"),
    ],
)
def test_wrong_usage_is_said(run: Run, shop: Shop, arguments: tuple[str, ...]) -> None:
    assert run(*arguments, "--database", shop.url).exit_code == 2


def test_what_was_delivered_shows_up_in_the_shares(run: Run, any_shop: Shop) -> None:
    database = ("--database", any_shop.url)
    assert run("shares", *database).stdout == "nothing ran or waited in this window\n"
    any_shop.work((any_shop.greet, {"name": "x"}))
    document = json.loads(run("shares", "--json", *database).stdout)
    (line,) = document["shares"]
    assert (line["tenant"], line["pool"]) == ("default", "medium")
    assert line["delivered"] > 0
    assert "Jain" in run("shares", "--window", "1h", *database).stdout


def test_pools_are_listed_and_changed(run: Run, shop: Shop) -> None:
    database = ("--database", shop.url)
    assert "beside others" in run("pools", "list", *database).stdout
    assert (
        run(
            "pools",
            "set",
            "long",
            "--concurrency",
            "7",
            "--longest",
            "2h",
            "--attempts",
            "4",
            "--lease",
            "5m",
            *database,
        ).exit_code
        == 0
    )
    listed = json.loads(run("pools", "list", "--json", *database).stdout)
    long = next(pool for pool in listed["pools"] if pool["pool"] == "long")
    assert (long["concurrency"], long["longest"], long["concurrency_beside_others_only"]) == (7, 7200.0, False)
    assert (long["attempts"], long["timeout"], long["lease"]) == (4, None, 300.0)
    assert run("pools", "reset", "long", *database).exit_code == 0
