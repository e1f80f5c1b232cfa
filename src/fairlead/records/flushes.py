"""Telling a write that adds up from its repetition, alike for every store."""

from fairlead.core.flush import Flush
from fairlead.ports.database import Run, Script


def is_new(flush: Flush | None) -> Script[bool]:
    """Whether this was not written before; it counts as written with the transaction. Without a number all is new."""
    return flush is None or bool((yield Run("note_flush", flush._asdict())))
