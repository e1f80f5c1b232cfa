"""Sequence numbers for writes that add to counters, so that a repeated write is not counted twice.

Each sender is a source and numbers its writes. A repeated write has the same number and content; the store skips it if
it has seen this number, or a later one, of the source.
"""

from typing import NamedTuple


class Flush(NamedTuple):
    """The number of one write of a source."""

    source: str
    number: int

    def next(self) -> "Flush":
        """Return the number of the next write."""
        return self._replace(number=self.number + 1)
