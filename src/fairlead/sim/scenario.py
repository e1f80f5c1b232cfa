"""Scenarios: pools, job types and tenants, read from a TOML file and validated."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from fairlead.core.durations import seconds
from fairlead.core.fairness.tenancy import DEFAULT_TIER, LEAST_WEIGHT, MOST_GUARANTEED, MOST_WEIGHT
from fairlead.core.jobs.model import Priority
from fairlead.core.names import check_name
from fairlead.errors import ConfigError

SPANS = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86400.0}
MOST_TENANTS = 200_000
MOST_SLOTS = 1_000_000
MOST_JOBS = 100_000_000


def _seconds(value: Any) -> float:
    try:
        return seconds(value)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _rate(value: Any) -> float:
    """Parse a rate, like 200/s or 2e9/day, into jobs a second."""
    number, _, span = str(value).replace(" ", "").partition("/")
    if isinstance(value, bool) or (span or "s") not in SPANS:
        raise ValueError(f"{value!r} is not a rate; write it like 200/s, 30/min, 500/h or 2e9/day")
    try:
        return float(number.replace("_", "")) / SPANS[span or "s"]
    except ValueError:
        raise ValueError(f"{value!r} is not a rate; write it like 200/s, 30/min, 500/h or 2e9/day") from None


def _pool_name(value: str) -> str:
    try:
        return check_name("pool", value)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _skew(value: Any) -> Any:
    """Parse a skew, like 100x: how much more a group's largest tenant submits than its smallest."""
    return value.removesuffix("x") if isinstance(value, str) and value != "zipf" else value


def _priorities(value: Any) -> Any:
    if not isinstance(value, dict):
        return {value: 1.0}
    return value


Seconds = Annotated[float, BeforeValidator(_seconds)]
Rate = Annotated[float, BeforeValidator(_rate), Field(ge=0, le=1e9)]
Skew = Annotated[Literal["zipf"] | Annotated[float, Field(ge=1, le=1e6)], BeforeValidator(_skew)]
PoolName = Annotated[str, AfterValidator(_pool_name)]
Part = Annotated[float, Field(gt=0, le=1e6)]
PriorityName = Literal["critical", "high", "default", "low"]


class Model(BaseModel):
    """Base of the plans; unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PoolPlan(Model):
    """A pool of workers; `scale` reduces its slots and its load alike."""

    slots: int = Field(ge=1, le=MOST_SLOTS)
    workers: int = Field(1, ge=1, le=1_000)
    scale: float = Field(1.0, gt=0, le=1)
    length: Seconds | None = Field(None, gt=0)
    warm_up: Seconds | None = Field(None, ge=0)
    steps: int = Field(100, ge=1, le=10_000)
    wait_target: Seconds | None = Field(None, gt=0)
    estimate: Seconds = Field(1.0, gt=0)
    view: Seconds = Field(0.25, gt=0)
    settle: Seconds = Field(0.25, gt=0)
    tell: Seconds = Field(0.5, gt=0)
    claim_gap: Seconds = Field(0.002, gt=0)
    slot_hour_price: float | None = Field(None, ge=0)

    @property
    def simulated_slots(self) -> int:
        """The simulated slots."""
        return max(1, round(self.slots * self.scale))

    @model_validator(mode="after")
    def _each_worker_has_a_slot(self) -> "PoolPlan":
        if self.workers > self.simulated_slots:
            raise ValueError(f"{self.workers} workers cannot have a slot each of {self.simulated_slots}")
        return self


class Duration(Model):
    """A distribution of run times; `sigma` is the standard deviation of the logarithm of lognormal ones."""

    kind: Literal["fixed", "exponential", "lognormal"] = "fixed"
    mean: Seconds = Field(ge=1e-6)
    sigma: float = Field(1.0, gt=0, le=4)
    most: Seconds | None = Field(None, gt=0)


class TypePlan(Model):
    """A job type: its pool, its part of a tenant's jobs, run times and priorities."""

    pool: str
    duration: Duration
    part: Part = 1.0
    priority: Annotated[dict[PriorityName, Part], BeforeValidator(_priorities)] = {"default": 1.0}

    def priorities(self) -> list[tuple[Priority, float]]:
        """Each priority and its part."""
        return [(Priority.parse(name), part) for name, part in self.priority.items()]


