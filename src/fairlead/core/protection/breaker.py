"""Circuit breakers for job types and dependencies: stop starting runs while most fail, then probe, then ramp up.

    closed      runs are counted; too many failures within the window open the breaker
    open        no run starts until the cool-down is over
    half-open   a few probes start; their results decide whether it opens again or ramps up. If none of them succeeded,
                the next cool-down is twice as long; otherwise it is the first one again
    ramping     the allowed starts double ten times over the ramp; then the breaker is closed. It opens again when too
                many of enough runs have failed

The breaker of a type or dependency concerns all tenants and opens only when the jobs of several tenants fail. Beside
it each tenant has one of its own, named `type:send_email~acme`, which opens when that tenant's jobs fail.

A breaker that is not closed is stored as a control; this module computes its next value. Workers write it by
compare-and-swap, so together they never start more runs than it permits. A permit belongs to the phase in which it was
given, and a result counts only in that phase. A probe that does not end within `patience` counts as lost, and another
one is permitted.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any

from fairlead.core.durations import Duration, humanize, seconds
from fairlead.core.protection.controls import Control
from fairlead.core.protection.run_counts import SEVERAL, Sums, base_of, tenant_of, weighed
from fairlead.core.stored import restored
from fairlead.errors import ConfigError

BREAKER = "breaker"  # the kind of the control
DOUBLINGS = 10
MOST_PROBES = 1_000
RAMP_RUNS = 20  # the least number of runs in a ramp before failures open the breaker
_DURATIONS = ("window", "cooldown", "longest_cooldown", "patience", "ramp")


class Phase(StrEnum):
    """The phase of a breaker that is not closed."""

    OPEN = "open"
    HALF_OPEN = "half_open"
    RAMPING = "ramping"

    __hash__ = str.__hash__


@dataclass(frozen=True, slots=True)
class Breaker:
    """A breaker policy: opens at a share of failures among at least `minimum` runs within `window`; how it closes."""

    threshold: float = 0.5
    minimum: int = 20
    window: Duration = 60.0
    cooldown: Duration = 10.0
    longest_cooldown: Duration = 300.0
    probes: int = 3
    patience: Duration = 60.0
    ramp: Duration = 30.0
    enabled: bool = True

    @classmethod
    def off(cls) -> "Breaker":
        """Return a policy that never opens the breaker; an operator still can."""
        return cls(enabled=False)

    def __post_init__(self) -> None:
        for name in _DURATIONS:
            object.__setattr__(self, name, seconds(getattr(self, name)))
        if not 0 < self.threshold <= 1:
            raise ConfigError(f"Breaker(threshold={self.threshold!r}) must be a share above 0 and up to 1")
        if self.minimum < 1:
            raise ConfigError(f"Breaker(minimum={self.minimum!r}) must be at least 1")
        if not 1 <= self.probes <= MOST_PROBES:
            raise ConfigError(f"Breaker(probes={self.probes!r}) must be from 1 to {MOST_PROBES}")
        for name in ("window", "cooldown", "patience"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"Breaker({name}=…) must be longer than nothing")

    def stored(self) -> dict[str, Any]:
        """The policy as data, from which core.stored makes it again."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The state of a breaker that is not closed. `until` ends the cool-down, or the wait for probes; None is no end.

    `permits` counts the starts permitted in this phase, `good` and `bad` the results.
    """

    phase: Phase = Phase.OPEN
    since: float = 0.0
    until: float | None = None
    why: str = ""
    policy: Breaker = Breaker()
    openings: int = 1
    number: int = 1  # of the phase, counted since the breaker was last closed
    permits: int = 0
    good: int = 0
    bad: int = 0
    by: str | None = None  # the operator who opened it

    def value(self) -> dict[str, Any]:
        """Return the control's value."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"policy": self.policy.stored()}


def breaker_state(control: Control | None) -> BreakerState | None:
    """Return the breaker state in a control; None if the breaker is closed."""
    if control is None or control.value is None:
        return None
    given = {**control.value, "policy": restored(Breaker, control.value.get("policy") or {})}
    if given.get("phase") not in set(Phase):  # written by a newer version: this one starts nothing
        given |= {"phase": Phase.OPEN, "until": None}
    return restored(BreakerState, {**given, "phase": Phase(given["phase"])})


def why_open(policy: Breaker, sums: Sums, settled: float = 0.0) -> str | None:
    """Return why a closed breaker opens now, in words; None if it stays closed.

    `settled` is the least time since counting began, so that all workers have written their counts.
    """
    if not policy.enabled or sums.total < policy.minimum or sums.bad < policy.threshold * sums.total:
        return None
    if sums.counted_for < settled:
        return None
    return f"{sums.bad} of {sums.total} runs failed within {humanize(seconds(policy.window))}"


def why_open_for_all(policy: Breaker, sums: Sums, groups: Sequence[Sums], settled: float = 0.0) -> str | None:
    """Why a closed breaker opens for all tenants now, in words; None if it stays closed.

    Most runs must have failed, and also most where each group of tenants counts for a part of `minimum` only: so it
    takes several tenants whose jobs fail, and no tenant can outvote the others by the number of its jobs.
    """
    good, bad = weighed(groups, policy.minimum / SEVERAL)
    if round(good + bad, 6) < policy.minimum or bad < policy.threshold * (good + bad):
        return None
    return why_open(policy, sums, settled)


