"""`fairlead alerts`."""

import json

from tests.cli.conftest import HOSTILE, Run, Shop


def test_alerts_say_what_is_wrong_and_what_to_do(run: Run, any_shop: Shop) -> None:
    shop = any_shop
    well = run("alerts", "--database", shop.url)
    assert (well.exit_code, "All is well" in well.stdout) == (0, True)
    run("pause", "type", "greet", "--reason", HOSTILE, "--database", shop.url)
    run("enqueue", "greet", '{"name": "a"}', "--database", shop.url)
    found = json.loads(run("alerts", "--json", "--database", shop.url).stdout)
    assert found["level"] == "problem"
    assert [(alert["level"], alert["code"]) for alert in found["alerts"]] == [
        ("problem", "NO_WORKER"), ("warning", "PAUSED"),
    ]  # fmt: skip
    assert "fairlead worker APP --pool" in found["alerts"][0]["hint"]
    table = run("alerts", "--database", shop.url).stdout
    assert "NO_WORKER" in table
    assert "\x1b" not in table
