"""Retry policies, and when a failed job runs again.

`retry_delay` is the entry point: the backoff gives the delay of the n-th retry, and the jitter spreads it so that jobs
that failed together do not return together. The wait is drawn evenly from `delay_bounds`:

    none            the delay itself
    full            from zero to the delay
    equal           from half of the delay to the delay
    proportional    the delay, more or less `percent` of it
    decorrelated    from the first delay to three times the delay

Decorrelated jitter usually depends on the wait drawn before. That is not stored: the delay without jitter replaces it,
so that the wait depends only on the attempt's number. For factor 3 the bounds are the usual ones.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import Any, NamedTuple

from fairlead.core.durations import Duration, seconds
from fairlead.errors import ConfigError

MAX_ATTEMPTS = 1000
MAX_POWER = 100.0
DEFAULT_DELAYS = (1.0, 5.0, 30.0, 300.0, 1800.0)
LONGEST_DELAY = 365 * 86400.0
FACTOR = 2.0

CUSTOM = "custom"
JITTERS = ("full", "none", "equal", "proportional", "decorrelated")
# The fields that each backoff uses, with their defaults; every backoff can have a cap.
_FIELDS: dict[str, dict[str, Any]] = {
    "list": {"delays": DEFAULT_DELAYS},
    "fixed": {"first": 1.0},
    "linear": {"first": 1.0, "cap": 1800.0},
    "exponential": {"first": 1.0, "factor": FACTOR, "cap": 1800.0},
    "polynomial": {"first": 1.0, "power": 2.0, "cap": 1800.0},
    CUSTOM: {},
}

Backoff = str | Callable[[int], Duration]


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry policy: at most `attempts` attempts, and no retry later than `max_age` after submission.

    `backoff` is list (the waits in `delays`, the last one repeated), fixed (always `first`), linear (`first * n`),
    exponential (`first * factor ** (n - 1)`), polynomial (`first * n ** power`), or a function that takes the number
    of the failed attempt and returns the wait. No wait is longer than `cap`. Without `backoff` the other arguments
    imply it: power means polynomial, first or factor exponential, else list.
    """

    attempts: int = 5
    first: Duration | None = None
    factor: float | None = None
    cap: Duration | None = None
    backoff: Backoff | None = None
    delays: Sequence[Duration] | None = None
    power: float | None = None
    jitter: str | None = None
    percent: float | None = None
    max_age: Duration | None = None

    @classmethod
    def after(cls, *delays: Duration, **others: Any) -> "Retry":
        """One retry after each of these delays: Retry.after("1s", "1m", "1h")."""
        return cls(**{"attempts": len(delays) + 1, **others}, backoff="list", delays=delays)

    @classmethod
    def fixed(cls, every: Duration, **others: Any) -> "Retry":
        """The same wait before each retry."""
        return cls(**others, backoff="fixed", first=every)

    @classmethod
    def linear(cls, first: Duration, **others: Any) -> "Retry":
        """Waits of once, twice, three times `first`."""
        return cls(**others, backoff="linear", first=first)

    @classmethod
    def exponential(cls, first: Duration, factor: float = FACTOR, **others: Any) -> "Retry":
        """Waits that are multiplied by `factor` each time."""
        return cls(**others, backoff="exponential", first=first, factor=factor)

    @classmethod
    def polynomial(cls, first: Duration, power: float = 2.0, **others: Any) -> "Retry":
        """Waits of `first` times the attempt's number to this power."""
        return cls(**others, backoff="polynomial", first=first, power=power)

    def __post_init__(self) -> None:
        for name, value in _completed(self).items():
            object.__setattr__(self, name, value)  # the dataclass is frozen
        _check(self)

    @property
    def kind(self) -> str:
        """The name of the backoff; custom for a function."""
        return self.backoff if isinstance(self.backoff, str) else CUSTOM

    def stored(self) -> dict[str, Any]:
        """Return the policy as data for core.stored.restored; a function is stored only as custom."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value is not None} | {"backoff": self.kind}


def retry_delay(
    policy: Retry, attempt: int, age: float, rng: Random, after: float | None = None, at_least: float = 0.0
) -> float | None:
    """Return the seconds until the next attempt after `attempt` failed ones, or None if none is left.

    `age` is the time since submission. `after` is an exact wait that the handler asked for, `at_least` a least wait
    that a dependency asked for.
    """
    return None if attempt >= policy.attempts else wait(policy, attempt, age, rng, after, at_least)


def wait(
    policy: Retry, attempt: int, age: float, rng: Random, after: float | None = None, at_least: float = 0.0
) -> float | None:
    """Return the wait regardless of the bound on attempts; None if it would end after the policy's `max_age`."""
    delay = max(at_least, rng.uniform(*delay_bounds(policy, attempt))) if after is None else after
    delay = min(delay, LONGEST_DELAY)
    return None if policy.max_age is not None and age + delay > seconds(policy.max_age) else delay


def delay_bounds(policy: Retry, attempt: int) -> tuple[float, float]:
    """Return the shortest and the longest wait after this failed attempt."""
    delay, cap = _plain_delay(policy, attempt), _cap(policy)
    match policy.jitter:
        case "full":
            return 0.0, delay
        case "equal":
            return delay / 2, delay
        case "proportional":
            spread = delay * (policy.percent or 0.0) / 100
            return delay - spread, min(cap, delay + spread)
        case "decorrelated":
            first = _plain_delay(policy, 1)
            return first, max(first, min(cap, 3 * delay))
    return delay, delay


