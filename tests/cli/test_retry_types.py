"""`fairlead types show`: the timeline of attempts, from code and from the database."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, Shop

MODULE = """
import fairlead

app = fairlead.App("sqlite:///:memory:")


@app.handler("mail", policies={"dependency": fairlead.Retry.fixed("10s", attempts=30, jitter="none")})
async def mail() -> None: ...


@app.handler("own", retry=fairlead.Retry(attempts=3, backoff=lambda attempt: 60 * attempt, max_age="1h"))
async def own() -> None: ...
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "preview_shop.py").write_text(MODULE, encoding="utf-8")
    return "preview_shop:app"


def attempts(document: dict[str, Any], failure: str) -> list[list[float]]:
    return [list(step.values()) for step in document["retries"][failure]["attempts"]]


def test_a_type_in_code(run: Run, path: str) -> None:
    document = json.loads(run("types", "show", "mail", "--app", path, "--json").stdout)
    assert attempts(document, "application")[:3] == [[1, 0, 0, 0], [2, 0, 0.5, 1], [3, 0, 3, 6]]
    assert attempts(document, "dependency")[19] == [20, 190, 190, 190]
    counts = {failure: len(attempts(document, failure)) for failure in document["retries"]}
    assert counts == {
        "application": 5, "timeout": 3, "dependency": 20, "crash": 3, "resource": 2, "permanent": 1, "poison": 2
    }  # fmt: skip


def test_a_function_is_asked_where_it_is(run: Run, path: str) -> None:
    result = run("types", "show", "own", "--app", path)
    assert "3 attempts, backoff custom, jitter none, none later than 1h after the submission" in result.stdout
    assert "+3m" in result.stdout


def test_a_drawing_for_people(run: Run, path: str) -> None:
    result = run("types", "show", "mail", "--app", path)
    assert result.exit_code == 0
    assert "30 attempts, backoff fixed, jitter none" in result.stdout
    assert "and 10 more, the last at +4m50s to +4m50s" in result.stdout
    assert "permanent is not retried" in result.stdout
    assert "dead after 3 lost workers" in result.stdout
    assert "●" in result.stdout
    assert max(map(len, result.stdout.splitlines())) < 110


def test_a_type_in_the_database(run: Run, any_shop: Shop) -> None:
    result = run("types", "show", "greet", "--database", any_shop.url, "--json")
    document = json.loads(result.stdout)
    assert document["retries"]["application"]["policy"] == {
        "attempts": 4, "backoff": "exponential", "first": 2.0, "factor": 2.0, "cap": 1800.0, "jitter": "full"
    }  # fmt: skip
    assert attempts(document, "application")[3] == [4, 0, 7, 14]
    assert len(attempts(document, "timeout")) == 3


def test_what_a_type_does_not_declare_follows_from_its_pool_as_it_is_set(run: Run, any_shop: Shop) -> None:
    any_shop.app.handler("plain", pool="long")(any_shop.greet)
    any_shop.register()
    asked = ("types", "show", "plain", "--database", any_shop.url)
    assert "a run is never stopped" in run(*asked).stdout
    before = json.loads(run(*asked, "--json").stdout)
    assert (before["timeout"], len(attempts(before, "application"))) == (None, 2)
    changes = ("attempts=7", "timeout=90s", "--reason", "a long night")
    assert run("settings", "set", "pool", "long", *changes, "--database", any_shop.url).exit_code == 0
    after = json.loads(run(*asked, "--json").stdout)
    assert (after["timeout"], len(attempts(after, "application")), len(attempts(after, "timeout"))) == (90, 7, 3)
    assert "a run is stopped after 1m30s" in run(*asked).stdout
    shown = json.loads(run("types", "show", "plain", "--database", any_shop.url, "--json").stdout)
    assert (shown["timeout"], shown["retries"]) == (90, after["retries"])
    greet = json.loads(run("types", "show", "greet", "--database", any_shop.url, "--json").stdout)
    assert len(attempts(greet, "application")) == 4


def test_a_type_that_nobody_knows(run: Run, shop: Shop, path: str) -> None:
    assert run("types", "show", "nothing", "--database", shop.url).exit_code == 3
    assert run("types", "show", "nothing", "--app", path).exit_code == 3
