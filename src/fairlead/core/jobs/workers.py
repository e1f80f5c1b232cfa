"""Workers as they register and report: identity, state, reserved tenants, and when to restart for lost slots."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

ACTIVE, DRAINING = "active", "draining"  # claims jobs; only finishes its running jobs
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
    """A registered worker as read from the store."""

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
    """Return the state of a worker: the one an operator set, or draining if the worker drains by itself."""
    return DRAINING if state == ACTIVE and report.get(DRAINING) else state


def reserved(worker: WorkerRecord) -> tuple[str, ...]:
    """Return the tenants that a worker is reserved for; empty if it serves all."""
    return tuple(worker.report.get(RESERVE, ()))


LEAST_LOST = 4
TOLERATED_SHARE = 4


def is_worn(lost: int, slots: int) -> bool:
    """Whether unstoppable handlers occupy too many slots: over a quarter and at least four, or all of them."""
    return lost >= min(slots, max(LEAST_LOST, slots // TOLERATED_SHARE + 1))
