"""Breakers that are about to open: what goes through them is not claimed until the counts of all workers decide.

A breaker opens by the counts of all workers, which takes them about half a second. A type that fails at once, every
time, could meanwhile take thousands of runs from the others. So a worker whose own runs mostly fail waits for that
decision, for a second at most.
"""

import time
from collections.abc import Iterable, Iterator

from fairlead.core.protection.breaker import why_open
from fairlead.core.protection.run_counts import DEPENDENCY, TYPE, Sums
from fairlead.handlers.spec import Registry
from fairlead.worker.tally import Tally

LONGEST = 1.0


class TrippingBreakers:
    """The breakers that one worker expects to open."""

    def __init__(self, registry: Registry, tally: Tally) -> None:
        self._registry = registry
        self._tally = tally
        self._since: dict[str, float] = {}
        self.changes = 0  # rises with each breaker that comes or goes

    def consider(self, name: str) -> bool:
        """Add a breaker, whose last run failed, if most of its runs did; looks at every so many failures."""
        policy, bad = self._registry.breaker_of(name), self._tally.bad[name]
        if bad % policy.minimum or name in self._since:
            return False
        if why_open(policy, Sums(self._good(name), bad)) is None:
            return False
        self._since[name] = time.monotonic()
        self.changes += 1
        return True

    def overdue(self) -> set[str]:
        """The breakers that have waited for a decision long enough."""
        now = time.monotonic()
        return {name for name, since in self._since.items() if now - since >= LONGEST}

    def remove(self, names: Iterable[str]) -> None:
        """It was decided about these breakers."""
        known = self._since.keys() & names
        for name in known:
            del self._since[name]
        self.changes += len(known)

    def hold(self, breakers: Iterable[str]) -> bool:
        """Whether runs that go through these breakers have to wait."""
        return any(name in self._since for name in breakers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._since)

    def __len__(self) -> int:
        return len(self._since)

    def _good(self, name: str) -> int:
        scope, _, own = name.partition(":")
        if scope == TYPE:
            return self._tally.succeeded({own})
        assert scope == DEPENDENCY, name
        return self._tally.succeeded({type_ for type_, spec in self._registry.items() if own in spec.needs})
