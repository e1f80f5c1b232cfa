"""Retry budgets: a tenant's retries may be a multiple of its first attempts, so that failures do not crowd out work.

A job whose retry would go beyond that is a dead letter early, or waits. Each retry counts in the bucket of time for
which it is due, so that those to come are known: one that waits goes behind all of them, at the pace that the budget
allows. Failures of a dependency always wait, since a job is not to blame for them.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from fairlead.core.durations import Duration, seconds
from fairlead.core.protection.run_counts import Sums
from fairlead.errors import ConfigError

Beyond = Literal["dead", "delay"]
BEYOND: tuple[str, ...] = get_args(Beyond)
KIND = "budget"  # of the control that gives a tenant a budget of its own; its name is the tenant's


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """`ratio` retries for each first attempt within `window`, and `floor` more, so that a small tenant can retry.

    What is `beyond` goes to the dead letters, or is a delay. Without a ratio retries are not limited.
    """

    ratio: float | None = 2.0
    floor: int = 100
    window: Duration = 60.0
    beyond: Beyond = "dead"

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", seconds(self.window))
        if self.ratio is not None and not 0 <= self.ratio < float("inf"):
            raise ConfigError(f"RetryBudget(ratio={self.ratio!r}) must be a number that is not negative, or None")
        if self.floor < 1:
            raise ConfigError(f"RetryBudget(floor={self.floor!r}) must be at least 1, for a small tenant's sake")
        if not seconds(self.window) > 0:
            raise ConfigError("RetryBudget(window=…) must be longer than nothing")
        if self.beyond not in BEYOND:
            raise ConfigError(f"RetryBudget(beyond={self.beyond!r}) must be one of {', '.join(BEYOND)}")

    def stored(self) -> dict[str, Any]:
        """The policy as data, from which core.stored makes it again."""
        return asdict(self)


def allowed(policy: RetryBudget, sums: Sums) -> float:
    """How many retries a window may have; first attempts are the good ones of the sums."""
    return float("inf") if policy.ratio is None else policy.ratio * sums.good + policy.floor


def stretch(policy: RetryBudget, sums: Sums) -> float:
    """The least wait of one more retry: nothing while the budget lasts, then behind all that are due before it."""
    most = allowed(policy, sums)
    return 0.0 if sums.bad < most else seconds(policy.window) * sums.bad / most
