"""Sums of how runs ended, kept in memory until they are sent to the store."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from fairlead.core.protection.run_counts import BUCKETS, Sums

GENERATION = 30.0  # successes that nobody asked for are remembered for one to two of these


class Recent:
    """Counts of the last moments; what is older is forgotten."""

    def __init__(self) -> None:
        self._new: Counter[str] = Counter()
        self._old: Counter[str] = Counter()

    def add(self, name: str, count: int) -> None:
        """Count."""
        self._new[name] += count

    def take(self, name: str) -> int:
        """What was counted, which begins anew."""
        return self._new.pop(name, 0) + self._old.pop(name, 0)

    def __getitem__(self, name: str) -> int:
        """What was counted."""
        return self._new[name] + self._old[name]

    def age(self) -> None:
        """A generation has passed."""
        self._new, self._old = Counter(), self._new

    def __len__(self) -> int:
        return len(self._new) + len(self._old)


class RunCounts:
    """The runs of one worker by subject: bad ones since the last flush, good ones as long as they are remembered."""

    def __init__(self, subjects_of: Callable[[str, str], Iterable[str]]) -> None:
        self._subjects_of = subjects_of  # of the runs of a type and a tenant
        self.new: defaultdict[tuple[str, str], int] = defaultdict(int)  # good runs by type and tenant, to be folded
        self.new_retries: defaultdict[str, int] = defaultdict(int)
        self.good = Recent()
        self.bad: Counter[str] = Counter()
        self.first_attempts = Recent()
        self.retries: defaultdict[str, Counter[int]] = defaultdict(Counter)  # by tenant and when they are due

    def retry(self, tenant: str, delay: float, window: float) -> None:
        """Count a retry where it is due, in parts of the window."""
        self.retries[tenant][int(delay * BUCKETS / window)] += 1

    def sums(self, name: str) -> Sums:
        """The runs of a subject that are known here; fold first."""
        return Sums(self.good[name], self.bad[name])

    def fold(self) -> None:
        """Add the good runs since the last call to their subjects."""
        for (type_, tenant), count in self.new.items():
            self.first_attempts.add(tenant, count)
            for name in self._subjects_of(type_, tenant):
                self.good.add(name, count)
        for tenant, count in self.new_retries.items():
            self.first_attempts.add(tenant, -count)
        self.new.clear()
        self.new_retries.clear()

    @property
    def has_good(self) -> bool:
        """Whether good runs are remembered that somebody may need."""
        return bool(self.new or len(self.good))

    def age(self) -> None:
        """Forget good runs that nobody has asked for."""
        self.good.age()
        self.first_attempts.age()
