"""Backpressure: decides whether submissions are accepted, deferred, shed or refused, by rules that operators set.

Three rules, each a kind of control. *depth*: how many jobs of a tenant may wait. *submission*: a rate limit for a
tenant's submissions. Both are set for a tenant, a tier, or each tenant (`tenant:*`); the most specific applies.
*overload*: while more jobs than a bound are ready in the whole system, jobs below a priority are refused, deferred or
shed.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fairlead.core.durations import Duration, seconds
from fairlead.core.jobs.model import Enqueued, NewJob, Priority
from fairlead.core.jobs.states import State
from fairlead.core.names import check_name
from fairlead.core.protection.controls import Controls, Value
from fairlead.core.protection.token_bucket import RateLimit, rate_limit
from fairlead.core.stored import readable
from fairlead.errors import ConfigError, Overloaded, Refused, TenantQueueFull, TenantRateExceeded

DEPTH, SUBMISSION, OVERLOAD = "depth", "submission", "overload"
KINDS = frozenset({DEPTH, SUBMISSION, OVERLOAD})
POLICY = "policy"  # the one control of the kind overload
SCOPES = ("tenant", "tier")
EACH = "*"
TENANT, DEFAULT_TIER = "tenant", "standard"
ALL = ""  # the name of the count of all ready jobs in the system
MOST_WAITING = 10**12
RETRY_AFTER = 5.0  # seconds; the backlog is sampled about every second and has to shrink first
DEFERRED = "DEFERRED"
OPTION = "deferred"  # in the options of a deferred job: its delay
SHED = "SHED"
USUAL_DEPTH = 1_000_000  # the bound on a tenant's waiting jobs without a rule


class Action(StrEnum):
    """What happens to jobs of low priority during an overload."""

    REJECT = "reject"
    DEFER = "defer"
    SHED = "shed"


@dataclass(frozen=True, slots=True)
class Overload:
    """The overload rule: with `waiting` or more ready jobs, `action` applies to jobs of lower priority than `below`."""

    waiting: int
    action: Action = Action.REJECT
    below: Priority = Priority.DEFAULT
    delay: float = 60.0

    @classmethod
    def from_value(cls, value: Value) -> "Overload":
        """Return the rule from a control's value."""
        usual = cls(value.get("waiting", MOST_WAITING))
        given = {**usual.to_value(), **value}
        return readable(lambda: overload(usual.waiting, given["action"], given["below"], given["delay"]), usual)

    def to_value(self) -> dict[str, Any]:
        """Return the control's value."""
        return {"waiting": self.waiting, "action": self.action.value, "below": self.below.word, "delay": self.delay}


def overload(waiting: int, action: str, below: str, delay: Duration) -> Overload:
    """Return a valid overload rule, else ConfigError."""
    try:
        kind = Action(action)
    except ValueError:
        raise ConfigError(f"{action!r} is no policy; it must be one of {', '.join(Action)}") from None
    return Overload(checked_depth(waiting), kind, Priority.parse(below), seconds(delay))


def checked_depth(waiting: int) -> int:
    """Return the bound on waiting jobs if it is valid, else ConfigError."""
    if isinstance(waiting, bool) or not isinstance(waiting, int) or not 0 <= waiting <= MOST_WAITING:
        raise ConfigError(f"{waiting!r} is not a number of waiting jobs; it must be 0 or more")
    return waiting


def rule_name(scope: str, name: str) -> str:
    """Return the control's name for a rule about a tenant, each tenant or a tier."""
    if scope not in SCOPES:
        raise ConfigError(f"{scope!r} cannot be bounded; it must be one of {', '.join(SCOPES)}")
    if not (scope == TENANT and name == EACH):
        check_name(scope, name)
    return f"{scope}:{name}"


