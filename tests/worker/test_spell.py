"""What a spell knows of the runs that took turns in it."""

import asyncio
from typing import Any, cast

from fairlead.worker.spell import Spell
from tests.contract.making import LANE

OTHER = LANE._replace(tenant="other")


def new_spell() -> Spell:
    return Spell(0.0, cast(asyncio.Task[Any], None))


def test_a_spell_of_one_lane_knows_it() -> None:
    spell = new_spell()
    assert spell.only_lane is None
    spell.turn_to(LANE)
    spell.turn_to(LANE)
    assert spell.only_lane is LANE


def test_a_spell_of_several_lanes_has_none_that_stands_for_all() -> None:
    spell = new_spell()
    spell.turn_to(LANE)
    spell.turn_to(OTHER)
    assert spell.only_lane is None
    spell.turn_to(OTHER)
    assert spell.only_lane is None
