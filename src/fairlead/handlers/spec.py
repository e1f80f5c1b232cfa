"""A job type as declared in code, and the registry of all that an application knows."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, TypedDict, Unpack

from pydantic_core import from_json

from fairlead.core.durations import Duration, seconds, span
from fairlead.core.jobs.failure import FailureClass, Policies
from fairlead.core.jobs.failure import policies as checked_policies
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.pools import BUILT_IN
from fairlead.core.jobs.retry import Retry
from fairlead.core.names import check_name
from fairlead.core.protection.breaker import Breaker
from fairlead.core.protection.limits import MOST_LIMITS, Bound, Limit, field_of, marks
from fairlead.core.protection.quarantine import Quarantine
from fairlead.core.protection.retry_budget import RetryBudget
from fairlead.core.protection.run_counts import TYPE, breakers_of
from fairlead.core.schedule.schedules import ScheduleSpec
from fairlead.errors import ConfigError, InvalidArguments, UnknownType
from fairlead.handlers.arguments import Arguments

Limits = Limit | Sequence[Limit] | None
Upgrade = Callable[[dict[str, Any], int], dict[str, Any]]
Classes = Mapping[type[BaseException] | str, FailureClass | str]


class Marks:
    """The marks of one type's jobs: the same for all of them, unless a limit has a key."""

    def __init__(self, type_name: str, arguments: Arguments, limits: tuple[Limit, ...], needs: tuple[str, ...]) -> None:
        self._type_name = type_name
        self._arguments = arguments
        self._limits = limits
        self._needs = needs
        self.is_keyed = any(limit.key is not None for limit in limits)
        self.shared = marks([(limit.name, None) for limit in limits if limit.key is None], needs)

    def of(self, payload: str) -> str:
        """The marks of a job with this payload."""
        if not self.is_keyed:
            return self.shared
        return marks([(limit.name, self._value(limit, payload)) for limit in self._limits], self._needs)

    def _value(self, limit: Limit, payload: str) -> object | None:
        if limit.key is None:
            return None
        if isinstance(limit.key, str):
            return field_of(from_json(payload), limit.key)
        try:
            return limit.key(self._arguments.namespace(payload))
        except Exception as error:
            raise InvalidArguments(
                f"the key of the limit {limit.name!r} of {self._type_name!r} cannot be computed from these arguments: "
                f"{type(error).__name__}: {error}"
            ) from error


def checked_limits(type_name: str, limits: Limits, needs: Iterable[str]) -> tuple[tuple[Limit, ...], tuple[str, ...]]:
    """The limits and dependencies of a declaration."""
    several = () if limits is None else (limits,) if isinstance(limits, Limit) else tuple(limits)
    names = [limit.name for limit in several]
    if len(set(names)) < len(names) or len(names) > MOST_LIMITS:
        raise ConfigError(f"the limits of {type_name!r} must be at most {MOST_LIMITS}, each with a name of its own")
    if isinstance(needs, str):
        raise ConfigError(f"needs={needs!r} of {type_name!r} is not a list; write it like needs=[{needs!r}]")
    return several, tuple(dict.fromkeys(check_name("dependency", name) for name in needs))


