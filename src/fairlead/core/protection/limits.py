"""Limits on concurrency and start rate over all workers.

A limit has a name, `scope:what`: `type:mail`, `tenant:acme`, `pool:short`, `tenant+pool:acme+short`,
`dependency:stripe`, `limit:stripe` or, with a key from the payload, `limit:stripe=account-7`. The first four follow
from a job's lane. The limits and dependencies that a handler declares are written into the lane at submission, so every
process knows which limits apply to a job.

The bound of a limit comes from the handler's declaration, or from an operator's control, which has precedence. A
control can name one thing (`tenant:acme`) or each of its kind (`tenant:*`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from fairlead.core.jobs.model import Lane, Quota
from fairlead.core.names import check_name
from fairlead.core.protection.controls import Controls, Value
from fairlead.core.protection.token_bucket import Bucket, RateLimit, left, rate_limit, take, wait
from fairlead.core.stored import readable
from fairlead.errors import ConfigError

LIMIT = "limit"
SCOPES = ("type", "tenant", "pool", "tenant+pool", "dependency", "limit")
EACH = "*"
MOST_CONCURRENT = 1_000_000
MOST_LIMITS = 8
LONGEST_KEY = 64
MOST_CACHED = 50_000

_PLAIN_KEY = re.compile(rf"[A-Za-z0-9_.:@-]{{1,{LONGEST_KEY}}}")
_FIELD = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")

Key = Callable[[Any], object]


class Bound(NamedTuple):
    """The bound of a limit: concurrent runs and start rate."""

    concurrent: int | None = None
    rate_limit: RateLimit | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that a handler declares; handlers that declare the same name share it.

    `concurrent` runs at once, and starts at a `rate` like "100/s" with a `burst`. With a `key` each value of it has a
    limit of its own: the name of a field of the payload ("account_id", "customer.id"), or a function of the arguments.
    """

    name: str
    concurrent: int | None = None
    rate: float | str | None = None
    burst: float | None = None
    key: str | Key | None = None

    def __post_init__(self) -> None:
        check_name("limit", self.name)
        if self.bound == Bound():
            raise ConfigError(f"the limit {self.name!r} limits nothing; give it concurrent=20 or rate='100/s'")
        if isinstance(self.key, str) and not _FIELD.fullmatch(self.key):
            raise ConfigError(f"{self.key!r} is not the name of a field; write it like 'account_id' or 'customer.id'")

    @property
    def bound(self) -> Bound:
        """The bound."""
        return bound(self.concurrent, self.rate, self.burst)

    def stored(self) -> dict[str, Any]:
        """Return the limit as data of the registered type, without a function as key."""
        key = "" if callable(self.key) else self.key
        return {"name": self.name, "concurrent": self.concurrent, "rate": self.rate, "burst": self.burst, "key": key}


def bound(concurrent: int | None, rate: float | str | None, burst: float | None) -> Bound:
    """Return a valid bound, else ConfigError."""
    if concurrent is not None and (isinstance(concurrent, bool) or not 0 <= concurrent <= MOST_CONCURRENT):
        raise ConfigError(f"concurrent={concurrent!r} cannot work: it must be a number from 0 to {MOST_CONCURRENT}")
    if rate is None and burst is not None:
        raise ConfigError("a burst goes with a rate; give both, or only a rate")
    return Bound(concurrent, None if rate is None else rate_limit(rate, burst))


def limit_name(scope: str, what: str) -> str:
    """Return the name of the control for a limit on one thing, or on each of its kind."""
    if scope not in SCOPES:
        raise ConfigError(f"{scope!r} cannot be limited; it must be one of {', '.join(SCOPES)}")
    parts = what.split("+") if scope == "tenant+pool" else what.split("=", 1)[:1] if scope == "limit" else [what]
    if scope == "tenant+pool" and len(parts) != 2 and what != EACH:
        raise ConfigError(f"{what!r} is not a tenant and a pool; write it like acme+short")
    if what != EACH:
        for part in parts:
            check_name(scope, part)
    return f"{scope}:{what}"


def key_text(value: object) -> str:
    """Return a key's value as written in a lane: the text if it is short and plain, else a digest."""
    text = str(value)
    if _PLAIN_KEY.fullmatch(text):
        return text
    return "~" + blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def field_of(payload: Any, path: str) -> object:
    """Return the field of a payload at a path; empty if it is missing."""
    for part in path.split("."):
        payload = payload.get(part) if isinstance(payload, Mapping) else None
    return "" if payload is None else payload


def marks(limits: Iterable[tuple[str, object | None]], needs: Iterable[str]) -> str:
    """Return declared limits (with the key's value, if any) and dependencies as text for a lane."""
    named = {name if value is None else f"{name}={key_text(value)}" for name, value in limits}
    return " ".join(sorted(named | {f"@{name}" for name in needs}))


def declared_marks(limits: Iterable[Mapping[str, Any]], needs: Iterable[str], payload: Mapping[str, Any]) -> str:
    """Return the marks of a job by its registered type: limits with a field as key, or without key."""
    values = [(limit["name"], field_of(payload, limit["key"]) if limit["key"] else None) for limit in limits]
    return marks(values, needs)


