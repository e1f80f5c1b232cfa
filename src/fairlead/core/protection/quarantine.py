"""Quarantine: a job type whose runs failed for most of an hour gets few attempts until an operator releases it.

By default its jobs get two attempts and are dead letters then, which can be replayed. With zero attempts no job of the
type starts. A breaker closes by itself; a quarantine is ended by an operator.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fairlead.core.durations import Duration, humanize, seconds
from fairlead.core.protection.controls import Control
from fairlead.core.protection.run_counts import SEVERAL, Sums, weighed
from fairlead.errors import ConfigError

KIND = "quarantine"  # of the control; its name is the type's
LASTING = 0.8  # the part of the window for which failures must have been counted


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A quarantine policy: a type is quarantined if most of at least `minimum` runs failed over the whole `window`.

    Its jobs then get `attempts` attempts, or fewer by their own policy; with 0 none of them starts.
    """

    threshold: float = 0.5
    minimum: int = 20
    window: Duration = 3600.0
    attempts: int = 2
    enabled: bool = True

    @classmethod
    def off(cls) -> "Quarantine":
        """Return a policy that never quarantines; an operator still can."""
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
    """Return the control's value of a quarantined type; `by` is None for an automatic quarantine."""
    return {"why": why, "by": by, "attempts": attempts}


def attempts_of(control: Control | None) -> int | None:
    """Return the attempts that a quarantine allows; None if the type is not quarantined."""
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
