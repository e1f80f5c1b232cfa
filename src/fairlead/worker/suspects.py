"""What has just begun to fail here: nothing of it is claimed until the counts of all workers have decided.

A breaker opens by what all workers have counted, which takes them about half a second. A type that fails at once, every
time, could meanwhile take thousands of runs from the others, so a worker that sees most of its own runs fail waits for
that decision, though not for long.
"""

import time
from collections.abc import Callable, Iterable, Iterator

from fairlead.core.protection.breaker import why_open
from fairlead.core.protection.run_counts import DEPENDENCY, TYPE, Sums
from fairlead.handlers.spec import Registry
from fairlead.worker.tally import Tally

LONGEST = 1.0


class Suspects:
    """The breakers that one worker expects to open; `on_change` is called when there is one more, or fewer."""

    def __init__(self, registry: Registry, tally: Tally) -> None:
        self._registry = registry
        self._tally = tally
        self._since: dict[str, float] = {}
        self.on_change: Callable[[], None] = lambda: None

    def consider(self, name: str) -> bool:
        """Suspect a breaker, whose last run failed, if most of its runs did; looks at every so many failures."""
        policy, bad = self._registry.breaker_of(name), self._tally.bad[name]
        if bad % policy.minimum or name in self._since:
            return False
        if why_open(policy, Sums(self._good(name), bad)) is None:
            return False
        self._since[name] = time.monotonic()
        self.on_change()
        return True

    def overdue(self) -> set[str]:
        """Those that have waited long enough for a decision."""
        now = time.monotonic()
        return {name for name, since in self._since.items() if now - since >= LONGEST}

    def clear(self, names: Iterable[str]) -> None:
        """It was decided about these."""
        known = self._since.keys() & names
        for name in known:
            del self._since[name]
        if known:
            self.on_change()

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
