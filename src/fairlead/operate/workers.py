"""Directing workers: letting them drain, or stop at once."""

from enum import StrEnum

from fairlead.core.jobs.ids import is_id
from fairlead.errors import WorkerNotFound
from fairlead.ports.jobs import WORKER_HINT
from fairlead.records.store import Store
from fairlead.runtime.operator import Operator


class Direction(StrEnum):
    """What a worker can be told."""

    DRAIN = "draining"  # claim nothing more and finish what runs
    STOP = "stopping"  # give back what runs, too


async def direct(store: Store, worker_id: str, direction: Direction, operator: Operator) -> None:
    """Tell a live worker to end; a hint makes it report, and so hear of it, at once."""
    note = operator.note("drain" if direction is Direction.DRAIN else "stop", f"worker {worker_id}")
    if not is_id(worker_id) or not await store.workers.direct(worker_id, direction.value, note):
        raise WorkerNotFound(f"there is no live worker {worker_id}; list them with `fairlead workers list`")
    await store.jobs.wake([f"{WORKER_HINT}{worker_id}"])
