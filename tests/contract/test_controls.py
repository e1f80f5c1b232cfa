"""Controls: versions, refusals, the audit beside them, and what a reader of changes sees."""

import asyncio

from fairlead.core.insight.audit import AuditNote
from fairlead.core.protection.controls import ABSENT, Change
from tests.contract.world import World

NOTE = AuditNote("ada", "pause", "type send")


async def test_a_control_is_read_as_it_was_set(world: World) -> None:
    world.advance(5)
    (made,) = await world.store.controls.change([Change("pool", "short", {"slots": 5, "note": "100 % 🛟"})])
    changed = await world.store.controls.read()
    assert changed.controls == [made]
    assert (made.value, made.version, made.at, changed.now) == (
        {"slots": 5, "note": "100 % 🛟"}, 1, world.clock(), world.clock(),
    )  # fmt: skip


async def test_a_reader_gets_only_what_is_newer_in_the_order_of_change(world: World) -> None:
    await world.store.controls.change([Change("a", "1", {}), Change("a", "2", {})])
    await world.store.controls.change([Change("a", "1", {"again": True})])
    assert [(control.name, control.version) for control in (await world.store.controls.read(1)).controls] == [
        ("2", 2), ("1", 3),
    ]  # fmt: skip
    assert (await world.store.controls.read(3)).controls == []


async def test_a_removed_control_is_told_to_those_who_knew_it(world: World) -> None:
    await world.store.controls.change([Change("a", "1", {})])
    await world.store.controls.change([Change("a", "1", None)])
    assert (await world.store.controls.read()).controls == []
    (removed,) = (await world.store.controls.read(1)).controls
    assert (removed.name, removed.value, removed.version) == ("1", None, 2)


async def test_a_change_decided_upon_an_older_version_is_refused(world: World) -> None:
    (first,) = await world.store.controls.change([Change("a", "1", {"x": 1}, ABSENT)])
    assert await world.store.controls.change([Change("a", "1", {"x": 2}, ABSENT)], NOTE) == []
    (second,) = await world.store.controls.change([Change("a", "1", {"x": 3}, first.version)])
    assert await world.store.controls.change([Change("a", "1", {"x": 4}, first.version)]) == []
    assert (await world.store.controls.read()).controls == [second]
    assert await world.store.audit.read(10) == []


async def test_the_timely_changes_of_a_batch_are_made_and_audited(world: World) -> None:
    await world.store.controls.change([Change("a", "1", {})])
    made = await world.store.controls.change([Change("a", "1", {}, ABSENT), Change("a", "2", {}, ABSENT)], NOTE)
    assert [control.name for control in made] == ["2"]
    (entry,) = await world.store.audit.read(10)
    assert (entry.actor, entry.action, entry.target) == ("ada", "pause", "type send")


async def test_of_many_who_decide_upon_the_same_version_one_wins(world: World) -> None:
    made = await asyncio.gather(
        *[world.store.controls.change([Change("a", "1", {"by": at}, ABSENT)]) for at in range(10)]
    )
    winners = [control for controls in made for control in controls]
    assert (await world.store.controls.read()).controls == winners
    assert len(winners) == 1