@dataclass(frozen=True)
class HandlerSpec:
    """Everything about one job type that its handler's declaration says."""

    name: str
    function: Callable[..., Any]
    arguments: Arguments
    pool: str
    version: int
    timeout: float | None
    policies: Policies
    retention: float | None
    upgrade: Upgrade | None
    is_async: bool  # runs on the event loop rather than in a thread
    exact: bool = False  # far schedules are not spread
    fixed_pool: bool = False  # measured run times do not move it
    usual_retry: bool = False  # no retry policy was declared: its pool says how often it is tried
    classes: tuple[Mapping[str, FailureClass], ...] = field(default=())  # by name of exception: the type's, the app's
    limits: tuple[Limit, ...] = ()
    needs: tuple[str, ...] = ()  # the dependencies it calls, for which its runs may fail
    breaker: Breaker = field(default_factory=Breaker)
    quarantine: Quarantine = field(default_factory=Quarantine)
    breakers: tuple[str, ...] = ()  # the names of all that its runs go through
    budget: RetryBudget = field(default_factory=RetryBudget)  # that of its application

    @cached_property
    def marks(self) -> Marks:
        """What its jobs' lanes say of its limits."""
        return Marks(self.name, self.arguments, self.limits, self.needs)

    @property
    def retry(self) -> Retry:
        """The policy for application errors."""
        return self.policies.application

    def load(self, payload: str, version: int) -> dict[str, Any]:
        """The arguments of a payload, upgraded first if an older version wrote it."""
        return self.loading(version)(payload)

    def loading(self, version: int) -> Callable[[str], dict[str, Any]]:
        """What gets the arguments of payloads that a version wrote."""
        upgrade, load = self.upgrade, self.arguments.load
        if version < self.version and upgrade:
            return lambda payload: load(json.dumps(upgrade(json.loads(payload), version)))
        return load

    def job_type(self) -> JobType:
        """What the store keeps of it."""
        declared = {name.value: policy.stored() for name, policy in self.policies.declared.items()}
        settings = {
            "timeout": self.timeout,
            "retry": self.retry.stored(),
            "usual_retry": self.usual_retry,
            "policies": declared,
            "retention": self.retention,
            "exact": self.exact,
            "fixed_pool": self.fixed_pool,
            "limits": [limit.stored() for limit in self.limits],
            "needs": list(self.needs),
            "breaker": self.breaker.stored(),
            "quarantine": self.quarantine.stored(),
            "retry_budget": self.budget.stored(),
        }
        return JobType(self.name, self.version, self.pool, self.arguments.schema(), settings)


class Declaration(TypedDict, total=False):
    """What App.handler takes beside the name."""

    pool: str
    timeout: Duration | None
    retry: Retry | None
    version: int
    upgrade: Upgrade | None
    retention: Duration | None
    policies: Mapping[FailureClass | str, Retry] | None
    classify: Classes | None
    needs: Sequence[str]
    breaker: Breaker | None
    quarantine: Quarantine | None
    exact: bool
    fixed_pool: bool
    limit: Limits


def declare(
    name: str,
    function: Callable[..., Any],
    *,
    pool: str = "short",
    version: int = 1,
    timeout: Duration | None = None,
    retry: Retry | None = None,
    retention: Duration | None = None,
    upgrade: Upgrade | None = None,
    policies: Mapping[FailureClass | str, Retry] | None = None,
    exact: bool = False,
    fixed_pool: bool = False,
    classes: tuple[Mapping[str, FailureClass], ...] = (),
    limit: Limits = None,
    needs: Sequence[str] = (),
    breaker: Breaker | None = None,
    quarantine: Quarantine | None = None,
    budget: RetryBudget | None = None,
) -> HandlerSpec:
    """A checked declaration."""
    check_name("job type", name)
    check_name("pool", pool)
    if version < 1:
        raise ConfigError(f"the version of {name!r} is {version}; versions begin at 1")
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise ConfigError(f"the handler of {name!r} is a generator; it must be a function or a coroutine function")
    if retry is not None and not isinstance(retry, Retry):
        raise ConfigError(f"the retry of {name!r} is {retry!r:.100}; write it like fairlead.Retry(attempts=3)")
    limits, dependencies = checked_limits(name, limit, needs)
    return HandlerSpec(
        name=name,
        function=function,
        arguments=Arguments(name, function),
        pool=pool,
        version=version,
        timeout=None if timeout is None else span("timeout", timeout),
        policies=checked_policies(retry or usual_retry(pool), policies),
        retention=None if retention is None else seconds(retention),
        upgrade=upgrade,
        is_async=inspect.iscoroutinefunction(function),
        exact=exact,
        fixed_pool=fixed_pool,
        usual_retry=retry is None,
        classes=classes,
        limits=limits,
        needs=dependencies,
        breaker=breaker or Breaker(),
        quarantine=quarantine or Quarantine(),
        breakers=breakers_of(name, dependencies),
        budget=budget or RetryBudget(),
    )


