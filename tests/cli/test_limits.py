"""`fairlead limits`."""

import json

from tests.cli.conftest import Run, Shop


def test_limits_are_set_listed_and_removed(run: Run, shop: Shop) -> None:
    assert run("limits", "list", "--database", shop.url).stdout == "no limits\n"
    result = run(
        "limits", "set", "tenant", "acme", "--concurrent", "3", "--rate", "10/s", "--reason", "a flood",
        "--database", shop.url,
    )  # fmt: skip
    assert result.stdout == "the limit of tenant acme is set\n"
    (found,) = json.loads(run("limits", "list", "--json", "--database", shop.url).stdout)["limits"]
    assert found == {
        "scope": "tenant", "name": "acme", "concurrent": 3, "rate": 10.0, "burst": 10.0, "set_by": "operator",
        "running": 0, "tokens": 10.0, "each": False, "version": 1,
    }  # fmt: skip
    shown = run("limits", "list", "--database", shop.url).stdout
    assert "acme" in shown
    assert "10/s, burst 10" in shown
    assert "10/s, burst 10" in run("limits", "show", "tenant", "acme", "--database", shop.url).stdout
    assert json.loads(run("limits", "show", "tenant", "acme", "--json", "--database", shop.url).stdout)["holders"] == []
    assert run("limits", "remove", "tenant", "acme", "--database", shop.url).exit_code == 0
    assert run("limits", "show", "tenant", "acme", "--database", shop.url).exit_code == 3
    assert run("limits", "list", "--database", shop.url).stdout == "no limits\n"


def test_what_cannot_be_limited_is_refused(run: Run, shop: Shop) -> None:
    for arguments, reason in [
        (("set", "planet", "earth", "--concurrent", "1"), "cannot be limited"),
        (("set", "tenant", "acme"), "say what the limit is"),
        (("set", "tenant", "acme", "--unlimited", "--concurrent", "1"), "say what the limit is"),
        (("set", "tenant", "acme", "--rate", "often"), "is not a rate"),
        (("remove", "tenant", "acme"), "no limit is set"),
    ]:
        result = run("limits", *arguments, "--database", shop.url)
        assert result.exit_code != 0
        assert reason in result.stderr
