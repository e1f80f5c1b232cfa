"""Admission: which submissions are accepted, put off, shed or refused, by what operators have set.

Three rules, each a kind of control. *depth*: how many jobs of a tenant may wait. *submission*: how fast a tenant may
submit, as a token bucket. Both are set for a tenant, for a tier, or for each tenant (`tenant:*`); the narrowest counts.
*overload*: while more jobs than a bound are ready in the whole system, those below a priority are refused, put off or
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
ALL = ""  # the name under which the ready jobs of the whole system are counted
MOST_WAITING = 10**12
RETRY_AFTER = 5.0  # a backlog is looked at again every second or so, and has to shrink first
DEFERRED = "DEFERRED"
OPTION = "deferred"  # of a job that was put off
SHED = "SHED"
USUAL_DEPTH = 1_000_000  # jobs of a tenant that may wait where no rule says how many


class Action(StrEnum):
    """What becomes of a job that an overloaded system does not want now."""

    REJECT = "reject"
    DEFER = "defer"
    SHED = "shed"


@dataclass(frozen=True, slots=True)
class Overload:
    """From `waiting` ready jobs on, jobs of a lower priority than `below` are dealt with by `action`."""

    waiting: int
    action: Action = Action.REJECT
    below: Priority = Priority.DEFAULT
    delay: float = 60.0

    @classmethod
    def from_value(cls, value: Value) -> "Overload":
        """As it is kept in the store."""
        usual = cls(value.get("waiting", MOST_WAITING))
        given = {**usual.to_value(), **value}
        return readable(lambda: overload(usual.waiting, given["action"], given["below"], given["delay"]), usual)

    def to_value(self) -> dict[str, Any]:
        """What is kept in the store."""
        return {"waiting": self.waiting, "action": self.action.value, "below": self.below.word, "delay": self.delay}


def overload(waiting: int, action: str, below: str, delay: Duration) -> Overload:
    """A checked policy."""
    try:
        kind = Action(action)
    except ValueError:
        raise ConfigError(f"{action!r} is no policy; it must be one of {', '.join(Action)}") from None
    return Overload(checked_depth(waiting), kind, Priority.parse(below), seconds(delay))


def checked_depth(waiting: int) -> int:
    """A number of jobs that may wait."""
    if isinstance(waiting, bool) or not isinstance(waiting, int) or not 0 <= waiting <= MOST_WAITING:
        raise ConfigError(f"{waiting!r} is not a number of waiting jobs; it must be 0 or more")
    return waiting


def rule_name(scope: str, name: str) -> str:
    """The name of the control for a tenant, each tenant or a tier."""
    if scope not in SCOPES:
        raise ConfigError(f"{scope!r} cannot be bounded; it must be one of {', '.join(SCOPES)}")
    if not (scope == TENANT and name == EACH):
        check_name(scope, name)
    return f"{scope}:{name}"


class Policy:
    """What is in force, as the controls have it."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._depths = depths(controls)
        self._rate_limits = rate_limits(controls)
        policy = controls.get(OVERLOAD, POLICY)
        self.overload = Overload.from_value(policy.value) if policy and policy.value else None
        self.any = bool(self.overload or self._rate_limits)  # beside depths, which bound every tenant

    def depth(self, tenant: str) -> int:
        """How many jobs of a tenant may wait."""
        found: int | None = self._narrowest(self._depths, tenant)
        return USUAL_DEPTH if found is None else found

    def rate_limit(self, tenant: str) -> RateLimit | None:
        """How fast a tenant may submit."""
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
    """How many jobs may wait, by the rules that say so."""
    found = {name: (item.value or {}).get("waiting") for name, item in sorted(controls.of(DEPTH).items())}
    return {name: waiting for name, waiting in found.items() if waiting is not None}


def rate_limits(controls: Controls) -> dict[str, RateLimit]:
    """How fast may be submitted, by the rules that say so."""
    found = {name: _rate_limit(item.value or {}) for name, item in sorted(controls.of(SUBMISSION).items())}
    return {name: way for name, way in found.items() if way is not None}


def _rate_limit(value: Value) -> RateLimit | None:
    return readable(lambda: rate_limit(value["rate"], value.get("burst")), None)


def refuse_by_depth(tenant: str, most: int, waiting: int, count: int) -> TenantQueueFull:
    """Why so many more jobs of a tenant may not wait."""
    return TenantQueueFull(
        f"tenant {tenant!r} has {waiting} waiting jobs and may have {most}, so {count} more were refused; "
        "nothing was stored: submit again later, or raise the bound with `fairlead backpressure depth`",
        RETRY_AFTER,
        quota=most,
    )


def refuse_by_rate(way: RateLimit, tenant: str, count: int, again_in: float) -> Refused:
    """Why so many jobs of a tenant may not be submitted now."""
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
    """Whether the system is so busy that it does not want a job of this priority now."""
    return policy.overload is not None and ready >= policy.overload.waiting and priority > policy.overload.below


def refuse_by_overload(policy: Overload, ready: int, count: int) -> Refused:
    """Why an overloaded system takes no jobs of a low priority."""
    return Overloaded(
        f"about {ready} jobs are ready, {policy.waiting} or more count as an overload, and {count} jobs below priority "
        f"{policy.below.word} were refused; nothing was stored: submit again later, or with a higher priority",
        RETRY_AFTER,
        quota=policy.waiting,
    )


def put_off(job: NewJob, delay: float, now: float) -> None:
    """Let a job run later than it would have; its options say so."""
    job.deferred = delay
    job.options = json.dumps({**json.loads(job.options or "{}"), OPTION: delay}, separators=(",", ":"))
    if job.run_at is not None:
        job.run_at = max(job.run_at, now + delay)
    job.delay = max(job.delay, delay)
    job.state = State.SCHEDULED


def deferred_of(options: str | None) -> float | None:
    """The seconds that a job with these stored options was put off."""
    return json.loads(options).get(OPTION) if options and OPTION in options else None


def with_shed(jobs: Sequence[NewJob], kept: Sequence[NewJob], answers: Iterable[Enqueued]) -> list[Enqueued]:
    """The answers to all jobs, from those to the ones that were kept."""
    given = {job.id: answer for job, answer in zip(kept, answers, strict=True)}
    return [given.get(job.id) or Enqueued(job.id, False, shed=True) for job in jobs]
