"""Reading scenarios: everything that does not fit is named at once."""

from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import ConfigError
from fairlead.sim.scenario import Scenario, make_scenario, read_scenario
from tests.sim.making import scenario

SHIPPED = sorted((Path(__file__).parents[2] / "examples" / "scenarios").glob("*.toml"))
TYPES = {"a": {"mean": "1s"}}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_scenarios_can_be_read(path: Path) -> None:
    assert isinstance(read_scenario(path), Scenario)


def test_all_errors_are_reported_together() -> None:
    values = {
        "pools": {"p": {"slots": 0}},
        "types": {"a": {"pool": "p", "duration": {"mean": "soon"}}},
        "tenants": [{"name": "one", "pattern": "at-once"}, {"name": "two", "rate": "5/week"}],
        "sede": 1,
    }
    with pytest.raises(ConfigError) as caught:
        make_scenario(values)
    for words in ("pools.p.slots", "not a duration", "at-once needs jobs", "5/week", "sede"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("tenant", "message"),
    [
        ({"rate": 1, "types": ["b"]}, "type b"),
        ({"pattern": "backlog", "rate": 1}, "does not go with"),
        ({"rate": 1, "begin": 5, "end": 5}, "later than begin"),
        ({"rate": 1, "weight": 0}, "a weight must be"),
        ({"rate": 1, "tier": "gold"}, "tier"),
        ({"rate": 1, "name": "@free"}, "name"),
        ({"rate": True}, "not a rate"),
    ],
)
def test_tenants_that_cannot_be(tenant: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        scenario([{"name": "one", **tenant}], TYPES)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"pool": {"workers": 11}}, "a slot each"),
        ({"length": 10, "warm_up": 10}, "nothing would be measured"),
    ],
)
def test_pools_that_cannot_be(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        scenario([{"name": "one", "rate": 1}], TYPES, 10, **more)


def test_two_tenants_of_one_name() -> None:
    with pytest.raises(ConfigError, match="two tenants are called one"):
        scenario([{"name": "one", "rate": 1}] * 2, TYPES)


@pytest.mark.parametrize(
    ("text", "rate"), [("86400/day", 1.0), ("30/min", 0.5), ("2", 2.0), (3, 3.0), ("7200 / h", 2.0)]
)
def test_rates(text: Any, rate: float) -> None:
    assert scenario([{"name": "one", "rate": text}], TYPES).tenants[0].rate == rate


def test_a_file_that_is_not_toml(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("name = ")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_scenario(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_scenario(tmp_path / "missing.toml")