def _plain_delay(policy: Retry, attempt: int) -> float:
    """Return the wait without jitter, at most the cap."""
    first = seconds(policy.first or 0.0)
    try:
        match policy.kind:
            case "fixed":
                delay = first
            case "linear":
                delay = first * attempt
            case "exponential":
                delay = first and first * (policy.factor or 1.0) ** (attempt - 1)
            case "polynomial":
                delay = first and first * attempt ** (policy.power or 1.0)
            case _:
                delay = _listed_delay(policy, attempt)
    except OverflowError:
        delay = LONGEST_DELAY
    return min(delay, _cap(policy))


def _listed_delay(policy: Retry, attempt: int) -> float:
    """Return the wait from the list, or from the user's function; the default list replaces a failing function.

    An error here would leave the job unsettled and lose the failure it had.
    """
    if callable(policy.backoff):
        try:
            return seconds(policy.backoff(attempt))
        except Exception:
            return DEFAULT_DELAYS[min(attempt, len(DEFAULT_DELAYS)) - 1]
    delays = policy.delays or DEFAULT_DELAYS
    return seconds(delays[min(attempt, len(delays)) - 1])


def _cap(policy: Retry) -> float:
    return LONGEST_DELAY if policy.cap is None else min(LONGEST_DELAY, seconds(policy.cap))


def _completed(policy: Retry) -> dict[str, Any]:
    """Return the fields with defaults filled in and durations in seconds."""
    backoff = _implied_backoff(policy) if policy.backoff is None else policy.backoff
    kind = CUSTOM if callable(backoff) else backoff
    if kind not in _FIELDS:
        raise ConfigError(f"Retry(backoff={backoff!r}) must be a function or one of {', '.join(_FIELDS)}")
    _refuse_foreign_fields(policy, kind)
    given = {item.name: getattr(policy, item.name) for item in fields(policy)}
    found = _FIELDS[kind] | {name: value for name, value in given.items() if value is not None} | {"backoff": backoff}
    found.setdefault("jitter", "none" if kind == CUSTOM else "full")
    if found["jitter"] == "proportional":
        found.setdefault("percent", 20.0)
    return found | _durations(found)


def _implied_backoff(policy: Retry) -> str:
    if policy.power is not None:
        return "polynomial"
    return "list" if policy.first is None and policy.factor is None else "exponential"


def _refuse_foreign_fields(policy: Retry, kind: str) -> None:
    for name in ("delays", "first", "factor", "power"):
        if getattr(policy, name) is not None and name not in _FIELDS[kind]:
            owners = " or ".join(owner for owner, used in _FIELDS.items() if name in used)
            raise ConfigError(f"Retry({name}=…) belongs to the backoff {owners}, not to {kind}; leave one of them out")
    if policy.percent is not None and policy.jitter != "proportional":
        raise ConfigError("Retry(percent=…) belongs to jitter='proportional'")


def _durations(found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are durations, in seconds."""
    parsed: dict[str, Any] = {name: seconds(found[name]) for name in ("first", "cap", "max_age") if name in found}
    if (delays := found.get("delays")) is not None:
        if isinstance(delays, str) or not delays:
            raise ConfigError(f"Retry(delays={delays!r}) must be a list of durations with at least one")
        parsed["delays"] = tuple(seconds(delay) for delay in delays)
    return parsed


def _check(policy: Retry) -> None:
    _require_within("attempts", policy.attempts, 1, MAX_ATTEMPTS)
    _require_within("factor", policy.factor, 1, math.inf)
    _require_within("power", policy.power, 0, MAX_POWER)
    _require_within("percent", policy.percent, 0, 100)
    if policy.jitter not in JITTERS:
        raise ConfigError(f"Retry(jitter={policy.jitter!r}) must be one of {', '.join(JITTERS)}")


def _require_within(name: str, value: float | None, least: float, most: float) -> None:
    if value is not None and not (isinstance(value, int | float) and least <= value <= most and math.isfinite(value)):
        bounds = f"at least {least}" if most == math.inf else f"from {least} to {most:g}"
        raise ConfigError(f"Retry({name}={value!r}) must be a number {bounds}")


class Step(NamedTuple):
    """An attempt and when it starts, in seconds since submission."""

    attempt: int
    earliest: float
    expected: float
    latest: float


def timeline(policy: Retry) -> list[Step]:
    """Return all attempts that a policy allows, without those that could only start after its `max_age`."""
    limit = float("inf") if policy.max_age is None else seconds(policy.max_age)
    steps = [Step(1, 0.0, 0.0, 0.0)]
    for attempt in range(1, policy.attempts):
        shortest, longest = delay_bounds(policy, attempt)
        _, earliest, expected, latest = steps[-1]
        if earliest + shortest > limit:
            break
        middle = expected + (shortest + longest) / 2
        steps.append(Step(attempt + 1, earliest + shortest, min(middle, limit), min(latest + longest, limit)))
    return steps
