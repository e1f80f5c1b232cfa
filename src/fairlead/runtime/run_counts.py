"""How runs ended, summed up in memory until it is worth telling."""

from collections import Counter, defaultdict
from collections.abc import Set

from fairlead.core.protection.run_counts import BUCKETS

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
    """The runs of one worker: the good by type and tenant, the bad by whom they are to be counted against."""

    def __init__(self) -> None:
        self.good: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.good_retries: defaultdict[str, int] = defaultdict(int)
        self.bad: Counter[str] = Counter()
        self.types = Recent()
        self.first_attempts = Recent()
        self.retries: defaultdict[str, Counter[int]] = defaultdict(Counter)  # by tenant and when they are due

    def retry(self, tenant: str, delay: float, window: float) -> None:
        """Count a retry where it is due, in parts of the window."""
        self.retries[tenant][int(delay * BUCKETS / window)] += 1

    def succeeded(self, types: Set[str]) -> int:
        """The good runs of these types that are remembered here."""
        unfolded = sum(count for (type_, _), count in self.good.items() if type_ in types)
        return unfolded + sum(self.types[type_] for type_ in types)

    def fold(self) -> Counter[str]:
        """Sum up the good runs since the last call; returns them by type."""
        by_type: Counter[str] = Counter()
        for (type_, tenant), count in self.good.items():
            by_type[type_] += count
            self.first_attempts.add(tenant, count)
        for tenant, count in self.good_retries.items():
            self.first_attempts.add(tenant, -count)
        self.good.clear()
        self.good_retries.clear()
        for type_, count in by_type.items():
            self.types.add(type_, count)
        return by_type

    def age(self) -> None:
        """Forget what nobody has asked for."""
        self.types.age()
        self.first_attempts.age()
