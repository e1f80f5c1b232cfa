"""Entitlement: the slot-seconds that each tenant should get, by weighted max-min fairness (water filling).

Each party gets slot-seconds in proportion to its weight: not more than its demand, not less than its guaranteed
minimum, and not more than its cap while others have demand. The rest goes by weight to parties with demand, without
caps: a slot never idles while a job waits.

`effective_weights` uses the same arithmetic for the weights of the fair queue, so minimums and caps hold at any time,
and reports measure by the rule that was in force.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from fairlead.core.fairness.tenancy import MOST_GUARANTEED, Tenant, Weighting, group_weighting


class Bounds(NamedTuple):
    """A party to fill: its weight, the least and the most it gets."""

    weight: float
    low: float
    high: float


def fill(capacity: float, parties: Sequence[Bounds]) -> tuple[list[float], float]:
    """Divide the capacity by weight within the bounds; returns the parts and the level, capacity per unit of weight.

    The lower bounds must fit into the capacity. If the upper ones fit too, each party gets its upper bound.
    """
    level = _level(capacity, parties)
    return [min(party.high, max(party.low, party.weight * level)) for party in parties], level


def _level(capacity: float, parties: Sequence[Bounds]) -> float:
    """Raise the level from zero; at each turn a party leaves its lower bound or reaches its upper one."""
    filled = sum(party.low for party in parties)
    turns = []
    for party in parties:
        if party.low < party.high:
            turns.append((party.low / party.weight, party.weight))
            turns.append((party.high / party.weight, -party.weight))
    turns.sort(key=lambda turn: (turn[0], -turn[1]))  # at the same level, parties that start come before full ones
    level = floating = 0.0
    for at, change in turns:
        step = floating * (at - level)
        if filled + step >= capacity and floating > 0:
            return level + (capacity - filled) / floating
        filled, level, floating = filled + step, at, max(0.0, floating + change)
    return level


def effective_weights(counts: Mapping[Weighting, int]) -> dict[Weighting, float]:
    """Return the weights that give each weighting its minimum and cap, with `counts` busy parties of each.

    Without a binding minimum or cap the weight stays, so a new party changes as few weights as possible.
    """
    alike = [(weighting, count) for weighting, count in counts.items() if count > 0]
    if not depend_on_numbers([weighting for weighting, _ in alike]):
        return {weighting: weighting.weight for weighting, _ in alike}
    shrink = _shrink(sum(weighting.minimum * count for weighting, count in alike))
    parties = [
        Bounds(
            weighting.weight * count, weighting.minimum * count * shrink, max(weighting.most, weighting.minimum) * count
        )
        for weighting, count in alike
    ]
    parts, level = fill(1.0, parties)
    if level <= 0:
        level = 1.0 / sum(party.weight for party in parties)
    return {weighting: part / level / count for (weighting, count), part in zip(alike, parts, strict=True)}


def depend_on_numbers(weightings: Collection[Weighting]) -> bool:
    """Whether these weights depend on the number of busy parties of each weighting."""
    return len(weightings) > 1 and any(weighting.minimum > 0 or weighting.most < 1 for weighting in weightings)


def _shrink(guaranteed: float) -> float:
    return MOST_GUARANTEED / guaranteed if guaranteed > MOST_GUARANTEED else 1.0


def entitled(capacity: float, demand: Mapping[str, float], tenants: Mapping[str, Tenant]) -> dict[str, float]:
    """Return the slot-seconds that each tenant is entitled to, given the capacity and each tenant's demand.

    Unlisted tenants have the default tier. A tier that competes as one party is filled as one, then its tenants.
    """
    groups: dict[str | None, dict[str, Tenant]] = defaultdict(dict)
    for name in demand:
        tenant = tenants.get(name) or Tenant(name)
        groups[tenant.group][name] = tenant
    alone = groups.pop(None, {})
    weightings = {name: tenant.weighting for name, tenant in alone.items()}
    wanted = {name: demand[name] for name in alone}
    for group, members in groups.items():
        weightings[f"@{group}"] = group_weighting(str(group))
        wanted[f"@{group}"] = sum(demand[name] for name in members)
    result = _divide(capacity, wanted, weightings)
    for group, members in groups.items():
        part = result.pop(f"@{group}")
        inside = {name: tenant.weighting for name, tenant in members.items()}
        result.update(_divide(part, {name: demand[name] for name in members}, inside))
    return result


def _divide(capacity: float, wanted: Mapping[str, float], weightings: Mapping[str, Weighting]) -> dict[str, float]:
    """Fill up within caps, then share the rest without caps."""
    names = list(wanted)
    shrink = _shrink(sum(weightings[name].minimum for name in names))
    capped = [_bounds(capacity, wanted[name], weightings[name], shrink) for name in names]
    parts, _ = fill(capacity, capped)
    if sum(parts) < capacity:
        open_ended = [Bounds(b.weight, part, wanted[n]) for n, b, part in zip(names, capped, parts, strict=True)]
        parts, _ = fill(capacity, open_ended)
    return dict(zip(names, parts, strict=True))


def _bounds(capacity: float, wanted: float, weighting: Weighting, shrink: float) -> Bounds:
    low = min(wanted, weighting.minimum * shrink * capacity)
    return Bounds(weighting.weight, low, max(low, min(wanted, weighting.most * capacity)))


def jain(ratios: Sequence[float]) -> float:
    """Return Jain's fairness index: 1 is perfectly fair, 1/n means that one party has everything."""
    squares = sum(ratio * ratio for ratio in ratios)
    return sum(ratios) ** 2 / (len(ratios) * squares) if squares > 0 else 1.0
