"""Declarations of job types, and payloads that older versions wrote."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest

from fairlead.core.jobs.retry import Retry
from fairlead.errors import ConfigError, InvalidArguments, UnknownType
from fairlead.handlers.spec import HandlerSpec, Registry, declare


def send(to: str, count: int = 1) -> None: ...
async def send_async(to: str) -> None: ...
def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


def spec(function: Any = send, name: str = "mail", **changes: Any) -> HandlerSpec:
    given = {"pool": "default", "version": 1, "timeout": None, "retry": Retry(), "retention": None, "upgrade": None}
    return declare(name, function, **{**given, **changes})


def upgrade(payload: dict[str, Any], version: int) -> dict[str, Any]:
    """Version 1 had `recipient`, version 2 has `to`."""
    if version < 2:
        payload["to"] = payload.pop("recipient")
    return payload


def test_an_older_payload_is_upgraded() -> None:
    assert spec(version=3, upgrade=upgrade).load('{"recipient":"ann"}', 1) == {"to": "ann"}


def test_an_upgrade_knows_the_version_that_wrote_the_payload() -> None:
    seen: list[int] = []

    def record(payload: dict[str, Any], version: int) -> dict[str, Any]:
        seen.append(version)
        return payload

    declared = spec(version=3, upgrade=record)
    for version in (1, 2, 3):
        declared.load('{"to":"ann"}', version)
    assert seen == [1, 2]


def test_a_payload_of_the_same_version_is_not_upgraded() -> None:
    with pytest.raises(InvalidArguments):
        spec(version=2, upgrade=upgrade).load('{"recipient":"ann"}', 2)


def test_what_an_upgrade_returns_is_checked() -> None:
    with pytest.raises(InvalidArguments):
        spec(version=2, upgrade=lambda payload, version: {"count": "many"}).load('{"to":"ann"}', 1)


def test_without_an_upgrade_an_older_payload_is_taken_as_it_is() -> None:
    assert spec(version=2).load('{"to":"ann"}', 1) == {"to": "ann"}


def test_a_declaration_tells_whether_it_is_async() -> None:
    assert spec(send_async).is_async
    assert not spec(send).is_async


def test_durations_become_seconds() -> None:
    declared = spec(timeout="5m", retention="7d")
    assert (declared.timeout, declared.retention) == (300, 604800)


def test_a_declaration_becomes_a_type_for_the_store() -> None:
    job_type = spec(version=2, timeout=5).job_type()
    assert (job_type.name, job_type.version, job_type.pool) == ("mail", 2, "default")
    assert job_type.settings["timeout"] == 5
    assert job_type.settings["retry"]["attempts"] == Retry().attempts
    assert set(job_type.schema["properties"]) == {"to", "count"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a b"},
        {"name": ""},
        {"pool": "-"},
        {"version": 0},
        {"timeout": -1},
        {"timeout": 0},
        {"retry": 3},
        {"retention": "long"},
    ],
)
def test_a_declaration_that_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        spec(**wrong)


@pytest.mark.parametrize("function", [generator, async_generator])
def test_a_generator_is_refused(function: Any) -> None:
    with pytest.raises(ConfigError, match="generator"):
        spec(function)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'mail' is functools\.partial.*write one that calls it"):
        spec(partial(send, count=2))


def test_a_registry_finds_types_by_name() -> None:
    registry = Registry()
    registry.add(spec())
    registry.add(spec(name="report"))
    assert registry["mail"].name == "mail"
    assert (list(registry), len(registry), "mail" in registry, "x" in registry) == (["mail", "report"], 2, True, False)


def test_a_name_can_be_declared_once() -> None:
    registry = Registry()
    registry.add(spec())
    with pytest.raises(ConfigError, match="twice"):
        registry.add(spec())


def test_an_unknown_type_is_refused_with_those_that_are_known() -> None:
    registry = Registry()
    registry.add(spec())
    with pytest.raises(UnknownType, match=r"no job type 'mial'.*mail"):
        registry["mial"]
