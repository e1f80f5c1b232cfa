"""Checkpoints of a run, and the counts by which a job that has one is resumed."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

KEPT = 5  # checkpoints of each job; stores/sql/checkpoints.sql has the same number
MOST_RESUMPTIONS = 1_000  # for each attempt


class LastCheckpoint(NamedTuple):
    """The number of a job's newest checkpoint, the fence of the run that wrote it, and the resumptions until now.

    `stalled` counts the resumptions since it was written.
    """

    number: int
    fence: int
    resumptions: int = 0
    stalled: int = 0


class NewCheckpoint(NamedTuple):
    """A checkpoint with the run that writes it; it is stored only while that run owns its job."""

    id: str
    fence: int
    owner: str
    lease: str
    version: int
    name: str
    state: str


class StoredCheckpoint(NamedTuple):
    """The newest checkpoint of a job, to resume from."""

    last: LastCheckpoint
    version: int
    state: str


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """A kept checkpoint as shown to people, without its content; `size` is in bytes."""

    number: int
    name: str
    at: datetime
    size: int
    fence: int
    version: int
    resumptions: int
