"""Quarantine: a type whose runs mostly failed for an hour has few attempts until somebody has looked at it.

Its jobs have two of them and then are dead letters, from where they can be replayed; its breaker decides how many may
start. With no attempts at all, nothing of the type starts. A breaker tries again by itself; a quarantine ends by hand.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fairlead.core.durations import Duration, humanize, seconds
from fairlead.core.protection.controls import Control
from fairlead.core.protection.run_counts import SEVERAL, Sums, weighed
from fairlead.errors import ConfigError

KIND = "quarantine"  # of the control; its name is the type's
LASTING = 0.8  # of the window: the failures must have gone on for so much of it


@dataclass(frozen=True, slots=True)
class Quarantine:
    """When a type is quarantined: most of at least `minimum` runs failed within `window`, and did so all along.

    Its jobs then have `attempts`, or what they were given if that is less; with 0 none of them starts.
    """

    threshold: float = 0.5
    minimum: int = 20
    window: Duration = 3600.0
    attempts: int = 2
    enabled: bool = True

    @classmethod
    def off(cls) -> "Quarantine":
        """Never by itself; an operator can quarantine the type all the same."""
        return cls(enabled=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", seconds(self.window))
        if not 0 < self.threshold < 1:
            raise ConfigError(f"Quarantine(threshold={self.threshold!r}) must be a share between 0 and 1")
        if self.minimum < 1 or not seconds(self.window) > 0:
            raise ConfigError("Quarantine(minimum=…) must be at least 1, and the window longer than nothing")
        if self.attempts < 0:
            raise ConfigError(f"Quarantine(attempts={self.attempts!r}) must not be negative; with 0 nothing starts")

    def stored(self) -> dict[str, Any]:
        """The policy as data, from which core.stored makes it again."""
        return asdict(self)


def entry(why: str, by: str | None, attempts: int) -> dict[str, Any]:
    """The control of a quarantined type; `by` is None where it came to that by itself."""
    return {"why": why, "by": by, "attempts": attempts}


def attempts_of(control: Control | None) -> int | None:
    """How many attempts the jobs of a type have by its quarantine; None where it is in none."""
    return None if control is None or control.value is None else int(control.value.get("attempts", 0))


def why_quarantined(policy: Quarantine, sums: Sums, groups: Sequence[Sums] = ()) -> str | None:
    """Why somebody must look at a type, in words; None if nobody need.

    Most runs must have failed, and also most where each group of tenants counts for a part of `minimum` only: the many
    failing jobs of one tenant do not quarantine a type whose jobs succeed for others.
    """
    window = seconds(policy.window)
    if not policy.enabled or sums.total < policy.minimum or sums.counted_for < LASTING * window:
        return None
    good, bad = weighed(groups, policy.minimum / SEVERAL)
    if sums.bad <= policy.threshold * sums.total or (groups and bad <= policy.threshold * (good + bad)):
        return None
    return f"{sums.bad} of {sums.total} runs failed within {humanize(window)}"
