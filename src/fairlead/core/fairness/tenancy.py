"""Tenants, tiers and weightings: a tenant's weight, guaranteed minimum and cap in a pool.

A *party* competes for the slots of a pool: a tenant, or a whole tier whose tenants compete as one. The free tier is one
party: its tenants share one weight and one cap, equally unless they have weights of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairlead.core.protection.controls import Control, Controls
from fairlead.core.stored import readable
from fairlead.errors import ConfigError

TENANT = "tenant"  # the kind of the controls with tenants' settings
ANYONE = "*"  # the name of the control with the tier of all other tenants

LEAST_WEIGHT = 0.001
MOST_WEIGHT = 1_000_000.0
MOST_KNOWN = 100_000
MOST_GUARANTEED = 0.9  # of a pool; larger sums of minimums are scaled down, so that some is left for everyone


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier: the weight, minimum and cap of tenants without their own."""

    name: str
    weight: float
    minimum: float = 0.0  # the guaranteed part of a pool, for each tenant
    most: float = 1.0  # the largest part of a pool while others wait
    together: bool = False  # its tenants compete as one party


TIERS = {
    tier.name: tier
    for tier in (
        Tier("free", 1.0, most=0.05, together=True),
        Tier("standard", 10.0),
        Tier("pro", 100.0, minimum=0.01),
        Tier("enterprise", 1000.0),
    )
}
DEFAULT_TIER = "standard"


class Weighting(NamedTuple):
    """How a party competes: its weight, its guaranteed part of the pool, and its largest part."""

    weight: float
    minimum: float = 0.0
    most: float = 1.0


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant's settings; without its own weight or minimum it has its tier's."""

    name: str
    tier: str = DEFAULT_TIER
    weight: float | None = None
    minimum: float | None = None

    def __post_init__(self) -> None:
        if self.tier not in TIERS:
            raise ConfigError(f"{self.tier!r} is not a tier; it must be one of {', '.join(TIERS)}")
        if self.weight is not None and not LEAST_WEIGHT <= self.weight <= MOST_WEIGHT:
            raise ConfigError(f"a weight must be between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}, not {self.weight!r}")
        if self.minimum is not None and not 0 <= self.minimum <= MOST_GUARANTEED:
            raise ConfigError(f"a minimum must be a part of the pool between 0 and {MOST_GUARANTEED}")

    @property
    def group(self) -> str | None:
        """The tier, if its tenants compete as one party."""
        return self.tier if TIERS[self.tier].together else None

    @property
    def weighting(self) -> Weighting:
        """The tenant's weighting among all parties, or among the tenants of its group."""
        tier = TIERS[self.tier]
        weight = tier.weight if self.weight is None else self.weight
        if tier.together:
            return Weighting(weight)
        return Weighting(weight, tier.minimum if self.minimum is None else self.minimum, tier.most)

    @classmethod
    def from_value(cls, name: str, value: Mapping[str, Any]) -> "Tenant":
        """Return the tenant from a control's value."""
        given = value.get("tier", DEFAULT_TIER), value.get("weight"), value.get("minimum")
        return readable(lambda: cls(name, *given), cls(name))

    def to_value(self) -> dict[str, Any]:
        """Return the control's value."""
        own = {"weight": self.weight, "minimum": self.minimum}
        return {"tier": self.tier, **{key: value for key, value in own.items() if value is not None}}


def group_weighting(group: str) -> Weighting:
    """Return the weighting of a tier whose tenants compete as one party."""
    tier = TIERS[group]
    return Weighting(tier.weight, tier.minimum, tier.most)


class Tenants:
    """The tenants with the settings from the controls; others have the tier of ANYONE."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._known: dict[str, tuple[Control | None, Tenant]] = {}

    def get(self, name: str) -> Tenant:
        """Return the tenant; the same object as long as its settings are unchanged."""
        controls = self._controls.of(TENANT)
        control = controls.get(name) or controls.get(ANYONE)
        known = self._known.get(name)
        if known is not None and known[0] is control:
            return known[1]
        tenant = Tenant(name) if control is None or control.value is None else Tenant.from_value(name, control.value)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[name] = (control, tenant)
        return tenant