def opened(policy: Breaker, why: str, now: float, openings: int = 1, number: int = 1) -> BreakerState:
    """A breaker that opens now; the cool-down doubles with each opening in a row."""
    first, longest = seconds(policy.cooldown), seconds(policy.longest_cooldown)
    cooldown = min(first * 2.0 ** min(openings - 1, 60), max(first, longest))
    return BreakerState(Phase.OPEN, now, now + cooldown, why, policy, openings, number)


def opened_by_hand(policy: Breaker, by: str, why: str, now: float) -> BreakerState:
    """Return an open breaker that only an operator closes."""
    return BreakerState(Phase.OPEN, now, None, why, policy, by=by)


def is_shut(breaker: BreakerState, now: float) -> bool:
    """Whether no run may start: the breaker is open and its cool-down is not over."""
    return breaker.phase is Phase.OPEN and (breaker.until is None or now < breaker.until)


def permit(breaker: BreakerState, wanted: int, now: float) -> tuple[int, BreakerState]:
    """Return how many of the wanted runs may start now, and the breaker with these permits added."""
    if is_shut(breaker, now) or wanted <= 0:
        return 0, breaker
    due = _probing(breaker, now)
    given = max(0, min(wanted, allowance(due, now) - due.permits))
    return (given, replace(due, permits=due.permits + given)) if given else (0, breaker)


def allowance(breaker: BreakerState, now: float) -> int:
    """Return the number of starts that the phase allows until now."""
    probes, ramp = breaker.policy.probes, seconds(breaker.policy.ramp)
    if breaker.phase is not Phase.RAMPING:
        return 0 if breaker.phase is Phase.OPEN else probes
    passed = 1.0 if ramp <= 0 else min(1.0, max(0.0, now - breaker.since) / ramp)
    return int(probes * 2.0 ** (DOUBLINGS * passed))


def give_back(breaker: BreakerState, count: int) -> BreakerState:
    """Return the breaker without `count` unused permits."""
    return replace(breaker, permits=max(0, breaker.permits - count))


def heard(breaker: BreakerState, good: int, bad: int, now: float) -> BreakerState:
    """Return the breaker after runs of its phase have ended; the next phase never begins before this one."""
    now = max(now, breaker.since)
    known = replace(breaker, good=breaker.good + good, bad=breaker.bad + bad)
    match known.phase:
        case Phase.HALF_OPEN:
            return _judge_probes(known, now)
        case Phase.RAMPING:
            return _judge_ramp(known, now)
    return breaker


def is_over(breaker: BreakerState, now: float) -> bool:
    """Whether the ramp is over, so that the breaker closes."""
    return breaker.phase is Phase.RAMPING and now >= breaker.since + seconds(breaker.policy.ramp)


def describe(name: str, breaker: BreakerState, now: float) -> str:
    """Return the breaker's state in words."""
    subject = f"the breaker of {spoken(name)}"
    if breaker.phase is Phase.RAMPING:
        return f"{subject} is ramping up: it lets more and more jobs start; it had opened because {breaker.why}"
    if not is_shut(breaker, now):
        return f"{subject} is half-open: it lets only a few jobs start, as probes; it had opened because {breaker.why}"
    if breaker.until is None:
        return f"{subject} is open: {breaker.why}; it stays so until `fairlead settings remove breaker {name}`"
    return f"{subject} is open: {breaker.why}; next try in {humanize(max(0.0, breaker.until - now))}"


def spoken(name: str) -> str:
    """Return a breaker's name in words, as in "type send_email for tenant acme"."""
    kind, _, own = base_of(name).partition(":")
    tenant = tenant_of(name)
    return f"{kind} {own}" + (f" for tenant {tenant}" if tenant else "")


def _probing(breaker: BreakerState, now: float) -> BreakerState:
    """Return the breaker half-open if its cool-down is over, and without the permits of lost probes."""
    until = now + seconds(breaker.policy.patience)
    if breaker.phase is Phase.OPEN:
        return _next_phase(breaker, Phase.HALF_OPEN, now, until)
    if breaker.phase is Phase.HALF_OPEN and breaker.until is not None and now >= breaker.until:
        return replace(breaker, until=until, permits=breaker.good + breaker.bad)
    return breaker


def _judge_probes(known: BreakerState, now: float) -> BreakerState:
    """Open again or ramp up as soon as the remaining probes cannot change the result."""
    policy = known.policy
    if known.bad >= policy.threshold * policy.probes:
        openings = 1 if known.good else known.openings + 1
        return _opened_again(known, f"{known.bad} of {policy.probes} probes failed", now, openings)
    if known.good > (1 - policy.threshold) * policy.probes:
        return _next_phase(known, Phase.RAMPING, now, None)
    return known


def _judge_ramp(known: BreakerState, now: float) -> BreakerState:
    """Open again, as if for the first time, if the share of failures reaches the threshold among enough runs."""
    total, policy = known.good + known.bad, known.policy
    enough = min(policy.minimum, max(policy.probes, RAMP_RUNS))
    if total >= enough and known.bad >= policy.threshold * total:
        return _opened_again(known, f"{known.bad} of {total} runs failed while it ramped up", now, 1)
    return known


def _next_phase(breaker: BreakerState, phase: Phase, now: float, until: float | None) -> BreakerState:
    return replace(
        breaker, phase=phase, since=now, until=until, number=breaker.number + 1, permits=0, good=0, bad=0
    )  # fmt: skip


def _opened_again(breaker: BreakerState, why: str, now: float, openings: int) -> BreakerState:
    return opened(breaker.policy, why, now, openings, breaker.number + 1)
