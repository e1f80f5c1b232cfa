"""The verbs about samples of the system, alike for every store."""

from fairlead.ports.database import Database, Run, Script


class SampleVerbs(Database):
    """The verbs, over the statements of a store."""

    async def add_sample(self, value: str, kept: float) -> None:
        """Keep a JSON text as of now, and forget what is older than `kept` seconds."""
        await self.transact(lambda: _add(value, kept))

    async def samples(self, back: float) -> list[tuple[float, str]]:
        """What was kept in the last `back` seconds, oldest first, each with its instant."""
        return [(row[0], row[1]) for row in await self.ask("read_samples", back=back)]


def _add(value: str, kept: float) -> Script[None]:
    yield Run("add_sample", {"value": value})
    yield Run("prune_samples", {"kept": kept})
