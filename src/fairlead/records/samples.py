"""Samples of the system's state, which the dashboard shows as an hour of history."""

from fairlead.ports.database import Database, Run, Script


class Samples:
    """Adds and reads samples."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, value: str, kept: float) -> None:
        """Store a JSON text as of now, and remove samples older than `kept` seconds."""
        await self._database.transact(lambda: _add(value, kept))

    async def read(self, back: float) -> list[tuple[float, str]]:
        """Return (instant, text) of the samples of the last `back` seconds, oldest first."""
        return [(row[0], row[1]) for row in await self._database.ask("read_samples", back=back)]


def _add(value: str, kept: float) -> Script[None]:
    yield Run("add_sample", {"value": value})
    yield Run("prune_samples", {"kept": kept})
