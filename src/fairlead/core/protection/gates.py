"""Gates: whether jobs of a lane may start now, by pauses, quarantines and open breakers.

Closed lanes are left out of the allocation, so a backlog that must not run costs nothing.
"""

from collections.abc import Iterable

from fairlead.core.jobs.model import Lane
from fairlead.core.protection.breaker import BREAKER, breaker_state, describe, is_shut
from fairlead.core.protection.controls import Controls
from fairlead.core.protection.quarantine import KIND as QUARANTINE
from fairlead.core.protection.quarantine import attempts_of
from fairlead.core.protection.run_counts import of_tenant
from fairlead.errors import ConfigError

PAUSE = "pause"
SCOPES = ("type", "tenant", "pool")


def pause_name(scope: str, name: str) -> str:
    """Return the name of the control that pauses a type, tenant or pool."""
    if scope not in SCOPES:
        raise ConfigError(f"{scope!r} cannot be paused; it must be one of {', '.join(SCOPES)}")
    return f"{scope}:{name}"


def has_gates(controls: Controls) -> bool:
    """Whether any lane may be closed; a fast test, since usually none is."""
    return bool(controls.of(PAUSE) or controls.of(QUARANTINE) or controls.of(BREAKER))


def why_closed(lane: Lane, controls: Controls, breakers: Iterable[str] = (), now: float = 0.0) -> str | None:
    """Why nothing of this lane may start now, in words; None if it is open. `breakers` are those of its type."""
    return _why_paused(lane, controls) or _why_quarantined(lane, controls) or _why_shut(lane, controls, breakers, now)


def why_slowed(lane: Lane, controls: Controls, breakers: Iterable[str], now: float) -> list[str]:
    """Which breakers let little start now, in words: those that probe or ramp up."""
    known = [(name, breaker_state(controls.get(BREAKER, name))) for name in limiting(controls, breakers, lane.tenant)]
    return [describe(name, breaker, now) for name, breaker in known if breaker and not is_shut(breaker, now)]


def limiting(controls: Controls, breakers: Iterable[str], tenant: str) -> tuple[str, ...]:
    """Those breakers that are not closed, for all tenants or for this one: a run needs a permit of each."""
    known = controls.of(BREAKER)
    if not known:
        return ()
    return tuple(name for base in breakers for name in (base, of_tenant(base, tenant)) if name in known)


def _why_paused(lane: Lane, controls: Controls) -> str | None:
    paused = controls.of(PAUSE)
    if not paused:
        return None
    for scope, name in (("type", lane.type), ("tenant", lane.tenant), ("pool", lane.pool)):
        control = paused.get(f"{scope}:{name}")
        if control is not None and control.value is not None:
            reason = control.value.get("reason")
            return f"{scope} {name} is paused" + (f": {reason}" if reason else "")
    return None


def _why_quarantined(lane: Lane, controls: Controls) -> str | None:
    control = controls.get(QUARANTINE, lane.type)
    if control is None or control.value is None or attempts_of(control) != 0:
        return None
    return f"type {lane.type} is quarantined: {control.value.get('why')}"


def _why_shut(lane: Lane, controls: Controls, breakers: Iterable[str], now: float) -> str | None:
    for name in limiting(controls, breakers, lane.tenant):
        breaker = breaker_state(controls.get(BREAKER, name))
        if breaker is not None and is_shut(breaker, now):
            return describe(name, breaker, now)
    return None