class TenantPlan(Model):
    """A tenant, or a group of `count` tenants that share `rate` and `jobs` by `skew`."""

    name: str = Field(min_length=1, max_length=100, pattern=r"^[^@\s][^\s]*$")
    count: int = Field(1, ge=1, le=MOST_TENANTS)
    tier: Literal["free", "standard", "pro", "enterprise"] = DEFAULT_TIER  # type: ignore[assignment]
    weight: float | list[float] | None = None
    minimum: float | None = Field(None, ge=0, le=MOST_GUARANTEED)
    pattern: Literal["poisson", "constant", "bursty", "at-once", "backlog"] = "poisson"
    rate: Rate | None = None
    jobs: int | None = Field(None, ge=1, le=MOST_JOBS)
    skew: Skew = 1.0
    burst: float = Field(5.0, gt=1, le=1_000)
    burst_every: Seconds = Field(60.0, gt=0)
    begin: Seconds = 0.0
    end: Seconds | None = None
    types: dict[str, Part] | list[str] | None = None
    duration: Duration | None = None  # of its jobs, in place of what their types say

    @model_validator(mode="after")
    def _pattern_has_what_it_needs(self) -> "TenantPlan":
        wants = {"backlog": None, "at-once": "jobs"}.get(self.pattern, "rate")
        for name in ("rate", "jobs"):
            given = getattr(self, name) is not None
            if given and name != wants:
                raise ValueError(f"{name} does not go with the pattern {self.pattern}")
            if not given and name == wants:
                raise ValueError(f"the pattern {self.pattern} needs {name}")
        if self.end is not None and self.end <= self.begin:
            raise ValueError("end must be later than begin")
        return self

    @model_validator(mode="after")
    def _weights_are_weights(self) -> "TenantPlan":
        if any(not LEAST_WEIGHT <= weight <= MOST_WEIGHT for weight in self.weights()):
            raise ValueError(f"a weight must be between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}")
        return self

    def weights(self) -> list[float]:
        """The weights of the group's tenants, in turn; empty for the tier's weight."""
        if self.weight is None:
            return []
        return self.weight if isinstance(self.weight, list) else [self.weight]


class Scenario(Model):
    """A whole scenario."""

    name: str = "scenario"
    seed: int = 1
    length: Seconds = Field(60.0, gt=0, le=400 * 86400.0)
    warm_up: Seconds = Field(0.0, ge=0)
    pools: dict[PoolName, PoolPlan] = Field(min_length=1, max_length=100)
    types: dict[str, TypePlan] = Field(min_length=1, max_length=1_000)
    tenants: list[TenantPlan] = Field(min_length=1, max_length=10_000)

    @model_validator(mode="after")
    def _names_are_known(self) -> "Scenario":
        problems = [
            f"type {name} is for pool {plan.pool}, which there is not"
            for name, plan in self.types.items()
            if plan.pool not in self.pools
        ]
        for tenant in self.tenants:
            unknown = [name for name in tenant.types or () if name not in self.types]
            problems += [f"tenant {tenant.name} has jobs of type {name}, which there is not" for name in unknown]
        for name in self.pools:
            if self.warm_up_of(name) >= self.length_of(name):
                problems.append(f"pool {name} warms up for as long as it runs; nothing would be measured")
        names = [tenant.name for tenant in self.tenants]
        problems += [f"two tenants are called {name}" for name in sorted({n for n in names if names.count(n) > 1})]
        if sum(tenant.count for tenant in self.tenants) > MOST_TENANTS:
            problems.append(f"there are more than {MOST_TENANTS:,} tenants")
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def length_of(self, pool: str) -> float:
        """The simulated time of a pool."""
        return self.pools[pool].length or self.length

    def warm_up_of(self, pool: str) -> float:
        """The part at the beginning that is not measured."""
        own = self.pools[pool].warm_up
        return self.warm_up if own is None else own


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file; ConfigError lists all errors."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as a scenario ({error}); see docs/simulator.md") from None
    return make_scenario(values, str(path))


def make_scenario(values: dict[str, Any], source: str = "the scenario") -> Scenario:
    """Build a scenario from plain values."""
    try:
        return Scenario(**values)
    except ValidationError as error:
        raise ConfigError(_describe(error, source)) from None


def _describe(error: ValidationError, source: str) -> str:
    lines = []
    for problem in error.errors():
        place = ".".join(str(part) for part in problem["loc"]) or "the whole"
        lines.append(f"{place}: {problem['msg'].removeprefix('Value error, ')}")
    return f"{source} cannot be simulated:\n  " + "\n  ".join(lines)
