"""What a worker tells of itself in its reports beside figures: that it drains, and whose its slots are."""

from collections.abc import Mapping
from typing import Any

from fairlead.core.jobs.workers import WorkerRecord

ACTIVE, DRAINING = "active", "draining"  # the states of a worker that claims, and of one that only finishes
RESERVE = "reserve"


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
