"""What a store offers to callers that block: verbs for their own thread, which need no event loop.

To hand such a work to another thread would take longer than the work. They may be called from several threads at once,
and keep every promise of the verbs that they stand for.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from fairlead.core.jobs.model import Enqueued, NewJob


class BlockingStore(Protocol):
    """The verbs of submitting."""

    def enqueue_now(self, jobs: Sequence[NewJob], wake: Collection[str] = ()) -> list[Enqueued] | None:
        """Store the jobs in one transaction, with hints that leave with its commit; answers in the same order.

        None where the caller has to go the common way: nothing was stored then, and nobody was told.
        """

    def wake_now(self, pools: Iterable[str]) -> None:
        """Hint to listening workers that these pools may have work; a hint that fails is only a slower start."""
