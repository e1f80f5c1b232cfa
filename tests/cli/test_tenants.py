"""`fairlead tenants`."""

import json

from tests.cli.conftest import Run, Shop


def test_tenants_are_listed_and_shown_with_what_is_in_force(run: Run, any_shop: Shop) -> None:
    database = ("--database", any_shop.url)
    assert run("tenants", "list", *database).stdout.startswith("no tenant was set up")
    run("settings", "set", "tenant", "acme", "tier=pro", *database)
    run("settings", "set", "depth", "tenant:acme", "waiting=9", *database)
    any_shop.enqueue(any_shop.greet, [{"name": "x"}] * 2, tenant="acme")
    (listed,) = json.loads(run("tenants", "list", "--json", *database).stdout)["tenants"]
    assert (listed["name"], listed["tier"], listed["waiting"], listed["set_up"]) == ("acme", "pro", 2, True)
    assert "acme" in run("tenants", "list", *database).stdout
    shown = json.loads(run("tenants", "show", "acme", "--json", *database).stdout)
    assert (shown["effective_weight"], shown["depth"], shown["ledger"]) == (100.0, 9, [])
    text = run("tenants", "show", "acme", *database).stdout
    assert text.startswith("acme: pro, weight 100, at least 1.0% of a pool\nwaiting: 2 of at most 9\n")


def test_what_was_delivered_shows_up_in_the_shares(run: Run, any_shop: Shop) -> None:
    database = ("--database", any_shop.url)
    assert run("tenants", "shares", *database).stdout == "nothing ran or waited in this window\n"
    any_shop.work((any_shop.greet, {"name": "x"}))
    document = json.loads(run("tenants", "shares", "--json", *database).stdout)
    (line,) = document["shares"]
    assert (line["tenant"], line["pool"]) == ("default", "medium")
    assert line["delivered"] > 0
    assert "Jain" in run("tenants", "shares", "--window", "1h", *database).stdout
    assert run("tenants", "shares", "--window", "soon", *database).exit_code == 2
