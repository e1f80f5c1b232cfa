"""Detection of repeated writes by their flush number."""

from fairlead.core.flush import Flush
from fairlead.ports.database import Run, Script


def is_new(flush: Flush | None) -> Script[bool]:
    """Record a flush; returns whether it is new. Without a flush every write is new."""
    return flush is None or bool((yield Run("note_flush", flush._asdict())))
