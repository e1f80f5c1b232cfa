"""Checkpoints of running jobs: saved under the run's hold, read by the run that resumes, shown to people."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from pydantic_core import to_json

from fairlead.core.jobs.checkpoints import CheckpointRecord, LastCheckpoint, NewCheckpoint, StoredCheckpoint
from fairlead.ports.database import Database


class Checkpoints:
    """Stores the last checkpoints of each job."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, checkpoints: Sequence[NewCheckpoint]) -> dict[str, LastCheckpoint]:
        """Store the checkpoints of runs that still own their jobs; returns these by job."""
        batch = to_json([item._asdict() for item in checkpoints]).decode()
        fences = {item.id: item.fence for item in checkpoints}
        saved = await self._database.run("save_checkpoints", rows=batch)
        return {row[0]: LastCheckpoint(row[1], fences[row[0]], row[2]) for row in saved}

    async def newest(self, job_id: str) -> StoredCheckpoint | None:
        """Return the newest checkpoint of a job with its content, or None."""
        for number, fence, resumptions, stalled, version, state in await self._database.ask(
            "read_checkpoint", id=job_id
        ):
            return StoredCheckpoint(LastCheckpoint(number, fence, resumptions, stalled), version, state)
        return None

    async def last(self, ids: Iterable[str]) -> dict[str, LastCheckpoint]:
        """Return the newest checkpoint of each of these jobs that has one, without its content."""
        found = await self._database.ask_each("last_checkpoints", [{"id": item} for item in ids])
        return {row[0]: LastCheckpoint(*row[1:]) for row in found}

    async def kept(self, job_id: str) -> list[CheckpointRecord]:
        """Return the kept checkpoints of a job, newest first."""
        found = await self._database.ask("list_checkpoints", id=job_id)
        return [CheckpointRecord(row[0], row[1], datetime.fromtimestamp(row[2], UTC), *row[3:]) for row in found]
