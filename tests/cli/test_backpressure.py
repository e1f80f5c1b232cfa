"""`fairlead backpressure`."""

import json

import pytest

from tests.cli.conftest import Run, Shop


def test_bounds_are_set_listed_and_removed(run: Run, shop: Shop) -> None:
    url = ("--database", shop.url)
    assert run("backpressure", "list", *url).stdout == "no bounds on submissions\n"
    assert run("backpressure", "depth", "tenant", "acme", "--waiting", "100", *url).exit_code == 0
    assert run("backpressure", "rate", "tier", "free", "--rate", "60/m", "--burst", "5", *url).exit_code == 0
    assert run("backpressure", "overload", "--waiting", "9", "--action", "defer", "--delay", "5m", *url).exit_code == 0
    document = json.loads(run("backpressure", "list", "--json", *url).stdout)
    assert document == {
        "depths": {"tenant:acme": 100},
        "rates": {"tier:free": {"rate": 1.0, "burst": 5.0}},
        "overload": {"waiting": 9, "action": "defer", "below": "default", "delay": 300.0},
        "counts": [],
    }
    shown = run("backpressure", "list", *url).stdout
    for words in ("100 waiting", "1/s, burst 5", "from 9 ready: defer for 5m below default"):
        assert words in shown
    assert run("backpressure", "depth", "tenant", "acme", "--remove", *url).exit_code == 0
    assert run("backpressure", "rate", "tier", "free", "--remove", *url).exit_code == 0
    assert run("backpressure", "overload", "--remove", *url).exit_code == 0
    assert run("backpressure", "list", *url).stdout == "no bounds on submissions\n"


def test_a_refused_submission_says_so_and_counts(run: Run, shop: Shop) -> None:
    shop.register()
    url = ("--database", shop.url)
    assert run("backpressure", "depth", "tenant", "default", "--waiting", "0", *url).exit_code == 0
    result = run("enqueue", "greet", '{"name": "ada"}', *url)
    assert result.exit_code == 1
    assert "TENANT_QUEUE_FULL" in result.stderr
    told = json.loads(run("enqueue", "greet", '{"name": "ada"}', "--json", *url).stderr)["error"]
    assert (told["code"], told["retry_after"] > 0) == ("TENANT_QUEUE_FULL", True)
    (count,) = json.loads(run("backpressure", "list", "--json", *url).stdout)["counts"]
    assert count == {"tenant": "default", "code": "TENANT_QUEUE_FULL", "jobs": 2}


@pytest.mark.parametrize(
    "arguments",
    [
        "depth pool short --waiting 1", "depth tier gold --waiting 1", "rate tier gold --rate 1/s",
        "depth tenant acme", "depth tenant acme --waiting 1 --remove",
        "depth tenant acme --remove", "rate tenant acme --rate often", "overload --waiting 1 --action panic",
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(run: Run, shop: Shop, arguments: str) -> None:
    result = run("backpressure", *arguments.split(), "--database", shop.url)
    assert result.exit_code != 0
    assert result.stderr.startswith("error: ")
