"""What a caller says about one job: whose it is, when it runs, how often it is tried."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple, Protocol, TypedDict

from pydantic_core import from_json, to_json

from fairlead.core.durations import Duration, seconds, span
from fairlead.core.jobs import expiry as late
from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.idempotency import unique as unique_key
from fairlead.core.jobs.ids import is_id, make_ids
from fairlead.core.jobs.model import Lane, NewJob, Priority, Scope, Unique
from fairlead.core.jobs.retry import Retry
from fairlead.core.jobs.states import State
from fairlead.core.names import check_name
from fairlead.core.protection.limits import joined, own_limits
from fairlead.core.schedule.timing import spread
from fairlead.core.stored import restored
from fairlead.core.web import callbacks as callback
from fairlead.errors import ConfigError, InvalidArguments
from fairlead.handlers.spec import HandlerSpec

OWN_LIMITS = "limits"
_random = Random()
_SAMPLE = late.ExpiredJob(
    "00000000-0000-7000-8000-000000000000", Lane("pool", "tenant", "type", Priority.DEFAULT, 1), 0.0, 1.0, 2.0, "{}"
)


class HasSpec(Protocol):
    """A declared handler."""

    spec: HandlerSpec


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a submission; what is None is left to the handler's declaration or the settings."""

    tenant: str | None = None
    priority: Priority | str = Priority.DEFAULT
    pool: str | None = None
    run_in: Duration | None = None
    run_at: datetime | None = None
    not_after: datetime | None = None
    idempotency_key: str | None = None
    idempotency_scope: Scope | str = Scope.ACTIVE
    idempotency_window: Duration | None = None
    timeout: Duration | None = None
    retry: Retry | None = None
    exact: bool | None = None
    limit: str | list[str] | tuple[str, ...] | None = None
    on_late: "HasSpec | None" = None
    callback: str | None = None
    parent: str | None = None
    trace: str | None = None
    connection: Any = None

    def but(self, **changes: Any) -> "Options":
        """The same options with some changed; ConfigError for a name that is none."""
        for name in changes:
            require_known("option", name, OPTIONS)
        return replace(self, **changes)


OPTIONS = tuple(item.name for item in fields(Options))
ELSEWHERE = {  # names that others have for ours
    "countdown": "run_in",
    "delay": "run_in",
    "eta": "run_at",
    "schedule_at": "run_at",
    "expires": "not_after",
    "deadline": "not_after",
    "queue": "pool",
    "key": "idempotency_key",
    "unique_key": "idempotency_key",
    "task_id": "idempotency_key",
    "time_limit": "timeout",
    "soft_time_limit": "timeout",
    "max_retries": "retry",
    "attempts": "retry",
    "retries": "retry",
    "link": "callback",
}


def require_known(kind: str, name: str, known: Collection[str]) -> None:
    """ConfigError for a name that is none of those known; it says which one may be meant."""
    if name in known:
        return
    near = [ELSEWHERE[name]] if ELSEWHERE.get(name) in known else get_close_matches(name, known, 1)
    advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    raise ConfigError(f"there is no {kind} {name!r}: {advice}")


class Choices(TypedDict, total=False):
    """The options that Handler.options takes; see Options."""

    tenant: str | None
    priority: Priority | str
    pool: str | None
    run_in: Duration | None
    run_at: datetime | None
    not_after: datetime | None
    idempotency_key: str | None
    idempotency_scope: Scope | str
    idempotency_window: Duration | None
    timeout: Duration | None
    retry: Retry | None
    exact: bool | None
    limit: str | list[str] | tuple[str, ...] | None
    on_late: HasSpec | None
    callback: str | None
    parent: str | None
    trace: str | None
    connection: Any


class Template(NamedTuple):
    """What all jobs of one submission share, checked once."""

    lane: Lane
    delay: float
    run_at: float | None
    not_after: float | None
    unique: Unique | None
    overrides: str | None
    parent: str | None
    exact: bool
    limits: tuple[str, ...]  # of the jobs' own, beside those of their type


def template(
    name: str, version: int, pool: str, tenant: str, options: Options, exact: bool = False, limits: str = ""
) -> Template:
    """The template of jobs of a type; the options win over what the type declares and the default tenant."""
    own = limits_of(options)
    lane = Lane(
        check_name("pool", pool if options.pool is None else options.pool),
        check_name("tenant", tenant if options.tenant is None else options.tenant),
        name,
        Priority.parse(options.priority),
        version,
        joined(limits, own) if own else limits,
    )
    delay, run_at = _when(options)
    not_after = seconds_at("not_after", options.not_after)
    exact = exact if options.exact is None else options.exact
    return Template(lane, delay, run_at, not_after, _unique(options), overrides(options), _parent(options), exact, own)


def new_jobs(shared: Template, payloads: Sequence[str], now: float, rng: Random | None = None) -> list[NewJob]:
    """The jobs that a submission asks for; `now` only tells whether a named instant lies in the future."""
    if shared.unique is not None and len(payloads) > 1:
        raise ConfigError("one idempotency_key cannot stand for many jobs; enqueue them one by one, each with its own")
    lane, delay, run_at, not_after, unique, overrides, parent, exact, _ = shared
    waits = delay > 0 or (run_at is not None and run_at > now)
    state = State.SCHEDULED if waits else State.READY
    jobs = [
        NewJob(job_id, lane, payload, state, delay, run_at, not_after, unique, overrides, parent)
        for job_id, payload in zip(make_ids(len(payloads), now), payloads, strict=True)
    ]
    if waits and not exact:
        _spread(jobs, now, rng or _random)
    return jobs


