"""What a store may offer to callers that block: verbs for their own thread, which need no event loop.

A store offers them where handing the work to another thread would take longer than the work. They may be called from
several threads at once, and keep every promise of the verbs that they stand for.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from fairlead.core.model import Enqueued, NewJob


@runtime_checkable
class BlockingStore(Protocol):
    """The verbs of submitting; not every store has them."""

    def enqueue_now(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Store the jobs in one transaction, without hints; answers in the same order."""

    def wake_now(self, pools: Iterable[str]) -> None:
        """Hint to listening workers that these pools may have work."""
