"""What a worker tells of itself in its reports beside figures: that it drains, and whose its slots are."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

ACTIVE, DRAINING = "active", "draining"  # the states of a worker that claims, and of one that only finishes
RESERVE = "reserve"


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker process as it registers itself; the id is new at every boot."""

    id: str
    host: str
    pid: int
    pools: tuple[str, ...]
    types: tuple[str, ...]
    slots: int
    version: str


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A registered worker as an operator sees it."""

    info: WorkerInfo
    started_at: datetime
    lease_left: float
    state: str
    report: Mapping[str, Any]

    @property
    def live(self) -> bool:
        """Whether its lease still runs."""
        return self.lease_left > 0


def state_of(state: str, report: Mapping[str, Any]) -> str:
    """The state of a worker: what it was told to do, or what it does on its own."""
    return DRAINING if state == ACTIVE and report.get(DRAINING) else state


def reserved(worker: WorkerRecord) -> tuple[str, ...]:
    """The tenants that it serves; it serves all where there are none."""
    return tuple(worker.report.get(RESERVE, ()))


LEAST_LOST = 4
TOLERATED_SHARE = 4


def is_worn(lost: int, slots: int) -> bool:
    """Whether too many slots are taken by handlers that cannot be stopped: over a quarter and at least four, or all."""
    return lost >= min(slots, max(LEAST_LOST, slots // TOLERATED_SHARE + 1))
