"""Samples of the system: kept in order, for a time."""

from tests.contract.world import World


async def test_samples_are_read_in_order_with_their_instants(world: World) -> None:
    for number in range(3):
        await world.store.samples.add(f'{{"number":{number}}}', 3600)
        world.advance(5)
    now = world.clock()
    assert await world.store.samples.read(11) == [(now - 10, '{"number":1}'), (now - 5, '{"number":2}')]


async def test_old_samples_are_forgotten(world: World) -> None:
    await world.store.samples.add("{}", 3600)
    world.advance(3601)
    await world.store.samples.add('{"new":true}', 3600)
    assert [value for _, value in await world.store.samples.read(10_000)] == ['{"new":true}']
