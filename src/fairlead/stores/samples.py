"""The verbs about samples of the system, alike for every store."""

from fairlead.stores.enqueue import Ask
from fairlead.stores.statements import Script, Statements


class SampleVerbs(Statements):
    """The verbs, over the statements of a store."""

    async def add_sample(self, value: str, kept: float) -> None:
        """Keep a JSON text as of now, and forget what is older than `kept` seconds."""
        await self._transact(lambda: _add(value, kept))

    async def samples(self, back: float) -> list[tuple[float, str]]:
        """What was kept in the last `back` seconds, oldest first, each with its instant."""
        return [(row[0], row[1]) for row in await self._ask("read_samples", back=back)]


def _add(value: str, kept: float) -> Script[None]:
    yield Ask("add_sample", {"value": value})
    yield Ask("prune_samples", {"kept": kept})