def usual_retry(pool: str) -> Retry:
    """The policy of a type that declares none, as long as nobody has changed its pool."""
    attempts = BUILT_IN[pool].attempts if pool in BUILT_IN else None
    return Retry() if attempts is None else Retry(attempts=attempts)


def class_table(classes: Classes) -> dict[str, FailureClass]:
    """Failure classes by the full name of the exception, from exceptions or their names."""
    return {_exception_name(kind): FailureClass.parse(failure) for kind, failure in classes.items()}


def _exception_name(kind: type[BaseException] | str) -> str:
    if isinstance(kind, str):
        return kind
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        raise ConfigError(f"{kind!r:.100} is not an exception; name a class, or write it like 'stripe.APIError'")
    return f"{kind.__module__}.{kind.__qualname__}"


class Registry(Mapping[str, HandlerSpec]):
    """The job types of one application, and the schedules that its code declares for them."""

    def __init__(
        self,
        app: str = "app",
        breaker: Breaker | None = None,
        quarantine: Quarantine | None = None,
        budget: RetryBudget | None = None,
    ) -> None:
        self.app = app
        self.schedules: dict[str, ScheduleSpec] = {}
        self._specs: dict[str, HandlerSpec] = {}
        self._own: dict[str, HandlerSpec] = {}
        self._bounds: dict[str, Bound] = {}
        self.classes: dict[str, FailureClass] = {}
        self.breaker = breaker or Breaker()  # where neither the type nor the dependency has its own
        self.quarantine = quarantine or Quarantine()
        self.budget = budget or RetryBudget()
        self.dependencies: dict[str, Breaker] = {}

    def breaker_of(self, name: str) -> Breaker:
        """The policy of a breaker, by its full name."""
        scope, _, own = name.partition(":")
        if scope == TYPE and own in self:
            return self[own].breaker
        return self.dependencies.get(own, self.breaker)

    def declare(self, name: str, function: Callable[..., Any], **declared: Unpack[Declaration]) -> HandlerSpec:
        """Enter a type, with what the registry has for what it does not say."""
        given: dict[str, Any] = dict(declared)
        given["classes"] = (class_table(given.pop("classify", None) or {}), self.classes)
        given["breaker"] = given.get("breaker") or self.breaker
        given["quarantine"] = given.get("quarantine") or self.quarantine
        spec = declare(name, function, budget=self.budget, **given)
        self.add(spec)
        return spec

    def add(self, spec: HandlerSpec) -> None:
        """Enter a type; a name can be declared once."""
        if spec.name in self._specs:
            raise ConfigError(f"the job type {spec.name!r} is declared twice; give one of them another name")
        for limit in spec.limits:
            if self._bounds.setdefault(limit.name, limit.bound) != limit.bound:
                raise ConfigError(
                    f"the limit {limit.name!r} of {spec.name!r} is declared elsewhere with other numbers; "
                    "handlers that share a limit declare it alike"
                )
        self._specs[spec.name] = spec

    def joined(self, spec: HandlerSpec) -> "Registry":
        """The same registry, whatever is declared in it later too, with one more type that is Fairlead's own."""
        more = copy(self)
        more._own = {**self._own, spec.name: spec}
        return more

    def add_schedule(self, spec: ScheduleSpec) -> None:
        """Enter a schedule; a name can be declared once."""
        if spec.name in self.schedules:
            raise ConfigError(f"the schedule {spec.name!r} is declared twice; give one of them a name=... of its own")
        self.schedules[spec.name] = spec

    def __getitem__(self, name: str) -> HandlerSpec:
        try:
            return self._specs[name]
        except KeyError:
            if name in self._own:
                return self._own[name]
            known = ", ".join(sorted(self._specs)) or "none"
            raise UnknownType(f"there is no job type {name!r}; this application has: {known}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._specs or name in self._own

    def __iter__(self) -> Iterator[str]:
        return chain(self._specs, self._own)

    def __len__(self) -> int:
        return len(self._specs) + len(self._own)