def own_limits(names: Sequence[str]) -> tuple[str, ...]:
    """Return the limits that a single job names, `stripe` or with a key `account=acme`; ConfigError for bad names."""
    if len(names) > MOST_LIMITS:
        raise ConfigError(f"a job may name at most {MOST_LIMITS} limits of its own, not {len(names)}")
    marked = []
    for name in names:
        if not isinstance(name, str):
            raise ConfigError(f"limit={name!r:.100} is not the name of a limit; declare its bound with a handler")
        base, has_key, key = name.partition("=")
        check_name("limit", base)
        marked.append(f"{base}={key_text(key)}" if has_key else base)
    return tuple(sorted(set(marked)))


def joined(marked: str, own: Iterable[str]) -> str:
    """Return marks with the limits that the job itself names."""
    return " ".join(sorted({*marked.split(), *own}))


def names_of(lane: Lane, more: str = "") -> tuple[str, ...]:
    """Return the names of all possible limits of a lane; `more` are marks in addition to its own."""
    marked = {*lane.limits.split(), *more.split()}
    return (
        f"type:{lane.type}", f"tenant:{lane.tenant}", f"pool:{lane.pool}", f"tenant+pool:{lane.tenant}+{lane.pool}",
        *sorted(f"dependency:{mark[1:]}" if mark[0] == "@" else f"limit:{mark}" for mark in marked),
    )  # fmt: skip


class Rules:
    """The limits in force, from declarations of handlers and controls."""

    def __init__(self, declared: Mapping[str, Bound], marked: Mapping[str, str], controls: Controls) -> None:
        """`declared` are bounds by limit name; `marked` are marks by type, for lanes older than a declaration."""
        self._declared = declared
        self._marked = marked
        self._set = {name: _bound_of(control.value) for name, control in controls.of(LIMIT).items()}
        self._of: dict[Lane, tuple[str, ...]] = {}
        self.any = bool(declared or self._set)

    def of(self, lane: Lane) -> tuple[str, ...]:
        """Return the names of the limits in force for a lane."""
        if not self.any:
            return ()
        names = self._of.get(lane)
        if names is None:
            if len(self._of) >= MOST_CACHED:
                self._of.clear()
            named = names_of(lane, self._marked.get(lane.type, ""))
            names = self._of[lane] = tuple(name for name in named if self.bound(name) != Bound())
        return names

    def bound(self, name: str) -> Bound:
        """Return the bound of a limit; without one it is unlimited."""
        scope, _, what = name.partition(":")
        base = what.partition("=")[0]
        for candidate in (name, f"{scope}:{base}", f"{scope}:{EACH}"):
            if candidate in self._set:
                return self._set[candidate]
        return self._declared.get(base, Bound()) if scope == "limit" else Bound()


def usage(rules: Rules, running: Iterable[tuple[Lane, int]]) -> dict[str, int]:
    """Return the number of running jobs of each limit in force."""
    used: dict[str, int] = {}
    for lane, count in running:
        for name in rules.of(lane):
            used[name] = used.get(name, 0) + count
    return used


def room(allowed: Bound, used: int, bucket: Bucket | None, now: float) -> int:
    """Return how many more jobs may start now under a limit."""
    most = MOST_CONCURRENT if allowed.concurrent is None else max(0, allowed.concurrent - used)
    return most if allowed.rate_limit is None else min(most, int(left(bucket, allowed.rate_limit, now)))


class LimitedQuota(NamedTuple):
    """A quota and the limits that apply to its lane."""

    quota: Quota
    lane: Lane
    limits: tuple[str, ...]


def grant(wanted: Sequence[LimitedQuota], rooms: Mapping[str, int]) -> list[Quota]:
    """Return the quotas reduced to the room of their limits, first come first served."""
    remaining = dict(rooms)
    granted = []
    for quota, _, names in wanted:
        most = min(quota.most, *(remaining[name] for name in names))
        if most > 0:
            granted.append(quota._replace(most=most))
            for name in names:
                remaining[name] -= most
    return granted


class LimitState(NamedTuple):
    """A limit after a claim: its bucket if it has a rate; if full, the seconds to the next try (None: unknown)."""

    bucket: Bucket | None
    is_full: bool
    again_in: float | None


def limit_state(allowed: Bound, used: int, bucket: Bucket | None, now: float, started: int) -> LimitState:
    """Return the state of a limit after `started` more starts."""
    crowded = allowed.concurrent is not None and used + started >= allowed.concurrent
    if allowed.rate_limit is None:
        return LimitState(None, crowded, None)
    after = take(bucket, allowed.rate_limit, now, started)
    dry = after.tokens < 1
    return LimitState(after, crowded or dry, wait(after, allowed.rate_limit, 1) if dry and not crowded else None)


def _bound_of(value: Value | None) -> Bound:
    return stored_bound(value or {})


def stored_bound(value: Value) -> Bound:
    """Return the bound in a control's value or a registered limit."""
    return readable(lambda: bound(value.get("concurrent"), value.get("rate"), value.get("burst")), Bound())
