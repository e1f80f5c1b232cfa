"""What adds up in the store must not be added twice when the answer to a write was lost and it is sent again.

Each sender has a source of its own and numbers what it sends. What it sends again has the same number and the same
content; the store adds it unless it has seen that number, or a later one, of that source.
"""

from typing import NamedTuple


class Flush(NamedTuple):
    """Which of the writes of a source it is."""

    source: str
    number: int

    def next(self) -> "Flush":
        """The one after it."""
        return self._replace(number=self.number + 1)
