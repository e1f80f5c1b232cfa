"""Run-time settings of every kind: one way to read, list, set and remove them."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

import fairlead
from fairlead.errors import ChangedMeanwhile, ConfigError, NotSet, UnknownType
from fairlead.operate.settings import KINDS, list_settings, read_setting, remove_setting, set_setting
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator

ADA = Operator("ada", "a contract")

# A name, fields as a command line gives them, the value in force with them, and the audit's target.
EXAMPLES: Mapping[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "limit": ("tenant:acme", {"concurrent": "20"}, {"concurrent": 20, "rate": None, "burst": None}, "tenant acme"),
    "depth": ("tier:free", {"waiting": "100"}, {"waiting": 100}, "tier free"),
    "submission": ("tenant:*", {"rate": "600/m"}, {"rate": 10.0, "burst": 10.0}, "tenant *"),
    "overload": (
        "policy",
        {"waiting": 1000, "action": "defer", "delay": "2m"},
        {"waiting": 1000, "action": "defer", "below": "default", "delay": 120.0},
        "overload policy",
    ),
    "breaker": ("type:mail", {}, {"phase": "open"}, "type mail"),
    "budget": (
        "acme",
        {"ratio": "0.5", "window": "5m"},
        {"ratio": 0.5, "floor": 100, "window": 300.0, "beyond": "dead"},
        "tenant acme",
    ),
    "quarantine": ("mail", {"attempts": "1"}, {"attempts": 1}, "type mail"),
    "pool": ("bulk", {"timeout": "1h", "attempts": "4"}, {"timeout": 3600.0, "attempts": 4}, "pool bulk"),
    "pause": ("type:mail", {}, {}, "type mail"),
    "tenant": ("acme", {"tier": "pro"}, {"tier": "pro", "weight": 100.0, "minimum": 0.01}, "tenant acme"),
}


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """A store of each kind that knows the type mail."""
    async with fairlead.App(store_url) as app:

        @app.handler("mail")
        async def mail() -> None:
            return

        async with app.worker():
            pass
        yield await app.store()


def test_there_is_an_example_of_every_kind() -> None:
    assert EXAMPLES.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_setting_is_set_read_listed_and_removed(store: Store, kind: str) -> None:
    name, given, value, target = EXAMPLES[kind]
    made = await set_setting(store, kind, name, given, ADA)
    assert made.value is not None
    assert {field: made.value[field] for field in value} == value
    assert made.version > 0
    assert made.set_at is not None
    assert await read_setting(store, kind, name) == made
    assert made in await list_settings(store, kind)
    with pytest.raises(ChangedMeanwhile):
        await set_setting(store, kind, name, given, ADA, expected=(0,))
    with pytest.raises(ChangedMeanwhile):
        await remove_setting(store, kind, name, ADA, expected=(made.version + 1,))
    again = await set_setting(store, kind, name, given, ADA, expected=(made.version,))
    assert again.version > made.version
    await remove_setting(store, kind, name, ADA, expected=(again.version,))
    assert all(item.version == 0 for item in await list_settings(store, kind))
    with pytest.raises(NotSet, match=f"fairlead settings list {kind}"):
        await remove_setting(store, kind, name, ADA)
    entries = await store.audit.read(10)
    assert [(entry.action, entry.target) for entry in entries] == [
        (KINDS[kind].remove_act, target), (KINDS[kind].set_act, target), (KINDS[kind].set_act, target),
    ]  # fmt: skip
    assert all(
        '"reason": "a contract"' in entry.details or '"reason":"a contract"' in entry.details for entry in entries
    )


async def test_what_is_not_given_stays_unless_all_is_replaced(store: Store) -> None:
    await set_setting(store, "pool", "bulk", {"attempts": 4}, ADA)
    changed = await set_setting(store, "pool", "bulk", {"wait": "5s"}, ADA)
    assert changed.value
    assert (changed.value["attempts"], changed.value["wait"]) == (4, 5.0)
    replaced = await set_setting(store, "pool", "bulk", {"wait": "6s"}, ADA, keep=False)
    assert replaced.value
    assert (replaced.value["attempts"], replaced.value["wait"]) == (None, 6.0)
    without = await set_setting(store, "pool", "short", {"longest": "none"}, ADA)
    assert without.value
    assert without.value["longest"] is None


async def test_defaults_are_shown_where_nothing_is_set(store: Store) -> None:
    pools = {item.name: item for item in await list_settings(store, "pool")}
    assert {"short", "medium", "long"} <= pools.keys()
    assert pools["short"].version == 0
    tenant = await read_setting(store, "tenant", "anybody")
    assert tenant.value == {"tier": "standard", "weight": 10.0, "minimum": 0.0}
    await set_setting(store, "tenant", "*", {"tier": "free"}, ADA)
    assert (await set_setting(store, "tenant", "new", {"weight": 3}, ADA)).value == {
        "tier": "free", "weight": 3.0, "minimum": 0.0,
    }  # fmt: skip
    breaker = await read_setting(store, "breaker", "type:mail")
    assert (breaker.value, breaker.state["types"]) == ({"phase": "closed"}, ("mail",))
    with pytest.raises(NotSet):
        await read_setting(store, "limit", "tenant:acme")


@pytest.mark.parametrize(
    ("kind", "name", "given", "message"),
    [
        ("limits", "tenant:acme", {}, "the kinds are limit, depth"),
        ("limit", "acme", {"concurrent": 1}, "lacks its scope"),
        ("limit", "tenant:acme", {}, "say what the limit is"),
        ("limit", "tenant:acme", {"concurent": 1}, "no field 'concurent'; did you mean 'concurrent'"),
        ("limit", "tenant:acme", {"concurrent": "many"}, "concurrent: 'many' is not a whole number"),
        ("limit", "tenant:acme", {"concurrent": True}, "not a whole number"),
        ("limit", "tenant:acme", {"burst": 2}, "a burst goes with a rate"),
        ("depth", "tier:gold", {"waiting": 1}, "gold"),
        ("depth", "tenant:acme", {}, "say waiting"),
        ("overload", "policy", {"waiting": 1, "action": "shedd"}, "did you mean 'shed'"),
        ("overload", "other", {"waiting": 1}, "must be one of policy"),
        ("breaker", "type:mail", {"phase": "closed"}, "must be one of open"),
        ("pool", "bulk", {"wait": "soon"}, "wait: 'soon' is not a duration"),
        ("pool", "bulk", {"attempts": 0}, "attempts must be between"),
        ("tenant", "acme", {"tier": "gold"}, "must be one of free"),
        ("tenant", "*", {"weight": 3}, "no weight"),
        ("budget", "acme", {"floor": 0}, "at least 1"),
    ],
)
async def test_nonsense_is_refused_with_what_is_wrong(
    store: Store, kind: str, name: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        await set_setting(store, kind, name, given, ADA)
    assert await store.audit.read(1) == []


async def test_a_name_with_a_typing_mistake_is_refused(store: Store) -> None:
    with pytest.raises(UnknownType, match="did you mean 'mail'"):
        await set_setting(store, "pause", "type:mial", {}, ADA)
    with pytest.raises(NotSet, match="did you mean 'short'"):
        await set_setting(store, "pause", "pool:shrt", {}, ADA)
    with pytest.raises(UnknownType, match="did you mean 'mail'"):
        await set_setting(store, "quarantine", "mial", {}, ADA)
    with pytest.raises(NotSet, match="type:mail"):
        await set_setting(store, "breaker", "type:mial", {}, ADA)
    await set_setting(store, "pause", "tenant:new", {}, ADA)