def _spread(jobs: list[NewJob], now: float, rng: Random) -> None:
    """Move each job that waits for long a little, and each by itself."""
    for job in jobs:
        latest = None if job.not_after is None else job.not_after - now
        if job.run_at is None:
            job.delay = spread(job.delay, latest, rng)
        else:
            job.run_at = now + spread(job.run_at - now, latest, rng)


def _when(options: Options) -> tuple[float, float | None]:
    if options.run_in is not None and options.run_at is not None:
        raise ConfigError("run_in and run_at exclude each other; give one of them")
    delay = 0.0 if options.run_in is None else seconds(options.run_in)
    return delay, seconds_at("run_at", options.run_at)


def seconds_at(name: str, moment: datetime | None) -> float | None:
    """The instant in seconds since 1970; ConfigError where it cannot be read back."""
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        raise ConfigError(f"{name}={moment!r:.100} is not a datetime; durations from now are given with run_in")
    if moment.tzinfo is None:
        raise ConfigError(f"{name}={moment!r} has no time zone; use datetime.now(UTC) or add tzinfo")
    try:
        return moment.astimezone(UTC).timestamp()
    except (OverflowError, ValueError):
        raise ConfigError(f"{name}={moment!r} is before the year 1 or after 9999 in UTC; choose another time") from None


def _unique(options: Options) -> Unique | None:
    if options.idempotency_key is None:
        if options.idempotency_window is not None or options.idempotency_scope != Scope.ACTIVE:
            raise ConfigError("idempotency_scope and idempotency_window say how long a key holds: give idempotency_key")
        return None
    return unique_key(options.idempotency_key, options.idempotency_scope, options.idempotency_window)


def limits_of(options: Options) -> tuple[str, ...]:
    """The limits that the jobs themselves name."""
    named = options.limit
    return () if named is None else own_limits(named if isinstance(named, list | tuple) else (named,))


def _parent(options: Options) -> str | None:
    if options.parent is not None and not (isinstance(options.parent, str) and is_id(options.parent)):
        raise ConfigError(f"parent={options.parent!r:.100} is not the id of a job; give job.id")
    return options.parent


def overrides(options: Options) -> str | None:
    """What a worker needs to know that the handler's declaration does not say, or None."""
    stored: dict[str, Any] = {}
    if options.timeout is not None:
        stored["timeout"] = span("timeout", options.timeout)
    if options.retry is not None:
        if not isinstance(options.retry, Retry):
            raise ConfigError(f"retry={options.retry!r:.100} is not a policy; write it like fairlead.Retry(attempts=3)")
        if callable(options.retry.backoff):
            raise ConfigError("a backoff that is a function cannot be stored with a job; declare it with the handler")
        stored["retry"] = options.retry.stored()
    if options.limit is not None:
        stored[OWN_LIMITS] = limits_of(options)
    if options.on_late is not None:
        stored[late.OPTION] = _late_target(options.on_late.spec, options)
    if options.callback is not None:
        stored[callback.OPTION] = callback.check_endpoint_name(options.callback)
    if options.trace is not None:
        stored["trace"] = options.trace
    return to_json(stored).decode() if stored else None


def _late_target(spec: HandlerSpec, options: Options) -> Mapping[str, Any]:
    """The handler that is told, checked: it must be content with what can be told."""
    if options.not_after is None:
        raise ConfigError("on_late needs not_after: without it no job is too late")
    takes = [name for name in late.FACTS if name in spec.arguments.names]
    sample = late.facts(_SAMPLE)
    try:
        spec.arguments.load(to_json({name: sample[name] for name in takes}).decode())
    except InvalidArguments as error:
        known = ", ".join(late.FACTS)
        raise ConfigError(f"{spec.name!r} cannot be on_late: it may take {known}; {error}") from None
    _check_late_limits(spec)
    limits = [limit.stored() for limit in spec.limits]
    return late.target(spec.name, spec.version, spec.pool, takes, limits, spec.needs)


def _check_late_limits(spec: HandlerSpec) -> None:
    """The job that follows is made by the store, which has no code to compute a key with."""
    for limit in spec.limits:
        if callable(limit.key):
            raise ConfigError(
                f"{spec.name!r} cannot be on_late: the key of its limit {limit.name!r} is a function, and jobs that "
                "follow on late ones are made without the code; declare the key as the name of a field (key='tenant')"
            )


def overridden(options: str | None, timeout: float | None, policies: Policies) -> tuple[float | None, Policies]:
    """The timeout and retry policies in force for a job with these stored options."""
    if options is None:
        return timeout, policies
    own_timeout, retry = _parsed(options)
    return timeout if own_timeout is None else own_timeout, policies.but(retry) if retry else policies


def own_limits_of(options: str | None) -> tuple[str, ...]:
    """The limits that a job named when it was submitted."""
    return tuple(from_json(options).get(OWN_LIMITS, ())) if options else ()


def trace_of(options: str | None) -> str | None:
    """The trace context that a job was submitted with."""
    trace = from_json(options).get("trace") if options else None
    return trace if isinstance(trace, str) else None


@lru_cache(maxsize=1024)
def _parsed(options: str) -> tuple[float | None, Retry | None]:
    """Stored options; the jobs of one submission have the same text."""
    overrides = from_json(options)
    given = overrides.get("retry")
    return overrides.get("timeout"), restored(Retry, given) if given else None
