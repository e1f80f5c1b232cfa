"""`fairlead callbacks`."""

import asyncio
import json
from typing import Any

import pytest

from fairlead.core.jobs.ids import make_ids
from fairlead.core.web.callbacks import Delivered
from tests.cli.conftest import HOSTILE, Run, Shop

HOOK = "https://hooks.example.org/fairlead"


def as_json(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_an_endpoint_is_made_listed_changed_and_removed(run: Run, shop: Shop) -> None:
    on = ("--database", shop.url)
    made = run("callbacks", "set", "orders", "--url", HOOK, "--tenant", "acme", "--event", "job.dead", *on)
    assert made.exit_code == 0
    assert made.stdout.startswith("whsec_")
    (listed,) = as_json(run("callbacks", "list", "--json", *on))["callbacks"]
    assert (listed["name"], listed["tenant"], listed["events"]) == ("orders", "acme", ["job.dead"])
    assert "whsec_" not in run("callbacks", "list", *on).stdout
    mine = ("--tenant", "acme", *on)
    rotated = as_json(run("callbacks", "rotate", "orders", "--overlap", "1h", "--json", *mine))
    assert rotated["secret"] != made.stdout.strip()
    assert rotated["secrets"] == 2
    changed = as_json(run("callbacks", "set", "orders", "--url", HOOK + "/2", "--json", *mine))
    assert changed["url"] == HOOK + "/2"
    assert run("callbacks", "set", "orders", *mine).exit_code == 2
    assert as_json(run("callbacks", "set", "orders", "--disable", "--json", *mine))["enabled"] is False
    assert "disabled" in run("callbacks", "list", *on).stdout
    assert run("callbacks", "test", "orders", *mine).exit_code == 1
    assert as_json(run("callbacks", "set", "orders", "--enable", "--json", *mine))["enabled"] is True
    assert run("callbacks", "remove", "orders", *mine).exit_code == 0
    gone = run("callbacks", "show", "orders", *mine)
    assert gone.exit_code == 3
    assert "CALLBACK_NOT_FOUND" in gone.output
    assert run("callbacks", "list", *on).stdout == "no callback endpoints\n"


@pytest.mark.parametrize("url", ["http://example.org/", "https://10.0.0.1/", "nonsense"])
def test_a_url_that_may_not_be_called_is_refused(run: Run, shop: Shop, url: str) -> None:
    refused = run("callbacks", "set", "orders", "--url", url, "--database", shop.url)
    assert refused.exit_code == 1
    assert "EGRESS_REFUSED" in refused.output


def test_a_job_is_submitted_with_a_callback(run: Run, shop: Shop) -> None:
    shop.register()
    submit = ("enqueue", "greet", '{"name": "ann"}', "--callback", "orders", "--database", shop.url)
    refused = run(*submit)
    assert refused.exit_code == 1
    assert "UNKNOWN_CALLBACK" in refused.output
    run("callbacks", "set", "orders", "--url", HOOK, "--database", shop.url)
    job_id = as_json(run(*submit, "--json"))["id"]
    shown = as_json(run("jobs", "show", job_id, "--json", "--database", shop.url))
    assert shown["callback"] == "orders"


def test_the_log_is_shown_and_a_delivery_repeated(run: Run, shop: Shop) -> None:
    on = ("--database", shop.url)
    run("callbacks", "set", "orders", "--url", HOOK, *on)
    assert run("callbacks", "show", "orders", *on).stdout.endswith("nothing was sent yet\n")
    sent = as_json(run("callbacks", "test", "orders", "--json", *on))
    log_one(shop, Delivered(sent["delivery"], None, sent["message"], "ping", 1, 503, 0.25, HOSTILE))
    shown = run("callbacks", "show", "orders", *on).stdout
    assert sent["delivery"] in shown
    assert "\x1b" not in shown
    (entry,) = as_json(run("callbacks", "show", "orders", "--json", *on))["deliveries"]
    assert (entry["status"], entry["error"], entry["job_id"]) == (503, HOSTILE, None)
    again = as_json(run("callbacks", "redeliver", "orders", sent["delivery"], "--json", *on))
    assert again["message"] == sent["message"]
    missing = run("callbacks", "redeliver", "orders", make_ids(1, 1.0)[0], *on)
    assert missing.exit_code == 3


def log_one(shop: Shop, tried: Delivered) -> None:
    async def log() -> None:
        async with shop.app:
            store = await shop.app.store()
            (known,) = await store.callbacks.read([("", "orders")])
            assert await store.callbacks.log_delivery(known, tried)

    asyncio.run(log())
