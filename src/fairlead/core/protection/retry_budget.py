"""Retry budgets: a bound on a tenant's retries, as a multiple of its first attempts, so that work goes on.

A job whose retry exceeds the budget is dead early, or its retry is delayed. Each retry counts in the time bucket in
which it is due, so a delayed retry is placed after all scheduled ones, at the rate that the budget allows. Retries
after failures of a dependency are always delayed instead of denied.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from fairlead.core.durations import Duration, seconds
from fairlead.core.protection.run_counts import Sums
from fairlead.errors import ConfigError

Beyond = Literal["dead", "delay"]
BEYOND: tuple[str, ...] = get_args(Beyond)
KIND = "budget"  # of the control with a tenant's own budget; its name is the tenant's


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """`ratio` retries for each first attempt within `window`, and `floor` more, so that a small tenant can retry.

    `beyond` says what happens to further retries: dead or delay. Without a ratio retries are not limited.
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
    """Return how many retries a window allows; `sums.good` counts first attempts, `sums.bad` retries."""
    return float("inf") if policy.ratio is None else policy.ratio * sums.good + policy.floor


def stretch(policy: RetryBudget, sums: Sums) -> float:
    """Return the least delay of one more retry: 0 within the budget, else after all scheduled retries."""
    most = allowed(policy, sums)
    return 0.0 if sums.bad < most else seconds(policy.window) * sums.bad / most