class Policy:
    """The backpressure rules in force, read from the controls."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._depths = depths(controls)
        self._rate_limits = rate_limits(controls)
        policy = controls.get(OVERLOAD, POLICY)
        self.overload = Overload.from_value(policy.value) if policy and policy.value else None
        self.any = bool(self.overload or self._rate_limits)  # beside depths, which bound every tenant

    def depth(self, tenant: str) -> int:
        """Return how many jobs of a tenant may wait; None is no bound."""
        found: int | None = self._narrowest(self._depths, tenant)
        return USUAL_DEPTH if found is None else found

    def rate_limit(self, tenant: str) -> RateLimit | None:
        """Return the rate limit of a tenant's submissions, or None."""
        found: RateLimit | None = self._narrowest(self._rate_limits, tenant)
        return found

    def _narrowest(self, rules: Mapping[str, Any], tenant: str) -> Any:
        if not rules:
            return None
        for name in (f"tenant:{tenant}", f"tier:{self._tier(tenant)}", f"tenant:{EACH}"):
            if name in rules:
                return rules[name]
        return None

    def _tier(self, tenant: str) -> str:
        control = self._controls.get(TENANT, tenant) or self._controls.get(TENANT, EACH)
        return str((control.value or {}).get("tier", DEFAULT_TIER)) if control else DEFAULT_TIER


def depths(controls: Controls) -> dict[str, int]:
    """Return the bounds on waiting jobs by rule name."""
    found = {name: (item.value or {}).get("waiting") for name, item in sorted(controls.of(DEPTH).items())}
    return {name: waiting for name, waiting in found.items() if waiting is not None}


def rate_limits(controls: Controls) -> dict[str, RateLimit]:
    """Return the rate limits of submissions by rule name."""
    found = {name: _rate_limit(item.value or {}) for name, item in sorted(controls.of(SUBMISSION).items())}
    return {name: way for name, way in found.items() if way is not None}


def _rate_limit(value: Value) -> RateLimit | None:
    return readable(lambda: rate_limit(value["rate"], value.get("burst")), None)


def refuse_by_depth(tenant: str, most: int, waiting: int, count: int) -> TenantQueueFull:
    """Return the error if `count` more jobs would exceed the tenant's bound, else None."""
    return TenantQueueFull(
        f"tenant {tenant!r} has {waiting} waiting jobs and may have {most}, so {count} more were refused; "
        "nothing was stored: submit again later, or raise the bound with `fairlead settings set depth`",
        RETRY_AFTER,
        quota=most,
    )


def refuse_by_rate(way: RateLimit, tenant: str, count: int, again_in: float) -> Refused:
    """Return the error for a submission beyond the tenant's rate limit."""
    advice = f"submit again in {again_in:.3g} s"
    if count > way.burst:
        advice = f"at most {way.burst:g} can be submitted at once: submit in smaller batches"
    return TenantRateExceeded(
        f"tenant {tenant!r} may submit {way.rate:g} jobs a second, {way.burst:g} at once, so {count} were refused; "
        f"nothing was stored: {advice}",
        again_in,
        quota=way.burst,
        window=way.burst / way.rate,
    )


def is_unwanted(policy: Policy, priority: Priority, ready: int) -> bool:
    """Whether the overload rule applies to a job of this priority now."""
    return policy.overload is not None and ready >= policy.overload.waiting and priority > policy.overload.below


def refuse_by_overload(policy: Overload, ready: int, count: int) -> Refused:
    """Return the error for jobs that are refused during an overload."""
    return Overloaded(
        f"about {ready} jobs are ready, {policy.waiting} or more count as an overload, and {count} jobs below priority "
        f"{policy.below.word} were refused; nothing was stored: submit again later, or with a higher priority",
        RETRY_AFTER,
        quota=policy.waiting,
    )


def put_off(job: NewJob, delay: float, now: float) -> None:
    """Defer a job by `delay` seconds and note that in its options."""
    job.deferred = delay
    job.options = json.dumps({**json.loads(job.options or "{}"), OPTION: delay}, separators=(",", ":"))
    if job.run_at is not None:
        job.run_at = max(job.run_at, now + delay)
    job.delay = max(job.delay, delay)
    job.state = State.SCHEDULED


def deferred_of(options: str | None) -> float | None:
    """Return the seconds by which the job with these stored options was deferred, or None."""
    return json.loads(options).get(OPTION) if options and OPTION in options else None


def with_shed(jobs: Sequence[NewJob], kept: Sequence[NewJob], answers: Iterable[Enqueued]) -> list[Enqueued]:
    """Return results for all jobs: the given ones for kept jobs, shed for the others."""
    given = {job.id: answer for job, answer in zip(kept, answers, strict=True)}
    return [given.get(job.id) or Enqueued(job.id, False, shed=True) for job in jobs]
